"""Ranges of values: what a colour map covers, and what values of a kind can be at all.

.

.
"""

import sys
from collections.abc import Sequence
from math import inf, log10
from typing import Any

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.floating[Any]]
Mask = NDArray[np.bool_]
ColorIndices = NDArray[np.uint8]
"""Places in a table of colours; at 0 there is nothing."""
Levels = tuple[float, float]
"""The values of a colour map's two ends."""

COSINES = (-1.0, 1.0)
PARTS = (0.0, 1.0)
"""Probabilities, and parts of a whole."""
SIZES = (0.0, inf)
"""Norms, deviations, counts."""

LEAST_SPAN = 1e-3
"""An axis covers at least this part of its values' size.

Without it a quantity that is constant by construction, as the std after a layer norm is, would
fill the plot with rounding errors.
"""


def widened(low: float, high: float) -> tuple[float, float]:
    """Return a range around both values that does not magnify noise; never an empty one."""
    least = LEAST_SPAN * max(abs(low), abs(high)) or 1.0
    missing = max(0.0, least - (high - low))
    most = sys.float_info.max
    return max(-most, low - missing / 2), min(most, high + missing / 2)


def levels_of(values: Values, is_signed: bool = False) -> Levels:
    """Return the range of the finite values, about 0 if they are signed; never an empty one."""
    low, high = _range(values)
    if is_signed:
        largest = max(abs(low), abs(high)) or 1.0
        return -largest, largest
    return widened(low, high)


def _range(values: Values) -> Levels:
    if values.size:
        # Mostly there is no infinity, and then nothing has to be picked out of many values.
        low, high = float(np.fmin.reduce(values, None)), float(np.fmax.reduce(values, None))
        if np.isfinite(low) and np.isfinite(high):
            return low, high
    finite = values[np.isfinite(values)]
    return (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)


LEAST_SHARE = 0.04
USUAL, MOST_ABOVE = 0.9, 10.0
"""Colours end at so many times of what such a part of the values is below, at the latest."""
FAINTEST = 1e-9
"""Colours begin at this part of the largest value at the lowest."""


def log_levels(values: Sequence[float] | Values) -> Levels:
    """Return the least and the largest value above 0, with a power of ten between them at least.

    What is far larger than most has the colour of the upper end: one tiny tensor that moved by
    many times its own size would leave all others in one shade.
    """
    found = np.asarray(values, dtype=np.float64)
    above = found[np.isfinite(found) & (found > 0)]
    if not above.size:
        return 0.1, 1.0
    high = min(float(above.max()), MOST_ABOVE * float(np.quantile(above, USUAL)))
    return max(min(float(above.min()), high / 10), high * FAINTEST), high


def log_share(value: float, levels: Levels) -> float:
    """Return how far up a value stands, a little for the least one, 0 for none."""
    if not value > 0:
        return 0.0
    low, high = map(log10, levels)
    share = (log10(value) - low) / (high - low)
    return min(1.0, max(0.0, LEAST_SHARE + (1 - LEAST_SHARE) * share))
