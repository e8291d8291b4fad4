"""Symbols of points: pyqtgraph's shapes in a fixed size."""

from pyqtgraph.graphicsItems.ScatterPlotItem import Symbols
from PySide6.QtCore import QPointF
from PySide6.QtGui import QPainter, QTransform


def draw_symbol(painter: QPainter, name: str, size: float, center: QPointF) -> None:
    """Draw one of pyqtgraph's symbols with the painter's pen and brush; ``size`` is in pixels."""
    shape = QTransform.fromScale(size, size).map(Symbols[name])
    painter.drawPath(shape.translated(center))
