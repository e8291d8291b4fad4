"""The colours of a grid as a bar beside it, with the values that they stand for."""

from itertools import pairwise
from math import ceil, copysign, floor, log10, sqrt
from string import digits

import numpy as np
from PySide6.QtCore import QRectF
from PySide6.QtGui import QFontMetricsF, QPen

from bertviewer.charts.levels import Levels
from bertviewer.core.util.numbers import number_text
from bertviewer.plots.cells import Cells
from bertviewer.plots.color_scale import SHADES, ColorScale
from bertviewer.plots.number_axis import LEAST, LINE, MOST, NumberAxis, round_step
from bertviewer.plots.plot_area import PlotArea

LEAST_GAP = 1 / 15
"""Labels at roots are at least this part of a bar apart, however much room there is."""
NEAR = 0.1
"""A label so near to the end of a bar, in parts of it, labels that end."""
FEW, LOW = 2, 3
"""So few labels are those of the ends; a bar may be so many times lower than its plot."""
HIDDEN = 1e-9  # parts of a step, lost by rounding
WIDTH, GAP = 8, 8  # pixels


class ColorAxis(NumberAxis):
    """An axis at the right of a bar; it may be asked for its labels without being drawn."""

    def __init__(self) -> None:
        super().__init__("right")
        self._levels: Levels = (0.0, 1.0)
        self._is_root = self._is_log = False

    def show_scale(self, scale: ColorScale) -> None:
        """Label a bar of these colours."""
        self.take_values(scale.power)
        low, high = (level / 10.0**scale.power for level in scale.levels)
        self._levels, self._is_root, self._is_log = (low, high), scale.is_root, scale.is_log
        self.setRange(*scale.ends)

    def labels(self, size: float) -> list[tuple[float, str]]:
        """Return what stands beside a bar of so many pixels, and how far up: from 0 to 1."""
        low, high = self.range
        return [
            ((place - low) / (high - low), text)
            for step, places in self.tickValues(low, high, size)
            for place, text in zip(places, self.tickStrings(places, 1.0, step), strict=True)
        ]

    def fit(self, height: float) -> None:
        """Take as much width as labels need if the bar is no higher than that."""
        metrics, texts = QFontMetricsF(self.font()), [text for _, text in self.labels(height)]
        if self._has_ends and len(self.labels(height / LOW)) <= FEW:
            # Those of the ends alone may have more digits.
            unit, places = self._at_ends()
            texts += self.tickStrings(places, 1.0, unit)
        # Another bar has other digits, as many, and no digit is wider than this one.
        widest = max(digits, key=metrics.horizontalAdvance)
        all_widest = str.maketrans(dict.fromkeys(digits, widest))
        wide = [metrics.horizontalAdvance(text.translate(all_widest)) for text in texts]
        self.setStyle(autoExpandTextSpace=False, tickTextWidth=ceil(max(wide, default=0.0)))

    def tickValues(
        self, minVal: float, maxVal: float, size: float
    ) -> list[tuple[float, list[float]]]:
        """Return where labels stand: multiples of a step, or the roots of round numbers.

        Where these are fewer than three, both ends are labelled, as near as round numbers come.
        """
        if size <= 0 or not LEAST < maxVal - minVal < MOST:
            return []
        if self._is_log:
            return [(1.0, self._at_powers(size))]
        found = self._at_roots(size) if self._is_root else super().tickValues(minVal, maxVal, size)
        if not self._has_ends or sum(len(places) for _, places in found) > FEW:
            return found
        unit, places = self._at_ends()
        gap = self._line() * (maxVal - minVal) / size
        # 0 may be too near to one of them.
        for shown in (places, [places[0], places[-1]]):
            if all(after - before >= gap for before, after in pairwise(shown)):
                return [(unit, shown)]
        return found

    def _at_powers(self, size: float) -> list[float]:
        """Return where powers of ten stand, as many as have room; of few what is between too."""
        low, high = self.range
        gap = (high - low) * self._line() / size
        powers = range(floor(low), ceil(high) + 1)
        for firsts in ((1, 2, 5), (1, 3), (1,)):
            places = [power + log10(first) for power in powers for first in firsts]
            inside = [place for place in places if low <= place <= high]
            if all(after - before >= gap for before, after in pairwise(inside)):
                return inside
        return inside[:: ceil(gap)]

    def _at_roots(self, size: float) -> list[tuple[float, list[float]]]:
        low, high = self.range
        gap = (high - low) * max(self._line() / size, LEAST_GAP)
        above, below = _round_values(self._levels[1], gap), _round_values(-self._levels[0], gap)
        places = (*(-sqrt(value) for value in below), 0.0, *map(sqrt, reversed(above)))
        shown = [place for place in places if low <= place <= high]
        return [(min((*above, *below), default=1.0), shown)]

    @property
    def _has_ends(self) -> bool:
        """Whether doubles have the digits that values near both ends need."""
        low, high = map(float, self.range)
        if self._is_log:
            return False
        return LEAST < high - low < MOST and high - low >= HIDDEN * max(abs(low), abs(high))

    def _at_ends(self) -> tuple[float, list[float]]:
        """Return where the roundest values near both ends stand, with 0, and their unit."""
        low, high = self._levels
        bottom, top = self._stands(low), self._stands(high)
        unit, first, last = round_step(2 * max(abs(low), abs(high))), 0.0, 0.0
        while max(self._stands(first) - bottom, top - self._stands(last)) > NEAR * (top - bottom):
            unit = round_step(0.4 * unit)
            first, last = ceil(low / unit - HIDDEN) * unit, floor(high / unit + HIDDEN) * unit
        values = [first, 0.0, last] if first < 0 < last else [first, last]
        return unit, [self._stands(value) for value in values]

    def _stands(self, value: float) -> float:
        return copysign(sqrt(abs(value)), value) if self._is_root else value

    def _line(self) -> float:
        """Return how many pixels two labels are apart at least."""
        return LINE * QFontMetricsF(self.font()).height()

    def tickStrings(self, values: list[float], scale: float, spacing: float) -> list[str]:
        """Return the labels, all with as many places behind the point; pyqtgraph calls it."""
        if self._is_log:
            return [number_text(10.0**place, 3) for place in values]
        if self._is_root:
            values = [place * abs(place) for place in values]
        return super().tickStrings(values, scale, spacing)


