"""How tests look at a plot: its pixels, its colours, and what a mouse over it shows."""

import numpy as np
from PySide6.QtCore import QEvent, QPoint, QPointF, QRectF, Qt
from PySide6.QtGui import QImage, QMouseEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget

from bertviewer.plots.canvas_plot import CanvasPlot
from bertviewer.plots.heatmap import Heatmap
from bertviewer.plots.xy_plot import XYPlot

LOWEST, HIGHEST = "#440154", "#fde725"
"""Viridis' two ends."""


def box(plot: CanvasPlot) -> QRectF:
    """Return the rectangle of lines, bars or cells."""
    if isinstance(plot, XYPlot):
        return plot.layout_of_axes().rect
    assert isinstance(plot, Heatmap)
    layout = plot.layout_of_cells()
    return QRectF() if layout is None else layout.cells


def position(plot: CanvasPlot, x: float, y: float) -> QPointF:
    """Return where x and y, or a column and a row, are in the widget."""
    if isinstance(plot, XYPlot):
        return plot.layout_of_axes().position(x, y)
    assert isinstance(plot, Heatmap)
    layout = plot.layout_of_cells()
    assert layout is not None
    return layout.rect(y, x, 0, 0).topLeft()


def pixel(plot: CanvasPlot, x: float, y: float) -> QPoint:
    return position(plot, x, y).toPoint()


def color(plot: CanvasPlot, x: float, y: float) -> str:
    """Return the colour at x and y, or at a column and a row."""
    return plot.grab().toImage().pixelColor(pixel(plot, x, y)).name()


def hover(plot: QWidget, place: QPoint) -> None:
    """Move the mouse there; QTest moves the screen's cursor, and this has no screen."""
    event = QMouseEvent(
        QEvent.Type.MouseMove,
        QPointF(place),
        QPointF(plot.mapToGlobal(place)),
        Qt.MouseButton.NoButton,
        Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier,
    )
    QApplication.sendEvent(plot, event)


def leave(plot: QWidget) -> None:
    """Move the mouse out of the plot."""
    QApplication.sendEvent(plot, QEvent(QEvent.Type.Leave))


def click(plot: QWidget, place: QPoint, button: Qt.MouseButton = Qt.MouseButton.LeftButton) -> None:
    QTest.mouseClick(plot, button, pos=place)


def colors(plot: QWidget) -> set[str]:
    """Return all colours in the plot's picture."""
    return colors_of(plot.grab().toImage())


def colors_of(image: QImage) -> set[str]:
    return {f"#{number & 0xFFFFFF:06x}" for number in np.unique(numbers(image)).tolist()}


def numbers(image: QImage) -> "np.ndarray[tuple[int, ...], np.dtype[np.uint32]]":
    """Return the pixels [height, width]."""
    plain = image.convertToFormat(QImage.Format.Format_RGB32)
    pixels = np.frombuffer(plain.constBits(), dtype=np.uint32)
    return pixels.reshape(plain.height(), plain.width()).copy()
