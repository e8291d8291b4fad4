"""Pixels and colours of plots, mouse events on them, and pictures for reference images."""

import xml.etree.ElementTree as ET

import numpy as np
from PySide6.QtCore import QEvent, QPoint, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QImage, QMouseEvent, QPainter, QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget

from bertviewer.plots.canvas_plot import CanvasPlot
from bertviewer.plots.heatmap import Heatmap
from bertviewer.plots.xy_plot import XYPlot

SVG = "{http://www.w3.org/2000/svg}"
ISOLATES = str.maketrans("", "", "\u2067\u2069")
"""May surround a right-to-left text."""
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
    """Move the mouse; ``QTest.mouseMove`` moves the cursor, which the offscreen platform lacks."""
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


def wheel(plot: QWidget, place: QPointF, delta: int) -> None:
    """Turn the wheel by ``delta`` eighths of a degree; 120 is a notch."""
    event = QWheelEvent(
        place, plot.mapToGlobal(place), QPoint(), QPoint(0, delta),
        Qt.MouseButton.NoButton, Qt.KeyboardModifier.NoModifier,
        Qt.ScrollPhase.NoScrollPhase, False,
    )  # fmt: skip
    QApplication.sendEvent(plot, event)


def drag(plot: QWidget, start: QPoint, end: QPoint) -> None:
    QTest.mousePress(plot, Qt.MouseButton.LeftButton, pos=start)
    hover(plot, end)
    QTest.mouseRelease(plot, Qt.MouseButton.LeftButton, pos=end)


def press(plot: QWidget, *keys: Qt.Key) -> None:
    for key in keys:
        QTest.keyClick(plot, key)


def sheet(*pictures: QImage, columns: int = 2) -> QImage:
    """Return pictures in rows of ``columns``, as one reference image of few colours."""
    columns = min(columns, len(pictures))
    width = max(picture.width() for picture in pictures) + 4
    height = max(picture.height() for picture in pictures) + 4
    rows = -(-len(pictures) // columns)
    whole = QImage(columns * width, rows * height, QImage.Format.Format_RGB32)
    whole.fill(QColor("gray"))
    painter = QPainter(whole)
    for number, picture in enumerate(pictures):
        painter.drawImage(number % columns * width, number // columns * height, picture)
    painter.end()
    return whole.convertToFormat(QImage.Format.Format_RGB16)


def grab(plot: QWidget, width: int, height: int) -> QImage:
    """Return a plot in a size as the screen shows it."""
    plot.resize(width, height)
    return plot.grab().toImage()


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


def texts(svg: str) -> list[str]:
    """Return the texts of an SVG."""
    return [(text.text or "").translate(ISOLATES) for text in ET.fromstring(svg).iter(f"{SVG}text")]