def _round_values(high: float, gap: float) -> list[float]:
    """Return numbers of one digit, the largest first, whose roots and 0 are ``gap`` apart."""
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


class ColorBar(PlotArea):
    """All shades, the lowest below, as cells that are lines and not a bitmap on paper too."""

    def __init__(self, beside: PlotArea) -> None:
        super().__init__({"right": ColorAxis()})
        self.levels: Levels = (0.0, 1.0)
        self._cells: Cells | None = None
        self.setRange(QRectF(0, 0, 1, SHADES))
        self.layout.setColumnFixedWidth(1, WIDTH)
        # A title reaches beyond its axis by a pixel.
        self.layout.setContentsMargins(1, 1, 3, 1)
        # Its numbers are values, and not the shades' own.
        self.getAxis("right").unlinkFromView()
        # To the right of the plot's own right axis.
        beside.layout.addItem(self, 2, 5)
        beside.layout.setColumnFixedWidth(4, GAP)

    @property
    def room(self) -> float:
        """How wide the bar is with its labels and its title."""
        left, _, right, _ = self.margins
        return float(left + WIDTH + self.getAxis("right").maximumWidth() + right)

    def fit(self, height: float) -> None:
        """Be wide enough for the labels of a bar that is no higher than that."""
        self.getAxis("right").fit(height)

    def show_scale(self, scale: ColorScale, title: str, color: str, pen: QPen) -> None:
        """Draw the colours from that of the lowest value to that of the highest."""
        self.levels = scale.levels
        if self._cells is not None:
            self.removeItem(self._cells)
        shades = np.arange(float(SHADES))[:, None]
        self._cells = Cells(shades, ColorScale((0.0, SHADES - 1.0), scale.table))
        self.addItem(self._cells)
        axis = self.getAxis("right")
        axis.dress(title, color, pen)
        axis.show_scale(scale)
