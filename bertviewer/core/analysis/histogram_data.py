"""Histograms of values, those that are not finite counted apart."""

from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

Values = NDArray[Any]
Range = tuple[float, float]

# Narrower ranges have no room for bins, even in float64: beside their ends, and at all.
_LEAST_PART, _LEAST = 2.0**-40, 1e-290


class Histogram(Struct, frozen=True, eq=False):
    """How the elements of a tensor are spread.

    Attributes:
        edges: borders of the bins, one more than there are bins; the last bin has its upper one.
        counts: finite elements in each bin.
        nan_count: elements that are NaN.
        inf_count: elements that are infinite.
        count: all elements. Those that are in no bin and finite lie outside of the edges.
    """

    edges: NDArray[np.float64]
    counts: NDArray[np.int64]
    nan_count: int
    inf_count: int
    count: int

    @property
    def outside(self) -> int:
        """The number of finite elements outside of the edges."""
        return self.count - self.nan_count - self.inf_count - int(self.counts.sum())


def histogram(values: Values, bins: int = 64, range: Range | None = None) -> Histogram:
    """Count the finite values, integers or floats of any shape, in bins of one width.

    Without ``range`` the bins reach from the smallest to the largest of them, and around a single
    value, as numpy's do; from 0 to 1 where there is none.
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
    """Return the finite values, and how many are NaN and how many infinite."""
    # The extremes tell at once that all are finite, which is nearly always so.
    if values.dtype.kind != "f" or np.isfinite(_range(values)).all():
        return values, 0, 0
    nan_count = int(np.count_nonzero(np.isnan(values)))
    finite = values[np.isfinite(values)]
    return finite, nan_count, values.size - nan_count - finite.size


def _range(values: Values) -> Range:
    return (float(values.min()), float(values.max())) if values.size else (0.0, 1.0)


def _counted_exactly(values: Values, bins: int, range: Range) -> tuple[Values, Values]:
    """Count in float64, where the values' own type cannot tell the edges apart."""
    low, high = range
    largest = max(abs(low), abs(high))
    if high - low <= max(largest * _LEAST_PART, _LEAST):
        margin = max(0.5, largest * 2.0**-20)
        most = float(np.finfo(np.float64).max)
        low, high = max(low - margin, -most), min(high + margin, most)
    # Halved twice, no difference of two of them is too large, and no digit is lost.
    counts, edges = np.histogram(values.astype(np.float64) / 4, bins, (low / 4, high / 4))
    return counts, edges * 4
