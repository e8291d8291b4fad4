"""A vertical axis on which each power of ten takes the same room: counts, ranks."""

from math import ceil, floor, log10

from bertviewer.core.text.numerals import with_minus
from bertviewer.plots.number_axis import NumberAxis

LOWEST = -0.3
"""Where 0 stands: below 1, which is the smallest count that a log scale can show."""
ROOM = 24
"""Pixels that a label and the space to the next one take."""

FEW = 2
"""With no more powers of ten than these, numbers between them are labelled too."""


def log_height(value: float) -> float:
    """Return how high a value stands that is a count or a rank; all below 1/2 stand lowest."""
    return max(LOWEST, log10(value)) if value > 0 else LOWEST


class PowerAxis(NumberAxis):
    """An axis that, once it is logarithmic, labels the powers of ten from ``lowest`` on."""

    lowest = 0

    def logTickValues(
        self, minVal: float, maxVal: float, size: float, stdTicks: object
    ) -> list[tuple[float, list[float]]]:
        """Return the powers of ten, as many as there is room for; of few, some numbers between."""
        del stdTicks
        highest = min(maxVal, self._bounds[1])
        powers = range(max(self.lowest, ceil(minVal)), floor(highest) + 1)
        step = max(1, ceil(len(powers) * ROOM / max(1.0, size)))
        major = [float(power) for power in powers if power % step == 0]
        if len(powers) > FEW:
            return [(float(step), major)]
        between = range(max(self.lowest, floor(minVal)), floor(highest) + 1)
        heights = [power + log10(part) for power in between for part in (2, 5)]
        minor = [height for height in heights if minVal <= height <= highest]
        return [(float(step), major), (1.0, minor)]

    def logTickStrings(self, values: list[float], scale: float, spacing: float) -> list[str]:
        """Return 1, 10, 100, 1,000 and so on, and 0.1, 0.01 … below."""
        del scale, spacing
        return [
            f"{round(10**value):,}" if value > -0.01 else with_minus(f"{10**value:.1g}")
            for value in values
        ]
