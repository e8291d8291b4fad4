"""Drawing of axes next to a plot's rectangle: labels, titles and lines through the plot."""

from collections.abc import Iterable, Sequence
from math import ceil

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPen
from PySide6.QtWidgets import QApplication

from bertviewer.charts.theme import SMALL, Theme
from bertviewer.plots.fonts import sized
from bertviewer.plots.ticks import Tick
from bertviewer.plots.token_names import draw_upright

TICK = 4.0
"""Pixels between a plot and its labels."""
TITLE_MARGIN = 8.0
LEFT, TOP, RIGHT, BOTTOM = 4.0, 8.0, 7.5, 1.5
"""Margins of a plot: half a letter of the outermost labels extends beyond their axes."""
GRID_ALPHA = 38
"""Opacity of lines through a plot, of 255, unless they are dense."""
_FAR = 1_000.0

_RIGHT = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
_TOP = int(Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignTop)


def left_room(label_width: float, title: str) -> float:
    """Return the pixels left of a plot whose labels are ``label_width`` pixels wide."""
    return LEFT + label_width + TICK + _title_room(title)


def _title_room(title: str) -> float:
    return 0.8 * (ceil(axis_metrics().height()) + TITLE_MARGIN) if title else 0.0


def axis_font() -> QFont:
    """Return the font of labels and titles, in the text size of the application."""
    return sized(QApplication.font(), SMALL)


class Axes:
    """The axes of a plot in a widget of a size in pixels; ``titles`` are those of x and y.

    Attributes:
        rect: the rectangle of the plot itself.
        metrics: of the labels' font.
        label_height: the height of the labels below the plot.
    """

    def __init__(
        self,
        size: tuple[float, float],
        titles: tuple[str, str],
        *,
        label_width: float,
        label_height: float,
        right: float = RIGHT,
        above: float = 0.0,
    ) -> None:
        self.font, self.label_height = axis_font(), label_height
        self.metrics = QFontMetricsF(self.font)
        self._x_title, self._y_title = titles
        left = left_room(label_width, self._y_title)
        self._below = int(label_height) + TICK + _title_room(self._x_title)
        width, height = size
        self.rect = QRectF(
            left,
            TOP + above,
            max(1.0, width - left - right),
            max(1.0, height - TOP - above - self._below - BOTTOM),
        )

    def draw_left(self, painter: QPainter, labels: Iterable[tuple[float, str]], color: str) -> None:
        """Draw labels, given with their y, and a rotated title."""
        self._begin(painter, color)
        high = self.metrics.height()
        right = self.rect.left() - TICK
        for y, text in labels:
            painter.drawText(QRectF(right - _FAR, y - high / 2, _FAR, high), _RIGHT, text)
        text = self._fitting(self._y_title, self.rect.height())
        wide = self.metrics.horizontalAdvance(text)
        painter.translate(
            LEFT - 1 + self.metrics.ascent(),
            self.rect.top() + int(self.rect.height() / 2 + wide / 2 + TICK) - TICK,
        )
        painter.rotate(-90)
        painter.drawText(QPointF(0, 0), text)
        painter.restore()

    def draw_bottom(
        self,
        painter: QPainter,
        labels: Iterable[tuple[float, str]],
        color: str,
        *,
        is_upright: bool = False,
    ) -> None:
        """Draw labels, given with their x, and a title below them."""
        self._begin(painter, color)
        top = self.rect.bottom() + TICK
        for x, text in labels:
            if is_upright:
                draw_upright(painter, QPointF(x, top), text, _FAR)
            else:
                painter.drawText(QRectF(x - _FAR / 2, top, _FAR, _FAR), _TOP, text)
        text = self._fitting(self._x_title, self.rect.width())
        wide, line = self.metrics.horizontalAdvance(text), ceil(self.metrics.height())
        x = self.rect.left() + int(self.rect.width() / 2 - wide / 2 - TICK) + TICK
        y = self.rect.bottom() + int(self._below - line - 3) + TICK + self.metrics.ascent()
        painter.drawText(QPointF(x, y), text)
        painter.restore()

    def draw_grid(
        self, painter: QPainter, ticks: Sequence[Tick], ys: Sequence[float], theme: Theme
    ) -> None:
        """Draw pale horizontal lines through the plot at ticks, whose positions are ``ys``."""
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        for level in (0, 1):
            at = [y for tick, y in zip(ticks, ys, strict=True) if tick.level == level]
            color = QColor(theme.muted)
            share = min(1.0, 0.05 * (self.rect.height() + 2) / (len(at) + 1))
            color.setAlpha(int(GRID_ALPHA / (level + 1) * share))
            painter.setPen(QPen(color, 1))
            for y in at:
                painter.drawLine(QPointF(self.rect.right(), y), QPointF(self.rect.left(), y))
        painter.restore()

    def _begin(self, painter: QPainter, color: str) -> None:
        painter.save()
        painter.setFont(self.font)
        painter.setPen(QColor(color))

    def _fitting(self, title: str, room: float) -> str:
        # The end of a title may say what it is the difference of: "…, B − A".
        return self.metrics.elidedText(title, Qt.TextElideMode.ElideMiddle, room)


def widest_number(ticks: Iterable[Tick], metrics: QFontMetricsF) -> float:
    """Return the width of a number axis, which is steady for ordinary numbers."""
    widest = max((metrics.horizontalAdvance(tick.text) for tick in ticks), default=0.0)
    return 30.0 if 20 <= widest <= 30 else widest


def axis_metrics() -> QFontMetricsF:
    """Return the metrics of ``axis_font()``."""
    return QFontMetricsF(axis_font())
