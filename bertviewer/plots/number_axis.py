"""Axes of numbers: as many round ones as there is room for, all written alike.

Where numbers are near to the largest or the smallest double, the distance from one end of an axis
to the other is none any more, and neither is the number of pixels for 1: they are drawn in units of
a power of ten.
"""

from collections.abc import Iterable
from math import ceil, floor, inf, log10

from PySide6.QtCore import QRectF
from PySide6.QtGui import QFontMetricsF

from bertviewer.core.util.numbers import with_minus
from bertviewer.plots.axis import Axis

MOST_LABELS = 12
LINE = 2.0
"""Heights of a letter from one label to the next above it, at least."""
GAP = 14
"""Pixels between two labels side by side, at least."""
BEYOND = 10
"""So many pixels may a label at the end of an axis reach beyond it."""
CORNER = 30
"""There is more room below the axis at the left."""
PLAIN = (1e-3, 1e7)
"""Where the largest number is none of these, all are written with powers of ten."""
MOST_PLACES = 6
"""So are those that would have more places behind the point."""
LEAST, MOST = 1e-300, 1e300
"""Ranges beyond these have no steps that a double can hold."""
LOWEST = -0.3
"""Where 0 stands: below 1, which is the smallest count that a log scale can show."""
ROOM = 24
"""Pixels that a label and the space to the next one take."""
FEW = 2
"""With no more powers of ten than these, numbers between them are labelled too."""
ORDINARY = (1e-100, 1e100)
LEAST_POWER = -300
"""Of what is still smaller, doubles have no reciprocal."""


class NumberAxis(Axis):
    """Labels at multiples of 1, 2 or 5 times a power of ten, with a minus that is one."""

    def __init__(self, orientation: str) -> None:
        super().__init__(orientation)
        self._power = 0
        self._bounds = (-inf, inf)
        self._least_step = 0.0

    def _take_font(self) -> None:
        super()._take_font()
        if self.orientation == "bottom":
            # No more room than a line takes: pyqtgraph leaves nearly two.
            height = int(QFontMetricsF(self.font()).height())
            self.setStyle(autoExpandTextSpace=False, tickTextHeight=height)

    def take_values(
        self, power: int, bounds: tuple[float, float] = (-inf, inf), least_step: float = 0.0
    ) -> None:
        """Label values that are drawn in units of a power of ten, and none beyond these bounds.

        Labels are at least a step apart, as counts are that are whole.
        """
        if (power, bounds, least_step) != (self._power, self._bounds, self._least_step):
            self._power, self._bounds, self._least_step = power, bounds, least_step
            self.picture = None  # pyqtgraph's own, of the labels there were
            self.update()

    def boundingRect(self) -> QRectF:
        """Return the axis with its labels, whose last ones reach beyond it; Qt calls it."""
        rect: QRectF = super().boundingRect()
        if self.orientation == "bottom":
            return rect.adjusted(-CORNER, 0, BEYOND, 0)
        return rect.adjusted(0, -BEYOND, 0, BEYOND)

    def tickValues(
        self, minVal: float, maxVal: float, size: float
    ) -> list[tuple[float, list[float]]]:
        """Return one spacing and its ticks, in place of pyqtgraph's three; it calls this."""
        low, high = sorted((minVal, maxVal))
        if self.logMode:
            return self.logTickValues(low, high, size, None)  # type: ignore[no-any-return]
        if not (LEAST < high - low < MOST and size > 0):
            return []
        step = max(self._least_step, round_step((high - low) / MOST_LABELS))
        while self._needed(_multiples(step, low, high), step) > step * size / (high - low):
            step = round_step(1.5 * step)
        least, most = self._bounds
        return [(step, _multiples(step, max(low, least), min(high, most)))]

    def _needed(self, values: list[float], step: float) -> float:
        """Return how many pixels have to be from one label to the next."""
        metrics = QFontMetricsF(self.font())
        if self.orientation != "bottom":
            return LINE * metrics.height()
        texts = self.tickStrings(values, 1.0, step)
        return GAP + max(map(metrics.horizontalAdvance, texts), default=0.0)

    def tickStrings(self, values: list[float], scale: float, spacing: float) -> list[str]:
        """Return the labels, all with as many places behind the point; pyqtgraph calls it."""
        if self.logMode:
            return self.logTickStrings(values, scale, spacing)  # type: ignore[no-any-return]
        largest = max(map(abs, values), default=0.0)
        if not largest:
            return ["0" for _ in values]
        power = floor(log10(spacing) + 1e-9)  # of the last digit that differs
        places = max(0, -power)
        if places <= MOST_PLACES and PLAIN[0] <= largest < PLAIN[1] and not self._power:
            return [with_minus(f"{value:,.{places}f}") for value in values]
        digits = max(0, floor(log10(largest) + 1e-9) - power)
        return [self._with_power(value, digits) if value else "0" for value in values]

    def _with_power(self, value: float, digits: int) -> str:
        """Return a value as 1.5e+08; it may be larger than a double can be."""
        number, power = f"{value:.{digits}e}".split("e")
        return with_minus(f"{number}e{int(power) + self._power:+03d}")


def round_step(least: float) -> float:
    """Return the smallest of 1, 2 and 5 times a power of ten that is not below ``least``."""
    power = 10.0 ** floor(log10(least))
    part = least / power
    return power * next(number for number in (1, 2, 5, 10) if part <= number * (1 + 1e-9))


def _multiples(step: float, low: float, high: float) -> list[float]:
    """Return the multiples of a step from ``low`` to ``high``, ends that rounding hides too."""
    first, last = ceil(low / step - 1e-9), floor(high / step + 1e-9)
    return [number * step for number in range(first, last + 1)]


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
        return [
            f"{round(10**value):,}" if value > -0.01 else with_minus(f"{10**value:.1g}")
            for value in values
        ]


def power_of(values: Iterable[float]) -> int:
    """Return the power of ten of the largest of finite values, 0 if that is an ordinary one."""
    largest = max(map(abs, values), default=0.0)
    if largest == 0 or ORDINARY[0] <= largest <= ORDINARY[1]:
        return 0
    return max(LEAST_POWER, floor(log10(largest)))
