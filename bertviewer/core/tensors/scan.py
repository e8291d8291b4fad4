"""A tensor's statistics and the norms of its rows and columns, in one pass, tile by tile."""

import math

import numpy as np
import torch

from bertviewer.core.analysis.histogram_data import Histogram, histogram
from bertviewer.core.checkpoints.decoding import Values
from bertviewer.core.runs.measuring import measure
from bertviewer.core.schema.row_statistics import LEAST, MOST
from bertviewer.core.schema.statistics import NOTHING, Statistics
from bertviewer.core.tensors.matrix import Matrix
from bertviewer.core.tensors.scan_data import Survey
from bertviewer.core.util.progress import Progress, no_progress

BINS = 64


def survey(matrix: Matrix, progress: Progress = no_progress, label: str = "") -> Survey:
    """Measure a tensor or a slice of it.

    Of elements of extreme sizes the norms are added up once more in a unit of their own size.

    Raises:
        UserError: its file cannot be read any more.
        Cancelled: ``progress`` said so.
    """
    found = _surveyed(matrix, 0, progress, label)
    statistics = found.statistics
    largest = max(abs(statistics.min or 0.0), abs(statistics.max or 0.0))
    if not largest or LEAST < largest < MOST:
        return found
    exponent = math.frexp(largest)[1] - 1
    scaled = _surveyed(matrix, exponent, progress, label)
    with np.errstate(over="ignore", under="ignore"):  # a norm can be too large for any float
        rows, columns = (np.ldexp(n, exponent) for n in (scaled.row_norms, scaled.column_norms))
    return Survey(statistics, rows, columns)


def _surveyed(matrix: Matrix, exponent: int, progress: Progress, label: str) -> Survey:
    """Measure all elements, divided by 2^exponent."""
    height, width = matrix.shape
    rows, columns = np.zeros(height), np.zeros(width)
    statistics = NOTHING
    tiles = list(matrix.tiles())
    for number, (down, right) in enumerate(tiles):
        progress(number, len(tiles), label)
        tile = _floats(matrix.block(down, right))
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            if exponent:
                tile = np.ldexp(tile, -exponent)
            statistics = statistics.merge(measure(torch.from_numpy(tile))[0])
            squares = np.square(tile, dtype=np.float64)
            rows[slice(*down)] += squares.sum(axis=1)
            columns[slice(*right)] += squares.sum(axis=0)
    return Survey(statistics, np.sqrt(rows), np.sqrt(columns))


def matrix_histogram(
    matrix: Matrix, statistics: Statistics, progress: Progress = no_progress, label: str = ""
) -> Histogram:
    """Count the elements in bins of one width from the smallest to the largest of them.

    Raises:
        UserError: its file cannot be read any more.
        Cancelled: ``progress`` said so.
    """
    low, high = statistics.min, statistics.max
    bounds = None if low is None or high is None else (low, high)
    counted = histogram(np.zeros(0), BINS, bounds)
    tiles = list(matrix.tiles())
    for number, (down, right) in enumerate(tiles):
        progress(number, len(tiles), label)
        # All tiles have the edges of the first: they are of the same range.
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
    """Return a tile that torch can take: contiguous, integers and booleans as float64."""
    return np.ascontiguousarray(tile if tile.dtype.kind == "f" else tile.astype(np.float64))
