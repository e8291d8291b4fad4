"""Colour bar of a heatmap, with labels at round values."""

from itertools import pairwise
from math import ceil, copysign, floor, log10, sqrt
from string import digits

import numpy as np
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPen
from PySide6.QtWidgets import QApplication

from bertviewer.charts.theme import SMALL, Theme
from bertviewer.core.util.numbers import number_text, with_minus
from bertviewer.plots.cells import are_rectangles, draw_hatch, draw_rectangles
from bertviewer.plots.color_scale import SHADES, ColorScale
from bertviewer.plots.fonts import sized
from bertviewer.plots.ticks import (
    LINE,
    MAX_RANGE,
    MIN_RANGE,
    NumberTicks,
    Tick,
    round_step,
)

MIN_GAP = 1 / 15
"""Labels on a square-root scale are at least this fraction of the bar apart."""
END_PART = 0.1
"""A label within this fraction of the bar's end labels the end."""
FEW_LABELS, LOWER_BARS = 2, 3
"""With so few labels both ends are labelled; the bar of a plot may be this many times lower."""
ROUNDING = 1e-9  # fraction of a step lost by rounding
WIDTH = 8
"""Pixels of the bar."""
SPACES, COMPACT = (14.0, 7.0), (9.0, 4.0)
"""Pixels left of the bar, and left of its labels and title."""
SWATCH_GAP = 8.0  # pixels between the bar and the swatch of masked cells
LABEL_ROOM = 200.0
RESERVED_LABEL = with_minus("-0.000")
"""There is always room for this label, so that plots keep their layout when colours change."""

_EVERY = np.arange(SHADES - 1.0, -1.0, -1.0)[:, None]
_RIGHT_OF = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)


class ColorTicks(NumberTicks):
    """Labels of a colour scale: at positions that are roots or logarithms where the colours are."""

    def __init__(self, scale: ColorScale, metrics: QFontMetricsF, end: str = "") -> None:
        super().__init__(metrics, power=scale.power)
        self._scale, self._end = scale, end
        self._low, self._high = (level / 10.0**scale.power for level in scale.levels)

    def labels(self, size: float) -> list[tuple[float, str]]:
        """Return the position, from 0 to 1, and text of each label of a bar of ``size`` pixels."""
        low, high = self._scale.ends
        ticks = self.ticks(low, high, size)
        return [((tick.value - low) / (high - low), tick.text) for tick in ticks]

    def ticks(self, low: float, high: float, size: float) -> list[Tick]:
        """Return multiples of a step, or the roots of round numbers, below the named end.

        Where these are fewer than three, both ends are labelled, as near as round numbers come.
        """
        if size <= 0 or not MIN_RANGE < high - low < MAX_RANGE:
            return []
        if self._scale.is_log:
            places = self._at_powers(low, high, size)
            return [Tick(place, number_text(10.0**place, 3)) for place in places]
        if self._scale.is_root:
            found = self._at_roots(low, high, size)
        else:
            found = super().ticks(low, high, size)
        if self._end:
            below = high - self._line * (high - low) / size
            return [*(tick for tick in found if tick.value <= below), Tick(high, self._end)]
        has_digits = high - low >= ROUNDING * max(abs(low), abs(high))
        if not has_digits or len(found) > FEW_LABELS:
            return found
        ends = self._at_ends()
        gap = self._line * (high - low) / size
        # 0 may be too near to one of them.
        for shown in (ends, [ends[0], ends[-1]]):
            if all(after.value - before.value >= gap for before, after in pairwise(shown)):
                return shown
        return found

    @property
    def _line(self) -> float:
        return LINE * self.metrics.height()

    def _at_powers(self, low: float, high: float, size: float) -> list[float]:
        """Return the positions of powers of ten; of few powers those between them, too."""
        gap = (high - low) * self._line / size
        powers = range(floor(low), ceil(high) + 1)
        for firsts in ((1, 2, 5), (1, 3), (1,)):
            places = [power + log10(first) for power in powers for first in firsts]
            inside = [place for place in places if low <= place <= high]
            if all(after - before >= gap for before, after in pairwise(inside)):
                return inside
        return inside[:: ceil(gap)]

    def _at_roots(self, low: float, high: float, size: float) -> list[Tick]:
        gap = (high - low) * max(self._line / size, MIN_GAP)
        above, below = _round_values(self._high, gap), _round_values(-self._low, gap)
        values = (*(-value for value in below), 0.0, *reversed(above))
        inside = [value for value in values if low <= self._position(value) <= high]
        return self._labelled(inside, min((*above, *below), default=1.0))

    def _at_ends(self) -> list[Tick]:
        """Return the roundest values near both ends, with 0 between them."""
        low, high = self._low, self._high
        bottom, top = self._position(low), self._position(high)
        unit, first, last = round_step(2 * max(abs(low), abs(high))), 0.0, 0.0

        def missing() -> float:
            return max(self._position(first) - bottom, top - self._position(last))

        while missing() > END_PART * (top - bottom):
            unit = round_step(0.4 * unit)
            first, last = ceil(low / unit - ROUNDING) * unit, floor(high / unit + ROUNDING) * unit
        return self._labelled([first, 0.0, last] if first < 0 < last else [first, last], unit)

    def _labelled(self, values: list[float], unit: float) -> list[Tick]:
        texts = self.texts(values, unit)
        return [Tick(self._position(v), text) for v, text in zip(values, texts, strict=True)]

    def _position(self, value: float) -> float:
        return copysign(sqrt(abs(value)), value) if self._scale.is_root else value


