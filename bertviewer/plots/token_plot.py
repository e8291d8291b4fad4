"""What is the same of all pictures of a grid of tokens: a person looks into them from near."""

from html import escape

from PySide6.QtCore import QEvent, QPointF, Qt, Signal
from PySide6.QtGui import QHelpEvent, QKeyEvent, QMouseEvent, QWheelEvent
from PySide6.QtWidgets import QApplication, QToolTip, QWidget

from bertviewer.charts.chart import GridChart
from bertviewer.charts.levels import Levels, levels_of
from bertviewer.plots.painted import PaintedPlot

NOTCH = 120
"""What a wheel turns by one notch, in Qt's units."""
MOVED = 0.25
"""An arrow moves what is seen by this part of it."""


class TokenPlot(PaintedPlot):
    """A grid of tokens, which a subclass draws in its way.

    The wheel, + and − zoom, a drag moves it, a double click or 0 shows all. What is pressed and not
    dragged is clicked. ``looked`` says that another part is seen.
    """

    looked = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.chart: GridChart | None = None
        self.levels: Levels = (0.0, 1.0)
        self.setMinimumSize(120, 100)
        self._pressed: QPointF | None = None
        self._is_dragged = False

    def take(self, chart: GridChart | None) -> None:
        """Get ready to draw a chart, which is not empty, or nothing."""
        raise NotImplementedError

    def look_like(self, other: "TokenPlot") -> None:
        """See the same part as another plot, if it is of the kind."""
        raise NotImplementedError

    def zoom_at(self, position: QPointF, notches: float) -> None:
        """Go nearer by notches, or farther; what is at a position stays there."""
        raise NotImplementedError

    def move_by(self, offset: QPointF) -> None:
        """Move what is seen by pixels."""
        raise NotImplementedError

    def fit(self) -> None:
        """Show all of it."""
        raise NotImplementedError

    def name_at(self, position: QPointF) -> str:
        """Return the whole of the name at a position, "" where there is none."""
        raise NotImplementedError

    def step(self, key: int) -> bool:
        """Go to what an arrow, Home or End leads to; return whether there is something."""
        raise NotImplementedError

    def show_chart(self, chart: GridChart | None) -> None:
        """Draw a chart, in place of the one drawn before; one of the same tokens from as near."""
        shown = chart if chart is not None and chart.values.size else None
        if shown is None or self.chart is None or shown.rows != self.chart.rows:
            self.fit()
        self.chart = shown
        if shown is not None:
            self.levels = shown.levels or levels_of(shown.values, shown.is_signed)
        self.take(shown)
        self.update()

    def row_beside(self, key: int, back: Qt.Key, forth: Qt.Key) -> int | None:
        """Return the row that a key leads to from the selected one, ``None`` without any."""
        chart = self.chart
        if chart is None or not chart.row_keys:
            return None
        rows, _ = chart.chosen(self.selection)
        row, last = (rows[0] if rows else -1), len(chart.rows) - 1
        ways = {back: row - 1, forth: row + 1, Qt.Key.Key_Home: 0, Qt.Key.Key_End: last}
        found = ways.get(Qt.Key(key))
        return found if found is not None and 0 <= found <= last else None

    def go_to_row(self, row: int, text: str, at: QPointF) -> None:
        """Select a row, and tell what is there, and where that is in the widget."""
        assert self.chart is not None
        self.clicked.emit(self.chart.row_keys[row])
        self.reached.emit(text, at.toPoint())

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Zoom about the pointer; Qt calls it."""
        event.accept()
        if notches := event.angleDelta().y() / NOTCH:
            self.zoom_at(event.position(), notches)
            self.looked.emit()
            self.hovered.emit(self.text_at(event.position()))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Take hold of the picture; Qt calls it."""
        if event.button() == Qt.MouseButton.LeftButton:
            self._pressed, self._is_dragged = event.position(), False

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Move what is held, or tell what is under the mouse; Qt calls it."""
        if self._pressed is None:
            super().mouseMoveEvent(event)
            return
        offset = event.position() - self._pressed
        far = QApplication.startDragDistance()
        if self._is_dragged or offset.manhattanLength() >= far:
            self._is_dragged, self._pressed = True, event.position()
            self.move_by(offset)
            self.looked.emit()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Tell what was clicked, if nothing was dragged; Qt calls it."""
        held, self._pressed = self._pressed, None
        if held is not None and not self._is_dragged:
            self.click_at(event.position())

    def click_at(self, position: QPointF) -> None:
        """Tell what is at a position."""
        if (place := self.place_at(position)) is not None:
            self.clicked.emit(place)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """Show all; Qt calls it."""
        if event.button() == Qt.MouseButton.LeftButton:
            self.fit()
            self.looked.emit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Zoom, or go to what is beside; Qt calls it."""
        key, middle = event.key(), QPointF(self.rect().center())
        if key in (Qt.Key.Key_Plus, Qt.Key.Key_Equal):
            self.zoom_at(middle, 1)
        elif key == Qt.Key.Key_Minus:
            self.zoom_at(middle, -1)
        elif key == Qt.Key.Key_0:
            self.fit()
        elif not self.step(key):
            super().keyPressEvent(event)
            return
        self.looked.emit()

    def event(self, event: QEvent) -> bool:
        """Show the whole of a name that is cut; Qt calls it."""
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            name = self.name_at(QPointF(event.pos()))
            if name:
                # Qt takes what looks like markup for markup, and a token may be called <s>.
                QToolTip.showText(event.globalPos(), f"<p>{escape(name)}</p>", self)
                return True
        return super().event(event)
