"""Mergeable histograms: fixed bins for all float32, by sign, exponent and two fraction bits.

All corpora have the same bins, so counts can be added. A bin is at most a quarter of its lower edge
wide, which bounds the error of quantiles. Histograms of one tensor, whose range is known, have bins
of equal width: ``analysis.histogram``.
"""

from functools import cache

import numpy as np
from numpy.typing import NDArray

BINS = 2048
_SHIFT = 21
_HALF = BINS // 2
_FINITE = 0x7F800000 >> _SHIFT
"""The first bin, for either sign, of Inf and NaN."""


def bins_of(values: NDArray[np.float32]) -> NDArray[np.int64]:
    """Return the bin of each value."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    return (bits >> _SHIFT).astype(np.int64)


@cache
def edges() -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the bins of finite values in ascending order, and their edges.

    The bins of 0 and -0, which contain the smallest subnormal numbers, meet at 0.
    """
    sizes = (np.arange(_FINITE + 1, dtype=np.uint32) << _SHIFT).view(np.float32).astype(np.float64)
    sizes[-1] = 2.0**128  # where Inf begins
    order = np.concatenate([_HALF + np.arange(_FINITE)[::-1], np.arange(_FINITE)])
    return order, np.concatenate([-sizes[::-1], sizes[1:]])


def in_order(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the counts of finite bins in ascending order: [..., bins]."""
    ordered: NDArray[np.int64] = counts[..., edges()[0]]
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
    found = np.interp(shares * heights[-1], heights[is_needed], places[is_needed])
    clipped: NDArray[np.float64] = np.clip(found, low, high)
    return clipped


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
    order, ends = edges()
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
