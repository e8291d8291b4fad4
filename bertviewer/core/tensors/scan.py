"""Statistics, norms and histogram of a matrix, computed tile by tile."""

import math

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from bertviewer.core.checkpoints.reading import Values
from bertviewer.core.schema.statistics import NO_ELEMENTS, Statistics
from bertviewer.core.statistics.histograms import Histogram, histogram
from bertviewer.core.statistics.row_statistics import SAFE_MAX, SAFE_MIN, measure_rows
from bertviewer.core.tensors.matrix import Matrix
from bertviewer.core.util.progress import Progress, no_progress

BINS = 64

Norms = NDArray[np.float64]


class MatrixStatistics(Struct, frozen=True, eq=False):
    """The result of one pass over a matrix.

    Attributes:
        statistics: of its finite elements.
        row_norms: [rows], their Euclidean norms; NaN and Inf propagate to them.
        column_norms: [columns], the same for columns.
    """

    statistics: Statistics
    row_norms: Norms
    column_norms: Norms


def scan(matrix: Matrix, progress: Progress = no_progress, label: str = "") -> MatrixStatistics:
    """Measure a matrix. If squares may overflow or vanish, the norms take a second, scaled pass.

    Raises:
        UserError: the file is no longer readable.
        Cancelled: by ``progress``.
    """
    found = _scan_scaled(matrix, 0, progress, label)
    statistics = found.statistics
    largest = max(abs(statistics.min or 0.0), abs(statistics.max or 0.0))
    if not largest or SAFE_MIN < largest < SAFE_MAX:
        return found
    exponent = math.frexp(largest)[1] - 1
    scaled = _scan_scaled(matrix, exponent, progress, label)
    with np.errstate(over="ignore", under="ignore"):  # a norm can exceed float64
        rows, columns = (np.ldexp(n, exponent) for n in (scaled.row_norms, scaled.column_norms))
    return MatrixStatistics(statistics, rows, columns)


def _scan_scaled(matrix: Matrix, exponent: int, progress: Progress, label: str) -> MatrixStatistics:
    """Measure all elements, divided by 2^exponent."""
    height, width = matrix.shape
    rows, columns = np.zeros(height), np.zeros(width)
    statistics = NO_ELEMENTS
    tiles = list(matrix.tiles())
    for number, (down, right) in enumerate(tiles):
        progress(number, len(tiles), label)
        tile = _floats(matrix.block(down, right))
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            if exponent:
                tile = np.ldexp(tile, -exponent)
            statistics = statistics.merge(measure_rows(tile)[0])
            squares = np.square(tile, dtype=np.float64)
            rows[slice(*down)] += squares.sum(axis=1)
            columns[slice(*right)] += squares.sum(axis=0)
    return MatrixStatistics(statistics, np.sqrt(rows), np.sqrt(columns))


def matrix_histogram(
    matrix: Matrix, statistics: Statistics, progress: Progress = no_progress, label: str = ""
) -> Histogram:
    """Count the elements in bins of equal width between the smallest and the largest.

    Raises:
        UserError: the file is no longer readable.
        Cancelled: by ``progress``.
    """
    low, high = statistics.min, statistics.max
    bounds = None if low is None or high is None else (low, high)
    counted = histogram(np.zeros(0), BINS, bounds)
    tiles = list(matrix.tiles())
    for number, (down, right) in enumerate(tiles):
        progress(number, len(tiles), label)
        # The same bounds give all tiles the same edges.
        one = histogram(_floats(matrix.block(down, right)), BINS, bounds)
        counted = Histogram(
            one.edges,
            counted.counts + one.counts,
            counted.nan_count + one.nan_count,
            counted.inf_count + one.inf_count,
            counted.count + one.count,
        )
    return counted


def _floats(tile: Values) -> Values:
    """Return a tile of floats: integers and booleans become float64."""
    return tile if tile.dtype.kind == "f" else tile.astype(np.float64)
