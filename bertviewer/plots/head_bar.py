"""The colours of all heads as a bar beside them, with the values that they stand for."""

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPen

from bertviewer.charts.theme import Theme
from bertviewer.core.util.numbers import with_minus
from bertviewer.plots.cells import are_rectangles, draw_rectangles
from bertviewer.plots.color_bar import WIDTH, ColorAxis
from bertviewer.plots.color_scale import SHADES, ColorScale
from bertviewer.plots.hatch import draw_hatch

BEFORE, SPACE = 14.0, 7.0  # pixels, left of the bar and of its labels
BELOW = 8.0  # pixels between the bar and what stands below it
FAR = 200.0  # pixels that no label is wide
USUAL = with_minus("-0.000")
"""There is room for it in any case: with other colours nothing moves then."""

_RIGHT_OF = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)


class HeadBar:
    """A bar that a painter draws; its labels are those of the bars that plots have."""

    def __init__(self, font: QFont) -> None:
        self._font = font
        self._axis = ColorAxis()
        self._axis.setFont(font)

    def room(self, scale: ColorScale, height: float, masked: str = "", title: str = "") -> float:
        """Return how wide a bar may be with its labels, if it is not higher than that."""
        self._axis.show_scale(scale)
        texts = (USUAL, masked, *(text for _, text in self._axis.labels(height)))
        wide = max(map(QFontMetricsF(self._font).horizontalAdvance, texts))
        beside = BEFORE + WIDTH + SPACE + wide
        return beside + QFontMetricsF(self._font).height() + SPACE if title else beside

    def draw_title(
        self, painter: QPainter, beside: QRectF, end: QPointF, title: str, theme: Theme
    ) -> None:
        """Write along a bar what its values are; ``end`` is the corner of the room there is."""
        metrics = QFontMetricsF(self._font)
        long = min(metrics.horizontalAdvance(title) + 1, end.y())
        middle = min(max(beside.center().y(), long / 2), end.y() - long / 2)
        painter.save()
        painter.setFont(self._font)
        painter.setPen(QColor(theme.muted))
        painter.translate(end.x() - metrics.height(), middle)
        painter.rotate(-90)
        text = metrics.elidedText(title, Qt.TextElideMode.ElideMiddle, long)
        line = QRectF(-long / 2, 0, long, metrics.height())
        painter.drawText(line, int(Qt.AlignmentFlag.AlignCenter), text)
        painter.restore()

    def draw(
        self, painter: QPainter, beside: QRectF, scale: ColorScale, theme: Theme, masked: str = ""
    ) -> None:
        """Draw the colours, the largest value's above, to the right of a rectangle.

        Where cells are ``masked``, that word stands below, beside their hatch.
        """
        bar = QRectF(beside.right() + BEFORE, beside.top(), WIDTH, beside.height())
        if masked:
            self._draw_masked(painter, bar, masked, theme)
            bar.setBottom(max(bar.top() + 1, bar.bottom() - WIDTH - BELOW))
        shades = np.arange(SHADES - 1.0, -1.0, -1.0)[:, None]
        every = ColorScale((0.0, SHADES - 1.0), scale.table)
        if are_rectangles(painter, shades.size):
            draw_rectangles(painter, bar, shades, every)
        else:
            painter.drawImage(bar, every.picture(shades))
        painter.setPen(QColor(theme.muted))
        painter.setFont(self._font)
        high = QFontMetricsF(self._font).height()
        self._axis.show_scale(scale)
        for part, text in self._axis.labels(bar.height()):
            y = bar.bottom() - part * bar.height() - high / 2
            painter.drawText(QRectF(bar.right() + SPACE, y, FAR, high), _RIGHT_OF, text)

    def _draw_masked(self, painter: QPainter, bar: QRectF, word: str, theme: Theme) -> None:
        """Draw what masked cells look like at the foot of a bar, and the word beside it."""
        swatch = QRectF(bar.left(), bar.bottom() - WIDTH, WIDTH, WIDTH)
        draw_hatch(painter, swatch, np.ones((1, 1), dtype=np.bool_), theme)
        painter.setPen(QPen(QColor(theme.muted), 1))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRect(swatch)
        painter.setFont(self._font)
        beside = QRectF(swatch.right() + SPACE, swatch.top(), FAR, swatch.height())
        painter.drawText(beside, _RIGHT_OF, word)
