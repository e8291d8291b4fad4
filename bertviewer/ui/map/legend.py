"""Legend of the map: colours with texts, or a colour bar, and a hint at the right."""

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import (
    QColor,
    QFontMetricsF,
    QLinearGradient,
    QPainter,
    QPaintEvent,
    QPalette,
    QPen,
)
from PySide6.QtWidgets import QSizePolicy, QWidget
from typing_extensions import override

from bertviewer.charts.map.coloring import Legend, Scale
from bertviewer.charts.theme import SMALL
from bertviewer.plots.fonts import grown, sized, tabular
from bertviewer.ui.theme.appearance import theme_of

_SQUARE, _GAP, _SMALL_GAP, _BAR = 9.0, 18.0, 6.0, 110.0
_HEIGHT = 22


class LegendBar(QWidget):
    """One line; what does not fit is cut, and the hint is omitted."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("mapLegend")
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.legend = Legend()
        self._hint = ""

    def show_hint(self, hint: str) -> None:
        """Show how to use the view above."""
        self._hint = hint
        self.update()

    def show_legend(self, legend: Legend) -> None:
        """Show another legend."""
        self.legend = legend
        texts = [legend.title, *(key.text for key in legend.keys)]
        if legend.scale is not None:
            texts.append(f"{legend.scale.least} – {legend.scale.most}")
        self.setAccessibleName(", ".join(text for text in texts if text))
        self.update()

    @override
    def sizeHint(self) -> QSize:
        return QSize(300, grown(_HEIGHT))

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        font = tabular(sized(self.font(), SMALL))
        painter.setFont(font)
        metrics = QFontMetricsF(font)
        muted = self.palette().color(QPalette.ColorRole.PlaceholderText)
        baseline = (self.height() + metrics.ascent() - metrics.descent()) / 2
        legend, x = self.legend, 0.0

        def write(text: str) -> None:
            nonlocal x
            painter.setPen(muted)
            painter.drawText(QPointF(x, baseline), text)
            x += metrics.horizontalAdvance(text)

        if legend.title:
            write(legend.title)
            x += _GAP / 2
        for key in legend.keys:
            painter.setPen(QPen(QColor(theme_of(self).border("plain")), 0.6))
            painter.setBrush(QColor(key.color))
            square = QRectF(x, (self.height() - _SQUARE) / 2, _SQUARE, _SQUARE)
            painter.drawRoundedRect(square, 2.5, 2.5)
            x += _SQUARE + _SMALL_GAP
            write(key.text)
            x += _GAP
        if legend.scale is not None:
            write(legend.scale.least)
            self._paint_scale(painter, x + _SMALL_GAP, legend.scale)
            x += _BAR + 2 * _SMALL_GAP
            write(legend.scale.most)
            x += _GAP
        hint_width = metrics.horizontalAdvance(self._hint)
        if x + hint_width < self.width():
            x = self.width() - hint_width
            write(self._hint)
        painter.end()

    def _paint_scale(self, painter: QPainter, x: float, scale: Scale) -> None:
        rect = QRectF(x, (self.height() - _SQUARE) / 2, _BAR, _SQUARE)
        gradient = QLinearGradient(rect.topLeft(), rect.topRight())
        for number, color in enumerate(scale.colors):
            gradient.setColorAt(number / max(len(scale.colors) - 1, 1), QColor(color))
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(gradient)
        painter.drawRoundedRect(rect, 2.5, 2.5)
