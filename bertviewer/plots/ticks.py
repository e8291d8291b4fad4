"""Positions and labels of axis ticks: round numbers, powers of ten, and names.

Where numbers are near the largest or the smallest double, their distances overflow or vanish: they
are drawn in units of a power of ten.
"""

from collections.abc import Iterable, Sequence
from itertools import count, pairwise
from math import ceil, floor, inf, log10

from msgspec import Struct
from PySide6.QtCore import Qt
from PySide6.QtGui import QFontMetricsF

from bertviewer.charts.labels import shortened
from bertviewer.core.util.numbers import with_minus

MAX_LABELS = 12
LINE = 2.0
"""Distance of labels above one another, in heights of a letter, at least."""
GAP = 14
"""Pixels between two numbers next to each other, at least."""
PLAIN_RANGE = (1e-3, 1e7)
"""If the largest number is outside of these, all are written with powers of ten."""
MAX_DECIMALS = 6
MIN_RANGE, MAX_RANGE = 1e-300, 1e300
"""Other ranges have no steps that a double can represent."""
LOWEST = -0.3
"""Position of 0 on a logarithmic axis of counts: below 1, the smallest count that it can show."""
LOG_ROOM = 24
"""Pixels for a label of a logarithmic axis and the space to the next one."""
FEW_POWERS = 2
"""With no more powers of ten than these, numbers between them are labelled, too."""
FILL_LIMITS = ((0, 0.8), (2, 0.6), (4, 0.4), (6, 0.2))
"""By number of texts: the fraction of the axis from which numbers between powers are omitted."""
UNSCALED_RANGE = (1e-100, 1e100)
MIN_POWER = -300
"""Smaller doubles have no reciprocal."""

NAME_GAP = 6
OMITTED = "·"
"""Marks a label for which there is no room."""
MIN_DOTTED = 8.0
"""Cells of fewer pixels have no such mark."""
LABEL_LENGTH = 10
MIN_CELL = 22.0
"""A few letters can be read in a cell of this many pixels."""
NUMBER_LINE = 1.4
"""Heights of a letter from one number to the next above it, where not all have room."""
USUAL_PART = 0.8
"""This fraction of the labels is not cut in cells that are narrower."""
SHORT_LABEL = 3
"""Labels of no more letters, such as layer numbers, are left out rather than rotated."""


class Tick(Struct, frozen=True):
    """Position and label; ``level`` 1 is a number between powers of ten."""

    value: float
    text: str
    level: int = 0


class NumberTicks:
    """Ticks at multiples of 1, 2 or 5 times a power of ten.

    Args:
        metrics: of the font of the labels.
        is_horizontal: whether labels are next to each other, not above one another.
        power: values are in units of 10 to this power.
        bounds: no tick is beyond these.
        least_step: the least distance of ticks, such as 1 for counts.
    """

    def __init__(
        self,
        metrics: QFontMetricsF,
        *,
        is_horizontal: bool = False,
        power: int = 0,
        bounds: tuple[float, float] = (-inf, inf),
        least_step: float = 0.0,
    ) -> None:
        self.metrics = metrics
        self._is_horizontal, self._power = is_horizontal, power
        self._bounds, self._least_step = bounds, least_step

    def ticks(self, low: float, high: float, size: float) -> list[Tick]:
        """Return as many ticks of a range as an axis of ``size`` pixels has room for."""
        if not (MIN_RANGE < high - low < MAX_RANGE and size > 0):
            return []
        step = max(self._least_step, round_step((high - low) / MAX_LABELS))
        while self._needed(_multiples(step, low, high), step) > step * size / (high - low):
            step = round_step(1.5 * step)
        least, most = self._bounds
        values = _multiples(step, max(low, least), min(high, most))
        return [Tick(*each) for each in zip(values, self.texts(values, step), strict=True)]

    def texts(self, values: Sequence[float], step: float) -> list[str]:
        """Return labels with equally many decimal places for values that differ by ``step``."""
        largest = max(map(abs, values), default=0.0)
        if not largest:
            return ["0" for _ in values]
        power = floor(log10(step) + 1e-9)  # of the last digit that differs
        places = max(0, -power)
        if (
            places <= MAX_DECIMALS
            and PLAIN_RANGE[0] <= largest < PLAIN_RANGE[1]
            and not self._power
        ):
            return [with_minus(f"{value:,.{places}f}") for value in values]
        digits = max(0, floor(log10(largest) + 1e-9) - power)
        return [self._with_power(value, digits) if value else "0" for value in values]

    def _needed(self, values: Sequence[float], step: float) -> float:
        """Return the least distance of labels in pixels."""
        if not self._is_horizontal:
            return LINE * self.metrics.height()
        return GAP + max(map(self.metrics.horizontalAdvance, self.texts(values, step)), default=0)

    def _with_power(self, value: float, digits: int) -> str:
        """Return a value as 1.5e+08; it may be larger than a double can be."""
        number, power = f"{value:.{digits}e}".split("e")
        return with_minus(f"{number}e{int(power) + self._power:+03d}")


