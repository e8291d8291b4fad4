"""Value ranges: of colour maps, of axes, and of kinds of values."""

import sys
from collections.abc import Sequence
from math import inf, log10
from typing import Any

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.floating[Any]]
Mask = NDArray[np.bool_]
ColorIndices = NDArray[np.uint8]
"""Indices in a table of colours; 0 is no colour."""
Levels = tuple[float, float]
"""The values at the two ends of a colour map."""

ANY = (-inf, inf)
COSINES = (-1.0, 1.0)
PARTS = (0.0, 1.0)
"""Probabilities and shares."""
SIZES = (0.0, inf)
"""Norms, deviations, counts."""

LEAST_SPAN = 1e-3
"""Minimum span of an axis, relative to its values.

Without it, a quantity that is constant by construction, such as the std after a layer norm, would
fill the plot with rounding errors.
"""

_LEAST_SHARE = 0.04
"""Share of the colour map of the smallest positive value on a logarithmic scale."""
_USUAL, _MAX_ABOVE = 0.9, 10.0
"""Logarithmic colours end at most at this multiple of that quantile."""
_FAINTEST = 1e-9
"""Logarithmic colours begin at least at this share of their end."""


def widened(low: float, high: float) -> tuple[float, float]:
    """Return a range around both values with at least the minimum span."""
    least = LEAST_SPAN * max(abs(low), abs(high)) or 1.0
    missing = max(0.0, least - (high - low))
    most = sys.float_info.max
    return max(-most, low - missing / 2), min(most, high + missing / 2)


def levels_of(values: Values, is_signed: bool = False) -> Levels:
    """Return the range of the finite values, symmetric if they are signed; never an empty one."""
    low, high = _range(values)
    if is_signed:
        largest = max(abs(low), abs(high)) or 1.0
        return -largest, largest
    return widened(low, high)


def _range(values: Values) -> Levels:
    if values.size:
        # Usually all values are finite, and need not be copied.
        low, high = float(np.fmin.reduce(values, None)), float(np.fmax.reduce(values, None))
        if np.isfinite(low) and np.isfinite(high):
            return low, high
    finite = values[np.isfinite(values)]
    return (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)


def log_levels(values: Sequence[float] | Values) -> Levels:
    """Return the range of the positive values, at least one power of ten.

    Outliers above it have the colour of its end: one tiny tensor that changed by many times its
    norm would leave all others in one shade.
    """
    found = np.asarray(values, dtype=np.float64)
    above = found[np.isfinite(found) & (found > 0)]
    if not above.size:
        return 0.1, 1.0
    high = min(float(above.max()), _MAX_ABOVE * float(np.quantile(above, _USUAL)))
    return max(min(float(above.min()), high / 10), high * _FAINTEST), high


def log_share(value: float, levels: Levels) -> float:
    """Return the position of a value on a logarithmic colour map, 0 for 0."""
    if not value > 0:
        return 0.0
    low, high = map(log10, levels)
    share = (log10(value) - low) / (high - low)
    return min(1.0, max(0.0, _LEAST_SHARE + (1 - _LEAST_SHARE) * share))
