"""What the colours of the map mean, below it."""

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
from bertviewer.ui.theme.theme_of import theme_of

_SQUARE, _BETWEEN, _NEAR, _BAR = 9.0, 18.0, 6.0, 110.0
_HEIGHT = 22


class LegendBar(QWidget):
    """Squares with words, or a bar of colours between two values; hints stand at the right."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("mapLegend")
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self._legend = Legend()
        self._hint = ""

    @property
    def legend(self) -> Legend:
        """What is shown."""
        return self._legend

    def show_hint(self, hint: str) -> None:
        """Say what can be done with the picture above."""
        self._hint = hint
        self.update()

    def show_legend(self, legend: Legend) -> None:
        """Show another legend."""
        self._legend = legend
        said = [legend.title, *(key.text for key in legend.keys)]
        if legend.scale is not None:
            said.append(f"{legend.scale.least} – {legend.scale.most}")
        self.setAccessibleName(", ".join(text for text in said if text))
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
        base = (self.height() + metrics.ascent() - metrics.descent()) / 2
        x = 0.0

        def write(text: str) -> None:
            nonlocal x
            painter.setPen(muted)
            painter.drawText(QPointF(x, base), text)
            x += metrics.horizontalAdvance(text)

        legend = self._legend
        if legend.title:
            write(legend.title)
            x += _BETWEEN / 2
        for key in legend.keys:
            painter.setPen(QPen(QColor(theme_of(self).border("plain")), 0.6))
            painter.setBrush(QColor(key.color))
            square = QRectF(x, (self.height() - _SQUARE) / 2, _SQUARE, _SQUARE)
            painter.drawRoundedRect(square, 2.5, 2.5)
            x += _SQUARE + _NEAR
            write(key.text)
            x += _BETWEEN
        if legend.scale is not None:
            write(legend.scale.least)
            x = self._bar(painter, x + _NEAR, legend.scale)
            write(legend.scale.most)
            x += _BETWEEN
        width = metrics.horizontalAdvance(self._hint)
        if x + width < self.width():
            painter.setPen(muted)
            painter.drawText(QPointF(self.width() - width, base), self._hint)
        painter.end()

    def _bar(self, painter: QPainter, x: float, scale: Scale) -> float:
        rect = QRectF(x, (self.height() - _SQUARE) / 2, _BAR, _SQUARE)
        gradient = QLinearGradient(rect.topLeft(), rect.topRight())
        for place, color in enumerate(scale.colors):
            gradient.setColorAt(place / max(len(scale.colors) - 1, 1), QColor(color))
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(gradient)
        painter.drawRoundedRect(rect, 2.5, 2.5)
        return x + _BAR + _NEAR