def log_ticks(
    low: float, high: float, size: float, *, lowest: int, metrics: QFontMetricsF
) -> list[Tick]:
    """Return powers of ten between two logarithms; of few powers some numbers between them, too."""
    powers = range(max(lowest, ceil(low)), floor(high) + 1)
    step = max(1, ceil(len(powers) * LOG_ROOM / max(1.0, size)))
    found = [Tick(float(power), _log_text(power)) for power in powers if power % step == 0]
    if len(powers) > FEW_POWERS:
        return found
    between = range(max(lowest, floor(low)), floor(high) + 1)
    logs = [power + log10(part) for power in between for part in (2, 5)]
    minor = [Tick(log, _log_text(log), 1) for log in logs if low <= log <= high]
    filled = (len(found) + len(minor)) * 0.8 * metrics.height() / max(1.0, size)
    if any(len(found) >= texts and filled >= limit for texts, limit in FILL_LIMITS):
        minor = [Tick(tick.value, "", 1) for tick in minor]
    return [*found, *minor]


def _log_text(log: float) -> str:
    return f"{round(10**log):,}" if log > -0.01 else with_minus(f"{10**log:.1g}")


def round_step(least: float) -> float:
    """Return the smallest of 1, 2 and 5 times a power of ten that is not below ``least``."""
    power = 10.0 ** floor(log10(least))
    part = least / power
    return power * next(number for number in (1, 2, 5, 10) if part <= number * (1 + 1e-9))


def _multiples(step: float, low: float, high: float) -> list[float]:
    """Return the multiples of a step from ``low`` to ``high``, despite rounding."""
    first, last = ceil(low / step - 1e-9), floor(high / step + 1e-9)
    return [number * step for number in range(first, last + 1)]


def log_position(value: float) -> float:
    """Return the position of a count or rank on a logarithmic axis; 0 is at ``LOWEST``."""
    return max(LOWEST, log10(value)) if value > 0 else LOWEST


def power_of(values: Iterable[float]) -> int:
    """Return the power of ten in whose units extreme values can be drawn, 0 for ordinary ones."""
    largest = max(map(abs, values), default=0.0)
    if largest == 0 or UNSCALED_RANGE[0] <= largest <= UNSCALED_RANGE[1]:
        return 0
    return max(MIN_POWER, floor(log10(largest)))


class ShownLabels(Struct, frozen=True):
    """Labels of a horizontal axis by position, the height that they need, and what is left out."""

    labels: tuple[tuple[float, str], ...]
    height: float = 0.0
    is_upright: bool = False
    are_omitted: bool = False


