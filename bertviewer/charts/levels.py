"""Value ranges: of colour maps, of axes, and of kinds of values.

A scale never exaggerates: cosines are drawn from −1 or 0 to 1, shares from 0, differences
symmetrically about 0, and other values over at least a small part of their size.
"""

import sys
from collections.abc import Sequence
from math import floor, inf, log10
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

ROUNDING = 1e-3
"""Values whose differences are a smaller part of their size are equal but for rounding."""
LEAST_SPAN = 0.05
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


def widened(
    low: float, high: float, part: float = LEAST_SPAN, scale: float = 0.0
) -> tuple[float, float]:
    """Return a range around both values that spans at least this part of the larger one.

    ``scale`` is the size of what the values are about, such as that of the elements of which they
    are means: the range is not so narrow that it shows their rounding.
    """
    least = max(part * max(abs(low), abs(high)), ROUNDING * scale) or 1.0
    missing = max(0.0, least - (high - low))
    most = sys.float_info.max
    return max(-most, low - missing / 2), min(most, high + missing / 2)


def levels_of(
    values: Values, is_signed: bool = False, bounds: Levels = ANY, scale: float = 0.0
) -> Levels:
    """Return the scale of the finite values, symmetric if they are signed; never an empty one."""
    return span_of(*_range(values), bounds, is_signed=is_signed, scale=scale)


def span_of(
    low: float, high: float, bounds: Levels = ANY, *, is_signed: bool = False, scale: float = 0.0
) -> Levels:
    """Return the scale on which values from ``low`` to ``high`` are drawn.

    Args:
        low: the smallest value.
        high: the largest one.
        bounds: the range that values of this kind can have.
        is_signed: the scale is symmetric about 0.
        scale: see ``widened``.
    """
    if is_signed:
        largest = max(abs(low), abs(high), ROUNDING * scale) or 1.0
        return -largest, largest
    if bounds == COSINES:
        return (-1.0 if low < -ROUNDING else 0.0), 1.0
    if bounds == PARTS:
        return 0.0, _rounded_up(high)
    return widened(low, high, scale=scale)


def _rounded_up(share: float) -> float:
    """Return the smallest of 1, 2 and 5 times a power of ten that is not below a share of 1."""
    if not 0 < share <= 0.5:
        return 1.0
    power = floor(log10(share))
    return next(top for n in (1, 2, 5, 10) if (top := float(f"{n}e{power}")) >= share)


def constant_of(values: Values, scale: float = 0.0) -> float | None:
    """Return the value that all finite values have but for rounding, ``None`` if they differ."""
    if not np.isfinite(values).any():
        return None
    low, high = _range(values)
    rounding = ROUNDING * max(abs(low), abs(high), scale)
    if high - low > rounding:
        return None
    return 0.0 if max(abs(low), abs(high)) <= rounding else low + (high - low) / 2


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
