"""The range of values that a colour map covers."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bertviewer.plots.theme import widened

Values = NDArray[np.floating[Any]]
Levels = tuple[float, float]
"""The values of a colour map's two ends."""


def levels_of(values: Values, is_signed: bool = False) -> Levels:
    """Return the range of the finite values, about 0 if they are signed; never an empty one."""
    finite = values[np.isfinite(values)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
    if is_signed:
        largest = max(abs(low), abs(high)) or 1.0
        return -largest, largest
    return widened(low, high)
