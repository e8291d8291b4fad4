"""A grid that a person looks into: the wheel goes nearer, a drag moves it."""

from PySide6.QtCore import QPointF, Qt, Signal
from PySide6.QtGui import QMouseEvent, QWheelEvent
from PySide6.QtWidgets import QWidget

from bertviewer.plots.grid_plot import GridPlot

NOTCH = 120
"""What a wheel turns by one notch, in Qt's units."""


class ZoomPlot(GridPlot):
    """Tells what a person wishes to see, in parts of what is seen: it draws what it is given.

    ``zoomed`` carries where the mouse is, across and down, from 0 to 1, and the notches nearer.
    ``dragged`` carries how far the picture was moved, to the right and down.
    """

    zoomed = Signal(float, float, int)
    dragged = Signal(float, float)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._held: QPointF | None = None
        self._turned = 0

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Tell whole notches; Qt calls it."""
        event.accept()
        place = self._part(event.position())
        # Touchpads turn by less than a notch at a time.
        self._turned += event.angleDelta().y()
        notches = int(self._turned / NOTCH)
        self._turned -= notches * NOTCH
        if place is not None and notches:
            self.zoomed.emit(place.x(), place.y(), notches)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Take hold of the picture; Qt calls it."""
        super().mousePressEvent(event)
        event.accept()
        if event.button() == Qt.MouseButton.LeftButton:
            self._held = self._part(event.position())

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Tell how far it was dragged; Qt calls it."""
        super().mouseReleaseEvent(event)
        event.accept()
        held, self._held = self._held, None
        there = self._part(event.position())
        if held is not None and there is not None and there != held:
            self.dragged.emit(there.x() - held.x(), there.y() - held.y())

    def _part(self, position: QPointF) -> QPointF | None:
        """Return a position in the widget as parts of the grid, ``None`` beside it."""
        if self.chart is None:
            return None
        rows, columns = self.chart.values.shape
        scene = self.mapToScene(position.toPoint())
        point = self.area.vb.mapSceneToView(scene)
        part = QPointF(point.x() / columns, point.y() / rows)
        return part if 0 <= part.x() <= 1 and 0 <= part.y() <= 1 else None
