"""What the axes of all plots share: calm numbers without lines, a title that is cut to its room."""

from html import escape
from typing import Any

import pyqtgraph as pg
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPen
from PySide6.QtWidgets import QApplication

from bertviewer.charts.theme import SMALL
from bertviewer.plots.fonts import sized

TICK = 4  # pixels of room between a plot and its numbers


class Axis(pg.AxisItem):  # type: ignore[misc]
    """An axis with a title in plain text: it may hold a token as ``<s>``."""

    _title, _color = "", ""  # pyqtgraph calls resizeEvent() while it is still building the axis

    def __init__(self, orientation: str) -> None:
        super().__init__(orientation, maxTickLength=0)
        self.setStyle(tickTextOffset=TICK)
        self.setPen(QPen(Qt.PenStyle.NoPen))
        self._dressed: tuple[QPen, str, str, int] | None = None
        self._take_font()
        # An axis in thousandths without a word about it would be read wrong.
        self.enableAutoSIPrefix(False)

    @property
    def title(self) -> str:
        """The title in full."""
        return self._title

    def dress(self, title: str, color: str, pen: QPen) -> None:
        """Write a title and draw labels in one colour, and lines right through the plot, if any."""
        dress = (pen, title, color, QApplication.font().pixelSize())
        if dress == self._dressed:
            return  # pyqtgraph lays out the title anew for each of them, which takes long
        self._dressed = dress
        self._take_font()
        self._title, self._color = title, color
        self.setTickPen(pen)
        self.setTextPen(QColor(color))
        self._write(self._fitting())

    def resizeEvent(self, event: Any = None) -> None:
        """Cut the title to the room there is now."""
        super().resizeEvent(event)
        # There is no label any more once the plot is closed.
        if self._title and self.label is not None:
            fitting = self._fitting()
            if escape(fitting) != self.labelText:
                self._write(fitting)

    def drawPicture(self, p: QPainter, axisSpec: Any, tickSpecs: Any, textSpecs: Any) -> None:
        """Draw lines through the plot and numbers, but no ticks; pyqtgraph calls it."""
        super().drawPicture(p, axisSpec, tickSpecs if self.grid else [], textSpecs)

    def _take_font(self) -> None:
        """Write in the window's font of now, whose size a person may have changed."""
        font = sized(QApplication.font(), SMALL)
        self.setFont(font)
        self.setStyle(tickFont=font)
        self.label.setFont(font)

    def _write(self, title: str) -> None:
        # pyqtgraph takes it for markup.
        self.setLabel(escape(title), color=self._color)
        # And it centers a title only when the axis changes its size.
        super().resizeEvent()

    def _fitting(self) -> str:
        size = self.size()
        room = size.height() if self.orientation in ("left", "right") else size.width()
        if room <= 0:
            return self._title  # not laid out yet
        metrics = QFontMetricsF(self.label.font())
        # Its end tells of a difference: "…, B − A".
        return metrics.elidedText(self._title, Qt.TextElideMode.ElideMiddle, room)
