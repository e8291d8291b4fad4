"""Nodes and widgets of the map, and mouse events on them."""

from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import QApplication

from bertviewer.charts.graph.drawing import Drawing, DrawnNode, Rect
from bertviewer.charts.map.values import MapMeasure
from bertviewer.ui.map.canvas import FlowCanvas
from bertviewer.ui.map.header import MeasureButton
from bertviewer.ui.map.strip import ModelStrip
from bertviewer.ui.map.tab import MapTab
from bertviewer.ui.map.viewport import Viewport
from bertviewer.ui.state.workspace import Workspace
from tests.ui.finding import find

LAYER = "encoder.layer.1"


def center(rect: Rect) -> QPoint:
    x, y = rect.middle
    return QPoint(round(x), round(y))


def canvas_of(tab: MapTab) -> FlowCanvas:
    return find(tab, FlowCanvas, "mapCanvas")


def strip_of(tab: MapTab) -> ModelStrip:
    return find(tab, ModelStrip, "mapStrip")


def viewport_of(tab: MapTab) -> Viewport:
    viewport = canvas_of(tab).viewport
    assert viewport is not None
    return viewport


def drawing_of(tab: MapTab) -> Drawing:
    """Return the drawing of the opened part."""
    drawing = viewport_of(tab).cache.drawing(viewport_of(tab).scope)
    assert drawing is not None
    return drawing


def node(tab: MapTab, name: str) -> DrawnNode:
    """Return the node of the opened part that has this name, operation or end of its path."""
    return next(
        placed
        for placed in drawing_of(tab).nodes
        if name in (placed.node.name, placed.node.operation)
        or (placed.node.path or "").endswith(f".{name}")
    )


def middle(tab: MapTab, name: str) -> QPoint:
    """Return the position of a node of the opened part in the canvas."""
    return center(viewport_of(tab).camera.seen(node(tab, name).rect))


def wheel(
    canvas: FlowCanvas, place: QPoint, notches: float, keys: Qt.KeyboardModifier | None = None
) -> None:
    """Turn the wheel; a positive number zooms in."""
    event = QWheelEvent(
        QPointF(place),
        canvas.mapToGlobal(QPointF(place)),
        QPoint(),
        QPoint(0, round(120 * notches)),
        Qt.MouseButton.NoButton,
        keys or Qt.KeyboardModifier.NoModifier,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    QApplication.sendEvent(canvas, event)


def selected(workspace: Workspace) -> str | None:
    return workspace.selection.place.path


def marked(tab: MapTab) -> set[str]:
    """Return the ids of the selected nodes."""
    return {ref.key for ref in canvas_of(tab).marked}


def choose(tab: MapTab, measure: MapMeasure) -> None:
    """Choose what colours show."""
    button = find(tab, MeasureButton, "mapMeasure")
    button.choose(measure)
    button.chosen.emit(measure)