def _round_values(high: float, gap: float) -> list[float]:
    """Return numbers of one digit in descending order, whose roots are ``gap`` apart and from 0."""
    found: list[float] = []
    power = floor(log10(high)) if high > 0 else 0
    while True:
        for digit in range(9, 0, -1):
            value = float(f"{digit}e{power}")
            if sqrt(value) < gap:
                return found
            if value <= high and (not found or sqrt(found[-1]) - sqrt(value) >= gap):
                found.append(value)
        power -= 1


class ColorBar:
    """A colour scale as a vertical bar, the highest value on top.

    ``masked`` is the label of the hatch that marks masked cells, below the bar. ``title`` is along
    its right side. ``end`` is the label of the highest value, "" for numbers only. A compact bar
    has room for its current labels only.
    """

    def __init__(
        self,
        scale: ColorScale,
        theme: Theme,
        title: str = "",
        masked: str = "",
        end: str = "",
        *,
        is_compact: bool = False,
    ) -> None:
        self._theme, self.title, self._masked = theme, title, masked
        self._before, self._space = COMPACT if is_compact else SPACES
        self._reserved = "" if is_compact else RESERVED_LABEL
        self._font = sized(QApplication.font(), SMALL)
        self._metrics = QFontMetricsF(self._font)
        self._ticks = ColorTicks(scale, self._metrics, end)
        self._widths: dict[float, float] = {}  # the last one
        self._shades = ColorScale((0.0, SHADES - 1.0), scale.table)
        self._image = self._shades.image(_EVERY)

    def width(self, height: float) -> float:
        """Return the width of bar, labels and title next to a plot of this height in pixels."""
        if height not in self._widths:
            self._widths = {height: self._width(height)}
        return self._widths[height]

    def _width(self, height: float) -> float:
        labels = [*self._ticks.labels(height), *self._ticks.labels(height / LOWER_BARS)]
        # Charts of the same kind have other digits: all are as wide as the widest.
        widest = max(digits, key=self._metrics.horizontalAdvance)
        all_widest = str.maketrans(dict.fromkeys(digits, widest))
        texts = (self._reserved, self._masked, *(text.translate(all_widest) for _, text in labels))
        width = self._before + WIDTH + self._space
        width += max(map(self._metrics.horizontalAdvance, texts))
        return width + self._metrics.height() + self._space if self.title else width

    def draw(self, painter: QPainter, area: QRectF, height: float) -> None:
        """Draw the bar to the right of a rectangle in a plot of this height."""
        bar = QRectF(area.right() + self._before, area.top(), WIDTH, area.height())
        painter.setFont(self._font)
        if self._masked:
            self._draw_masked(painter, bar)
            bar.setBottom(max(bar.top() + 1, bar.bottom() - WIDTH - SWATCH_GAP))
        if are_rectangles(painter, SHADES):
            draw_rectangles(painter, bar, _EVERY, self._shades)
        else:
            painter.drawImage(bar, self._image)
        painter.setPen(QColor(self._theme.muted))
        high = self._metrics.height()
        for part, text in self._ticks.labels(bar.height()):
            y = bar.bottom() - part * bar.height() - high / 2
            painter.drawText(
                QRectF(bar.right() + self._space, y, LABEL_ROOM, high), _RIGHT_OF, text
            )
        if self.title:
            self._draw_title(painter, area, height)

    def _draw_title(self, painter: QPainter, area: QRectF, height: float) -> None:
        length = min(self._metrics.horizontalAdvance(self.title) + 1, height)
        middle = min(max(area.center().y(), length / 2), height - length / 2)
        painter.save()
        painter.translate(area.right() + self.width(height) - self._metrics.height(), middle)
        painter.rotate(-90)
        text = self._metrics.elidedText(self.title, Qt.TextElideMode.ElideMiddle, length)
        line = QRectF(-length / 2, 0, length, self._metrics.height())
        painter.drawText(line, int(Qt.AlignmentFlag.AlignCenter), text)
        painter.restore()

    def _draw_masked(self, painter: QPainter, bar: QRectF) -> None:
        swatch = QRectF(bar.left(), bar.bottom() - WIDTH, WIDTH, WIDTH)
        draw_hatch(painter, swatch, np.ones((1, 1), dtype=np.bool_), self._theme)
        painter.setPen(QPen(QColor(self._theme.muted), 1))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRect(swatch)
        label = QRectF(swatch.right() + self._space, swatch.top(), LABEL_ROOM, swatch.height())
        painter.drawText(label, _RIGHT_OF, self._masked)
