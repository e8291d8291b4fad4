"""How tests look at a plot: its pixels, its colours, and what a mouse over it tells."""

import numpy as np
import pyqtgraph
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QImage, QMouseEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget

from bertviewer.plots.plot import Plot

LOWEST, HIGHEST = "#440154", "#fde725"
"""Viridis' two ends."""


def scene(plot: Plot, x: float, y: float) -> QPointF:
    """Return where a point of the plot's axes is in the scene."""
    position: QPointF = plot.area.vb.mapViewToScene(QPointF(x, y))
    return position


def pixel(plot: Plot, x: float, y: float) -> QPoint:
    """Return where it is in the widget."""
    position: QPoint = plot.mapFromScene(scene(plot, x, y))
    return position


def color(plot: Plot, x: float, y: float) -> str:
    """Return the colour at a point of the plot's axes."""
    name: str = plot.grab().toImage().pixelColor(pixel(plot, x, y)).name()
    return name


def surface(plot: QWidget) -> QWidget:
    """Return the widget that gets the mouse's events."""
    return plot.viewport() if isinstance(plot, Plot) else plot


def set_ticks(plot: Plot, side: str) -> list[tuple[float, str]] | None:
    """Return the places and texts that an axis was given; ``None`` where it finds its own."""
    # pyqtgraph takes them, and has no way to ask for them.
    levels = plot.area.getAxis(side)._tickLevels
    return None if levels is None else [tick for level in levels for tick in level]


def hover(plot: QWidget, place: QPoint) -> None:
    """Move the mouse there; QTest's own way moves the screen's cursor, and this has no screen."""
    pyqtgraph.setConfigOption("mouseRateLimit", 0)  # else it drops moves that follow fast
    event = QMouseEvent(
        QEvent.Type.MouseMove,
        QPointF(place),
        QPointF(surface(plot).mapToGlobal(place)),
        Qt.MouseButton.NoButton,
        Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier,
    )
    QApplication.sendEvent(surface(plot), event)


def leave(plot: QWidget) -> None:
    """Move the mouse out of the plot."""
    QApplication.sendEvent(plot, QEvent(QEvent.Type.Leave))


def click(plot: QWidget, place: QPoint, button: Qt.MouseButton = Qt.MouseButton.LeftButton) -> None:
    QTest.mouseClick(surface(plot), button, pos=place)


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
