"""A tensor as a small map: blocks of its elements by their means and their extremes."""

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from bertviewer.core.checkpoints.reading import Span
from bertviewer.core.tensors.matrix import Matrix
from bertviewer.core.util.progress import Progress, no_progress

MOST = 256
"""Rows, and columns, that a map has at most."""

Edges = NDArray[np.int64]


class TensorMap(Struct, frozen=True, eq=False):
    """Blocks of a region of a matrix.

    Attributes:
        row_edges: the first row of each block, and last where the region ends.
        column_edges: the same of the columns.
        means: [blocks down, blocks across], of the finite elements; NaN where there are none.
        extremes: the element farthest from 0 in each block, NaN likewise.
        left_out: how many elements are NaN or infinite.
    """

    row_edges: Edges
    column_edges: Edges
    means: NDArray[np.float64]
    extremes: NDArray[np.float64]
    left_out: int

    @property
    def is_exact(self) -> bool:
        """Whether each block is one element."""
        return bool(
            (np.diff(self.row_edges) == 1).all() and (np.diff(self.column_edges) == 1).all()
        )


def tensor_map(
    matrix: Matrix,
    rows: Span,
    columns: Span,
    progress: Progress = no_progress,
    label: str = "",
    *,
    most: int = MOST,
) -> TensorMap:
    """Reduce a region to at most so many rows and columns; a small one stays exact.

    Raises:
        UserError: its file cannot be read any more.
        Cancelled: ``progress`` said so.
    """
    row_edges, column_edges = _edges(rows, most), _edges(columns, most)
    shape = len(row_edges) - 1, len(column_edges) - 1
    sums, counts = np.zeros(shape), np.zeros(shape)
    highs, lows = np.full(shape, np.nan), np.full(shape, np.nan)
    # Divided by more than a block has elements, no sum is too large; a power of two keeps
    # all digits but of values below 1e-290.
    exponent = int(np.diff(row_edges).max(initial=1) * np.diff(column_edges).max(initial=1) - 1)
    exponent = exponent.bit_length()
    tiles = list(matrix.tiles(rows, columns))
    for number, (down, right) in enumerate(tiles):
        progress(number, len(tiles), label)
        tile = matrix.block(down, right).astype(np.float64)
        top, tops = _starts(row_edges, down)
        left, lefts = _starts(column_edges, right)
        there = np.s_[top : top + len(tops), left : left + len(lefts)]
        finite = np.isfinite(tile)
        tile[~finite] = np.nan
        counts[there] += _reduced(np.add, finite.astype(np.float64), tops, lefts)
        parts = np.ldexp(np.where(finite, tile, 0.0), -exponent)
        sums[there] += _reduced(np.add, parts, tops, lefts)
        highs[there] = np.fmax(highs[there], _reduced(np.fmax, tile, tops, lefts))
        lows[there] = np.fmin(lows[there], _reduced(np.fmin, tile, tops, lefts))
    counted = np.ldexp(counts, -exponent)
    means = np.divide(sums, counted, out=np.full(shape, np.nan), where=counts > 0)
    extremes = np.where(-lows > highs, lows, highs)
    region = (rows[1] - rows[0]) * (columns[1] - columns[0])
    return TensorMap(row_edges, column_edges, means, extremes, region - int(counts.sum()))


def _edges(span: Span, most: int) -> Edges:
    """Return where blocks of one size start, and the end; the last one may be smaller."""
    size = max(1, -(-(span[1] - span[0]) // most))
    return np.append(np.arange(*span, size, dtype=np.int64), span[1])


def _starts(edges: Edges, span: Span) -> tuple[int, Edges]:
    """Return the first block that a span touches, and where in the span each block starts."""
    first = int(np.searchsorted(edges, span[0], "right")) - 1
    last = int(np.searchsorted(edges, span[1], "left"))
    return first, np.maximum(edges[first:last], span[0]) - span[0]


def _reduced(
    choose: np.ufunc, tile: NDArray[np.float64], tops: Edges, lefts: Edges
) -> NDArray[np.float64]:
    across = choose.reduceat(tile, lefts, axis=1)
    reduced: NDArray[np.float64] = choose.reduceat(across, tops, axis=0)
    return reduced