class LabelTicks:
    """Labels at ``first``, ``first`` + 1, …, of which those are shown for which there is room.

    Labels longer than ``longest`` letters are cut.
    """

    def __init__(
        self,
        labels: Sequence[str],
        metrics: QFontMetricsF,
        first: float = 0.5,
        longest: int = LABEL_LENGTH,
    ) -> None:
        texts = [shortened(text, longest) for text in labels]
        self._metrics = metrics
        self._labels = [(first + place, text) for place, text in enumerate(texts)]
        widths = sorted(map(metrics.horizontalAdvance, texts)) or [0.0]
        self.widest, self._usual = widths[-1], widths[int(USUAL_PART * (len(widths) - 1))]
        self._spacing = _spacing(texts)
        self._is_short = all(len(text) <= SHORT_LABEL for text in texts)
        self._last: tuple[object, ShownLabels] | None = None

    def above_one_another(self, height: float) -> list[tuple[float, str]]:
        """Return the labels of a vertical axis."""
        line = self._metrics.height()
        step = self._step(height, line)
        if step > 1 and self._spacing:
            step = self._step(height, NUMBER_LINE * line)
        return self._chosen(step)

    def side_by_side(self, width: float, *, is_flat: bool = False) -> ShownLabels:
        """Return the labels of a horizontal axis.

        They are upright as soon as one is wider than its cell. Where they only repeat others they
        are flat: horizontal, and cut to a few letters.
        """
        if self._last is None or self._last[0] != (width, is_flat):
            self._last = (width, is_flat), self._side_by_side(width, is_flat=is_flat)
        return self._last[1]

    def _side_by_side(self, width: float, *, is_flat: bool) -> ShownLabels:
        if not self._labels:
            return ShownLabels(())
        line = self._metrics.height()
        if is_flat:
            return self._flat(width)
        is_crowded = self._step(width, self.widest + NAME_GAP) > 1
        is_upright = is_crowded and not self._is_short
        step = self._step(width, line if is_upright else self.widest + NAME_GAP)
        shown = self._chosen(step)
        if is_upright:
            line = NAME_GAP + max(self._metrics.horizontalAdvance(text) for _, text in shown)
        return ShownLabels(tuple(shown), line, is_upright)

    def _flat(self, width: float) -> ShownLabels:
        """Cut each label to its cell, or every second, third … to that many cells."""
        step = self._step(width, min(MIN_CELL, self._usual + NAME_GAP))
        shown = self._chosen(step)
        places = {at for at, _ in shown}
        # Numbers that are left out follow from those that are shown.
        omitted = [] if self._spacing else [at for at, _ in self._labels if at not in places]
        has_dots = bool(omitted) and width / len(self._labels) >= MIN_DOTTED
        dot = self._metrics.horizontalAdvance(OMITTED) if has_dots else 0.0
        room = step * width / len(self._labels) - dot - 2
        cut = Qt.TextElideMode.ElideRight
        labels = [(at, self._metrics.elidedText(text, cut, room)) for at, text in shown]
        labels += [(at, OMITTED) for at in omitted if has_dots]
        return ShownLabels(tuple(sorted(labels)), self._metrics.height(), are_omitted=bool(omitted))

    def _chosen(self, step: int) -> list[tuple[float, str]]:
        """Return every ``step``-th label, of numbers the round ones."""
        if step == 1 or self._spacing == 0:
            return self._labels[::step]
        is_led = not self._labels[0][1].isdecimal()  # by the embeddings, for example
        numbers = self._labels[1:] if is_led else self._labels
        rounded = next(n for n in count(step) if _is_round(n * self._spacing))
        first = -int(numbers[0][1]) // self._spacing % rounded
        shown = numbers[first::rounded]
        # The very first label shows where the axis begins.
        if is_led or first >= step or not shown:
            start = self._labels[0][0]
            return self._labels[:1] + [label for label in shown if label[0] >= start + step]
        return shown

    def _step(self, length: float, room: float) -> int:
        """Return the distance in positions of labels that need ``room`` pixels each."""
        return max(1, ceil(room * len(self._labels) / max(1.0, length)))


def _spacing(texts: Sequence[str]) -> int:
    """Return the distance of evenly spaced numbers, 0 for other texts.

    The first text may be another one, such as the embeddings before the layers.
    """
    if len(texts) > 2 and not texts[0].isdecimal():
        texts = texts[1:]
    if len(texts) < 2 or not all(text.isdecimal() and text.isascii() for text in texts):
        return 0
    numbers = [int(text) for text in texts]
    spacing, *others = {after - before for before, after in pairwise(numbers)}
    return spacing if not others and spacing > 0 and numbers[0] % spacing == 0 else 0


def _is_round(number: int) -> bool:
    return number in (1, 2, 5) or (number % 10 == 0 and (number < 100 or number % 50 == 0))
