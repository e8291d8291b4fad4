"""Reduced views of a large matrix: means and extremes of blocks, and the first and last cells."""

from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from bertviewer.core.checkpoints.reading import Span
from bertviewer.core.tensors.matrix import Matrix
from bertviewer.core.tensors.values import NamedValues
from bertviewer.core.util.progress import Progress, no_progress

MAX_SIDE = 256
"""Maximum rows and columns of a map."""
_ENDS = 4, 2
"""Rows and columns of a corner, at the beginning and at the end each."""

Edges = NDArray[np.int64]


class TensorMap(Struct, frozen=True, eq=False):
    """A region of a matrix, reduced to one mean and one extreme for each block.

    Attributes:
        row_edges: the first row of each block, and the end of the region.
        column_edges: the same for columns.
        means: [blocks down, blocks across], of the finite elements; NaN without any.
        extremes: the element farthest from 0 in each block, likewise.
        nonfinite: the number of NaN and infinite elements.
    """

    row_edges: Edges
    column_edges: Edges
    means: NDArray[np.float64]
    extremes: NDArray[np.float64]
    nonfinite: int

    @property
    def is_exact(self) -> bool:
        """Whether each block is one element."""
        return all(bool((np.diff(e) == 1).all()) for e in (self.row_edges, self.column_edges))


class Corner(Struct, frozen=True, eq=False):
    """The first and last rows and columns of a tensor, or of its first matrix.

    Attributes:
        name: the tensor's name.
        shape: all of its dimensions.
        dtype: the type of its elements.
        rows, columns: their indices in the matrix.
        tokens: the run's token of each row, "" without one.
        values: [rows, columns].
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    rows: tuple[int, ...]
    columns: tuple[int, ...]
    tokens: tuple[str, ...]
    values: NDArray[np.floating[Any]]


def corner_of(named: NamedValues) -> Corner:
    """Return the first and last rows and columns; a vector is one row."""
    values = named.values
    matrix = Matrix(values, (0,) * max(0, len(values.shape) - 2))
    is_vector = len(values.shape) < 2
    height, width = matrix.shape[::-1] if is_vector else matrix.shape
    rows, columns = ends_of(height), ends_of(width)
    axis = named.axes[0]
    has_tokens = axis.kind == "token" and not is_vector

    def element(row: int, column: int) -> Any:
        row, column = (column, row) if is_vector else (row, column)
        return matrix.block((row, row + 1), (column, column + 1))

    found = np.array([[element(row, column) for column in columns] for row in rows], np.float64)
    return Corner(
        values.name,
        values.shape,
        values.dtype,
        rows,
        columns,
        tuple(axis.name(row) if has_tokens else "" for row in rows),
        found.reshape(len(rows), len(columns)),
    )


def ends_of(size: int) -> tuple[int, ...]:
    """Return the first and last indices below ``size``; at least two are left out."""
    first, last = _ENDS
    if size <= first + last + 1:
        return tuple(range(size))
    return (*range(first), *range(size - last, size))


def tensor_map(
    matrix: Matrix,
    rows: Span,
    columns: Span,
    progress: Progress = no_progress,
    label: str = "",
    *,
    most: int = MAX_SIDE,
) -> TensorMap:
    """Reduce a region to at most ``most`` rows and columns; a small one stays exact.

    Raises:
        UserError: the file is no longer readable.
        Cancelled: by ``progress``.
    """
    row_edges, column_edges = _edges(rows, most), _edges(columns, most)
    shape = len(row_edges) - 1, len(column_edges) - 1
    sums, counts = np.zeros(shape), np.zeros(shape)
    highs, lows = np.full(shape, np.nan), np.full(shape, np.nan)
    # Divided by at least the elements of a block, a sum cannot overflow. A power of two keeps all
    # digits except of values below 1e-290.
    largest = int(np.diff(row_edges).max(initial=1) * np.diff(column_edges).max(initial=1))
    exponent = (largest - 1).bit_length()
    tiles = list(matrix.tiles(rows, columns))
    for number, (down, right) in enumerate(tiles):
        progress(number, len(tiles), label)
        tile = matrix.block(down, right).astype(np.float64)
        top, tops = _starts(row_edges, down)
        left, lefts = _starts(column_edges, right)
        blocks = np.s_[top : top + len(tops), left : left + len(lefts)]
        finite = np.isfinite(tile)
        tile[~finite] = np.nan
        counts[blocks] += _reduced(np.add, finite.astype(np.float64), tops, lefts)
        parts = np.ldexp(np.where(finite, tile, 0.0), -exponent)
        sums[blocks] += _reduced(np.add, parts, tops, lefts)
        highs[blocks] = np.fmax(highs[blocks], _reduced(np.fmax, tile, tops, lefts))
        lows[blocks] = np.fmin(lows[blocks], _reduced(np.fmin, tile, tops, lefts))
    counted = np.ldexp(counts, -exponent)
    means = np.divide(sums, counted, out=np.full(shape, np.nan), where=counts > 0)
    extremes = np.where(-lows > highs, lows, highs)
    region = (rows[1] - rows[0]) * (columns[1] - columns[0])
    return TensorMap(row_edges, column_edges, means, extremes, region - int(counts.sum()))


def _edges(span: Span, most: int) -> Edges:
    """Return the starts of blocks of equal size, and the end; the last block may be smaller."""
    size = max(1, -(-(span[1] - span[0]) // most))
    return np.append(np.arange(*span, size, dtype=np.int64), span[1])


def _starts(edges: Edges, span: Span) -> tuple[int, Edges]:
    """Return the first block that overlaps a span, and the start of each block in the span."""
    first = int(np.searchsorted(edges, span[0], "right")) - 1
    last = int(np.searchsorted(edges, span[1], "left"))
    return first, np.maximum(edges[first:last], span[0]) - span[0]


def _reduced(
    choose: np.ufunc, tile: NDArray[np.float64], tops: Edges, lefts: Edges
) -> NDArray[np.float64]:
    across = choose.reduceat(tile, lefts, axis=1)
    reduced: NDArray[np.float64] = choose.reduceat(across, tops, axis=0)
    return reduced
