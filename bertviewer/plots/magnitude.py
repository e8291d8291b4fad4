"""The power of ten in which very large and very small numbers are drawn.

Where numbers are near to the largest or the smallest double, the distance from one end of an axis
to the other is none any more, and neither is the number of pixels for 1: pyqtgraph then draws
nothing, or ends the process. Numbers are divided by the power where lines, bars and colours are
drawn, and not in the charts' data, which are shown and saved with all of their digits.
"""

from collections.abc import Iterable
from math import floor, log10

ORDINARY = (1e-100, 1e100)
LEAST_POWER = -300
"""Of what is still smaller, doubles have no reciprocal."""


def power_of(values: Iterable[float]) -> int:
    """Return the power of ten of the largest of finite values, 0 if that is an ordinary one."""
    largest = max(map(abs, values), default=0.0)
    if largest == 0 or ORDINARY[0] <= largest <= ORDINARY[1]:
        return 0
    return max(LEAST_POWER, floor(log10(largest)))
