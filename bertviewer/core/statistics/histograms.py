"""Histograms: with bins of equal width for one tensor, and with the same bins for all of float32.

The range of one tensor is known when it is counted. That of a corpus is not, so its bins are fixed:
by sign, exponent and two bits of the fraction. All corpora have the same ones, so that counts can
be added. A bin is at most a quarter of its lower edge wide, which bounds the error of quantiles.
"""

from functools import cache
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


FLOAT_BINS = 2048
_SHIFT = 21
_HALF = FLOAT_BINS // 2
_FINITE = 0x7F800000 >> _SHIFT
"""The first bin, for either sign, of Inf and NaN."""


def float_bins(values: NDArray[np.float32]) -> NDArray[np.int64]:
    """Return the bin of each value."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    return (bits >> _SHIFT).astype(np.int64)


@cache
def float_edges() -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the bins of finite values in ascending order, and their edges.

    The bins of 0 and -0, which contain the smallest subnormal numbers, meet at 0.
    """
    sizes = (np.arange(_FINITE + 1, dtype=np.uint32) << _SHIFT).view(np.float32).astype(np.float64)
    sizes[-1] = 2.0**128  # where Inf begins
    order = np.concatenate([_HALF + np.arange(_FINITE)[::-1], np.arange(_FINITE)])
    return order, np.concatenate([-sizes[::-1], sizes[1:]])


def in_order(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the counts of finite bins in ascending order: [..., bins]."""
    ordered: NDArray[np.int64] = counts[..., float_edges()[0]]
    return ordered


def quantiles(
    counts: NDArray[np.int64], shares: NDArray[np.float64], low: float, high: float, zeros: int = 0
) -> NDArray[np.float64]:
    """Return quantiles, interpolated linearly within a bin.

    Args:
        counts: counts of all bins.
        shares: fractions from 0 to 1.
        low: smallest value.
        high: largest value.
        zeros: number of values that are exactly 0, which are not interpolated.
    """
    heights, places = _cumulated(counts, zeros)
    if not heights[-1]:
        return np.full(len(shares), np.nan)
    is_needed = np.concatenate([[True], np.diff(heights) > 0])
    is_needed |= np.concatenate([np.diff(heights) > 0, [True]])
    # The outermost values are known exactly.
    ends = np.clip(places[is_needed], low, high)
    found: NDArray[np.float64] = np.interp(shares * heights[-1], heights[is_needed], ends)
    return found


def counts_between(
    counts: NDArray[np.int64], ends: NDArray[np.float64], zeros: int = 0
) -> NDArray[np.float64]:
    """Return the number of values between consecutive ``ends``, uniform within a bin.

    Zeros are counted in the last interval that reaches to 0.
    """
    heights, places = _cumulated(counts, zeros)
    below = np.interp(ends, places, heights)
    found: NDArray[np.float64] = np.diff(below)
    return found


def _cumulated(
    counts: NDArray[np.int64], zeros: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the cumulative counts and their edges; the edge at 0 twice, for the zeros."""
    order, ends = float_edges()
    ordered = counts[order].astype(np.float64)
    middle = len(ordered) // 2
    taken = min(zeros, int(ordered[middle]))
    ordered[middle] -= taken
    ordered[middle - 1] -= min(zeros - taken, int(ordered[middle - 1]))
    below = np.concatenate([[0.0], np.cumsum(ordered[:middle])])
    above = below[-1] + zeros + np.concatenate([[0.0], np.cumsum(ordered[middle:])])
    heights = np.concatenate([below, above])
    return heights, np.concatenate([ends[: middle + 1], ends[middle:]])


def distance(left: NDArray[np.int64], right: NDArray[np.int64]) -> float:
    """Return the Jensen-Shannon distance of two histograms: 0 for equal, 1 for disjoint ones.

    It is the square root of the divergence to base 2 (Endres & Schindelin 2003).
    """
    if not left.sum() or not right.sum():
        return 0.0 if left.sum() == right.sum() else 1.0
    p, q = left / left.sum(), right / right.sum()
    middle = (p + q) / 2
    found = sum(
        0.5 * float((one[one > 0] * np.log2(one[one > 0] / middle[one > 0])).sum())
        for one in (p, q)
    )
    return float(np.sqrt(min(max(found, 0.0), 1.0)))
