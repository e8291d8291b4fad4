"""Histograms with bins of equal width over the finite values of one tensor.

Corpora, whose range is not known in advance, have fixed bins instead: ``corpus.histogram``.
"""

from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

Values = NDArray[Any]
Range = tuple[float, float]

# Narrower ranges have no distinct edges in float64: relative to their ends, and absolute.
_MIN_RATIO, _MIN_RANGE = 2.0**-40, 1e-290


class Histogram(Struct, frozen=True, eq=False):
    """Histogram of a tensor's elements.

    Attributes:
        edges: edges of the bins, one more than bins; the last bin includes its upper edge.
        counts: finite elements in each bin.
        nan_count: NaN elements.
        inf_count: infinite elements.
        count: number of elements; finite ones outside the edges are in no bin.
    """

    edges: NDArray[np.float64]
    counts: NDArray[np.int64]
    nan_count: int
    inf_count: int
    count: int

    @property
    def outside(self) -> int:
        """Number of finite elements outside the edges."""
        return self.count - self.nan_count - self.inf_count - int(self.counts.sum())


def histogram(values: Values, bins: int = 64, range: Range | None = None) -> Histogram:
    """Count the finite values, integers or floats of any shape, in bins of equal width.

    Without ``range`` the bins reach from the smallest to the largest value, or around a single one
    as in NumPy; from 0 to 1 without a value.
    """
    flat = values.reshape(-1)
    if flat.dtype == np.bool_:
        flat = flat.astype(np.uint8)
    finite, nan_count, inf_count = _finite(flat)
    try:
        with np.errstate(over="raise"):
            counts, edges = np.histogram(finite, bins, range)
    except (ValueError, FloatingPointError):
        counts, edges = _counted_exactly(finite, bins, range or _range(finite))
    return Histogram(edges.astype(np.float64), counts, nan_count, inf_count, flat.size)


def _finite(values: Values) -> tuple[Values, int, int]:
    """Return the finite values, and the numbers of NaN and Inf."""
    # Finite extremes mean that all values are finite, which is the usual case.
    if values.dtype.kind != "f" or np.isfinite(_range(values)).all():
        return values, 0, 0
    nan_count = int(np.count_nonzero(np.isnan(values)))
    finite = values[np.isfinite(values)]
    return finite, nan_count, values.size - nan_count - finite.size


def _range(values: Values) -> Range:
    return (float(values.min()), float(values.max())) if values.size else (0.0, 1.0)


def _counted_exactly(values: Values, bins: int, range: Range) -> tuple[Values, Values]:
    """Count in float64, for values whose own type has no distinct edges."""
    low, high = range
    largest = max(abs(low), abs(high))
    if high - low <= max(largest * _MIN_RATIO, _MIN_RANGE):
        margin = max(0.5, largest * 2.0**-20)
        most = float(np.finfo(np.float64).max)
        low, high = max(low - margin, -most), min(high + margin, most)
    # A quarter: exact, and no difference of two values overflows.
    counts, edges = np.histogram(values.astype(np.float64) / 4, bins, (low / 4, high / 4))
    return counts, edges * 4
