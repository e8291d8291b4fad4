"""What a person does on the map, and sees of it."""

from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import QApplication

from bertviewer.charts.graph.drawing import DrawnNode
from bertviewer.ui.map.canvas import FlowCanvas
from bertviewer.ui.map.strip import ModelStrip
from bertviewer.ui.map.tab import MapTab
from bertviewer.ui.map.viewport import Viewport
from bertviewer.ui.state.workspace import Workspace
from tests.ui.finding import find

LAYER = "encoder.layer.1"


def canvas_of(tab: MapTab) -> FlowCanvas:
    return find(tab, FlowCanvas, "mapCanvas")


def strip_of(tab: MapTab) -> ModelStrip:
    return find(tab, ModelStrip, "mapStrip")


def viewport_of(tab: MapTab) -> Viewport:
    viewport = canvas_of(tab).viewport
    assert viewport is not None
    return viewport


def node(tab: MapTab, name: str) -> DrawnNode:
    """Return the node of the opened part that has this name, operation or path's end."""
    drawing = viewport_of(tab).cache.drawing(viewport_of(tab).scope)
    assert drawing is not None
    return next(
        placed
        for placed in drawing.nodes
        if name in (placed.node.name, placed.node.operation)
        or (placed.node.path or "").endswith(f".{name}")
    )


def middle(tab: MapTab, name: str) -> QPoint:
    """Return where a node of the opened part is seen."""
    seen = viewport_of(tab).camera.seen(node(tab, name).rect)
    return QPoint(round(seen.x + seen.width / 2), round(seen.y + seen.height / 2))


def wheel(
    canvas: FlowCanvas, place: QPoint, notches: float, keys: Qt.KeyboardModifier | None = None
) -> None:
    """Turn the wheel: a positive number goes closer."""
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


def ringed(tab: MapTab) -> set[str]:
    return {marked.key for marked in canvas_of(tab).marked}
