"""Heatmap of a part of a large tensor, which asks for another part when zoomed or dragged."""

from PySide6.QtCore import QPointF, Qt, Signal
from PySide6.QtGui import QMouseEvent, QWheelEvent
from PySide6.QtWidgets import QWidget
from typing_extensions import override

from bertviewer.plots.canvas_plot import NOTCH
from bertviewer.plots.heatmap import Heatmap


class RegionHeatmap(Heatmap):
    """A heatmap of a region of a large tensor: wheel and drag ask for another region.

    Signals:
        zoomed: the position across and down, from 0 to 1, and the notches to zoom in.
        dragged: the distance to the right and down, as a fraction of the plot.
    """

    zoomed = Signal(float, float, int)
    dragged = Signal(float, float)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._held: QPointF | None = None
        self._turned = 0

    @override
    def wheelEvent(self, event: QWheelEvent) -> None:
        event.accept()
        place = self._fraction(event.position())
        # Touchpads turn by less than a notch at a time.
        self._turned += event.angleDelta().y()
        notches = int(self._turned / NOTCH)
        self._turned -= notches * NOTCH
        if place is not None and notches:
            self.zoomed.emit(place.x(), place.y(), notches)

    @override
    def mousePressEvent(self, event: QMouseEvent) -> None:
        super().mousePressEvent(event)
        if event.button() == Qt.MouseButton.LeftButton:
            self._held = self._fraction(event.position())

    @override
    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        held, self._held = self._held, None
        there = self._fraction(event.position()) if self._is_dragged else None
        super().mouseReleaseEvent(event)
        if held is not None and there is not None:
            self.dragged.emit(there.x() - held.x(), there.y() - held.y())

    def _fraction(self, position: QPointF) -> QPointF | None:
        layout = self.layout_of_cells()
        if layout is None or not layout.cells.contains(position):
            return None
        cells = layout.cells
        x, y = (position - cells.topLeft()).toTuple()
        return QPointF(x / cells.width(), y / cells.height())
