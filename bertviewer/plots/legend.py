"""The names of what a plot shows, in as many rows as they need."""

from collections.abc import Sequence
from dataclasses import dataclass

import pyqtgraph as pg
from pyqtgraph.graphicsItems.ScatterPlotItem import drawSymbol
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QFont, QFontMetricsF, QPainter, QPen

from bertviewer.plots.theme import PlotTheme

POINTS = 8
ROW, MARGIN, SAMPLE, GAP = 19, 8, 24, 14  # pixels; a sample stands before each name
MOST_HEIGHT = 0.4
"""The legend takes no more of the plot's height than this, or its one row."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A name with its sample: a line with a symbol on it if it has one ("" is none), or a box."""

    label: str
    pen: QPen
    symbol: str | None
    brush: QBrush
    edge: QPen


@dataclass(frozen=True, slots=True)
class _Spot:
    """Where an entry stands, and what is left of its name."""

    entry: Entry
    x: float
    row: int
    text: str
    width: float


class Legend(pg.GraphicsObject):  # type: ignore[misc]
    """Entries side by side at the top of a plot, in further rows where one is full.

    Names that would take too many rows are cut in the middle. Texts are plain: names of modules
    and tokens come from strangers.
    """

    def __init__(self, box: pg.ViewBox) -> None:
        super().__init__(box)
        self.setZValue(100)
        self._entries: tuple[Entry, ...] = ()
        self._spots: list[_Spot] = []
        self._color, self._background = QColor(), QColor()
        self._font = QFont()
        self._size = (0.0, 0.0)

    def set_entries(self, entries: Sequence[Entry], theme: PlotTheme, font: QFont) -> None:
        """Show other names; ``arrange()`` has to follow."""
        self._entries = tuple(entries)
        self._color, self._background = QColor(theme.foreground), QColor(theme.background)
        self._font = QFont(font)
        self._font.setPointSize(POINTS)

    def labels(self) -> tuple[str, ...]:
        """Return the names in full."""
        return tuple(entry.label for entry in self._entries)

    def arrange(self, width: float, height: float) -> float:
        """Find every name's place in a plot of that size; return the height that they take."""
        rows = max(1, int((MOST_HEIGHT * height - MARGIN) / ROW))
        metrics = QFontMetricsF(self._font)
        names = [metrics.horizontalAdvance(entry.label) + 1 for entry in self._entries]
        longest = max(names, default=0.0)
        self._spots = self._arranged(metrics, width, longest)
        while self._spots and self._spots[-1].row >= rows and longest > 3 * ROW:
            longest *= 0.8
            self._spots = self._arranged(metrics, width, longest)
        self.prepareGeometryChange()
        used = (self._spots[-1].row + 1) * ROW + MARGIN if self._spots else 0.0
        self._size = (width, used)
        self.update()
        return used

    def _arranged(self, metrics: QFontMetricsF, width: float, longest: float) -> list[_Spot]:
        longest = min(longest, width - SAMPLE - 2 * GAP)
        x, row, spots = float(GAP), 0, []
        for entry in self._entries:
            text = metrics.elidedText(entry.label, Qt.TextElideMode.ElideMiddle, longest + 1)
            needed = metrics.horizontalAdvance(text) + 1
            if x > GAP and x + SAMPLE + needed > width:
                x, row = float(GAP), row + 1
            spots.append(_Spot(entry, x, row, text, needed))
            x += SAMPLE + needed + GAP
        return spots

    def boundingRect(self) -> QRectF:
        """Return the rectangle of all names; Qt calls it."""
        return QRectF(0, 0, *self._size)

    def paint(self, painter: QPainter, *_: object) -> None:
        """Draw; Qt calls it."""
        painter.setFont(self._font)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        for spot in self._spots:
            middle = MARGIN / 2 + (spot.row + 0.5) * ROW
            # The mark of what is selected runs behind the names.
            top = middle - ROW / 2 if spot.row else 0.0
            behind = QRectF(spot.x - 3, top, SAMPLE + spot.width + 6, middle + ROW / 2 - top)
            painter.fillRect(behind, self._background)
            self._paint_sample(painter, spot.entry, spot.x, middle)
            painter.setPen(self._color)
            box = QRectF(spot.x + SAMPLE, middle - ROW / 2, spot.width + 2, ROW)
            painter.drawText(box, int(Qt.AlignmentFlag.AlignVCenter), spot.text)

    def _paint_sample(self, painter: QPainter, entry: Entry, x: float, middle: float) -> None:
        length = SAMPLE - 6
        painter.setPen(entry.pen)
        painter.setBrush(entry.brush)
        if entry.symbol is None:
            painter.drawRect(QRectF(x + 4, middle - 5, 10, 10))
            return
        painter.drawLine(QPointF(x, middle), QPointF(x + length, middle))
        if entry.symbol:
            painter.save()
            painter.translate(x + length / 2, middle)
            drawSymbol(painter, entry.symbol, 6, entry.edge, entry.brush)
            painter.restore()
