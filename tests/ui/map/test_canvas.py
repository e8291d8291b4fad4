"""Moving, zooming, opening and selecting on the map."""

import pytest
from msgspec.structs import replace
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QContextMenuEvent
from PySide6.QtWidgets import QApplication, QMenu
from pytestqt.qtbot import QtBot

from bertviewer.charts.map.part_graphs import WHOLE, Scope
from bertviewer.charts.theme import DARK, LIGHT
from bertviewer.core.schema.flow import Flow, Flows, Node
from bertviewer.ui.map.tab import MapTab
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.theme.appearance import apply_appearance
from tests.core.walkthrough.small_walkthroughs import small
from tests.ui.finding import activate
from tests.ui.map.conftest import ShowMap
from tests.ui.map.map_hands import LAYER, canvas_of, middle, node, ringed, selected, viewport_of


def test_at_first_the_whole_model_is_seen(tab: MapTab) -> None:
    viewport = viewport_of(tab)
    assert canvas_of(tab).scope == WHOLE
    seen = viewport.camera.seen(viewport.cache.bounds(WHOLE))
    assert seen.x >= 0
    assert seen.y >= 0
    assert seen.right <= canvas_of(tab).width()
    assert seen.bottom <= canvas_of(tab).height()


def test_what_is_selected_elsewhere_is_opened_and_marked(tab: MapTab, workspace: Workspace) -> None:
    workspace.selection.select(f"{LAYER}.attention.self")
    assert canvas_of(tab).scope == Scope(LAYER)
    assert ringed(tab) == {node(tab, "attention").node.id}
    workspace.selection.select("embeddings.word_embeddings")
    assert canvas_of(tab).scope == Scope("embeddings")
    assert ringed(tab) == {node(tab, "word_embeddings").node.id}
    workspace.selection.select("encoder.layer.0")
    assert canvas_of(tab).scope == Scope("encoder.layer.0")
    workspace.selection.select("")
    assert canvas_of(tab).scope == WHOLE


def test_a_click_selects_and_opens_nothing(
    layer: MapTab, workspace: Workspace, qtbot: QtBot
) -> None:
    canvas = canvas_of(layer)
    qtbot.mouseClick(canvas, Qt.MouseButton.LeftButton, pos=middle(layer, "query"))
    assert selected(workspace) == f"{LAYER}.attention.self.query"
    assert canvas.scope == Scope(LAYER)
    assert ringed(layer) == {node(layer, "query").node.id}


def test_a_click_on_an_operation_selects_no_module(
    layer: MapTab, workspace: Workspace, qtbot: QtBot
) -> None:
    canvas = canvas_of(layer)
    qtbot.mouseClick(canvas, Qt.MouseButton.LeftButton, pos=middle(layer, "residual"))
    assert selected(workspace) == LAYER
    assert "residual" in canvas.accessibleDescription()


def test_a_double_click_opens_and_backspace_leaves(layer: MapTab, qtbot: QtBot) -> None:
    canvas = canvas_of(layer)
    place = middle(layer, "feed-forward")
    group = node(layer, "feed-forward").node.id
    qtbot.mouseDClick(canvas, Qt.MouseButton.LeftButton, pos=place)
    assert canvas.scope == Scope(LAYER, (group,))
    qtbot.keyClick(canvas, Qt.Key.Key_Backspace)
    assert canvas.scope == Scope(LAYER)
    assert canvas.cursor_node is not None
    assert canvas.cursor_node.key == group
    qtbot.keyClick(canvas, Qt.Key.Key_Backspace)
    assert canvas.scope == WHOLE
    qtbot.keyClick(canvas, Qt.Key.Key_Backspace)
    assert canvas.scope == WHOLE


def test_keys_walk_along_the_flow_and_enter_opens(
    layer: MapTab, workspace: Workspace, qtbot: QtBot
) -> None:
    canvas = canvas_of(layer)
    qtbot.keyClick(canvas, Qt.Key.Key_Right)
    assert canvas.cursor_node is not None
    assert canvas.cursor_node.key == node(layer, "hidden states").node.id
    for _ in range(8):
        qtbot.keyClick(canvas, Qt.Key.Key_Right)
        if selected(workspace) == f"{LAYER}.attention.self.query":
            break
        qtbot.keyClick(canvas, Qt.Key.Key_Left)
        qtbot.keyClick(canvas, Qt.Key.Key_Down)
    assert selected(workspace) == f"{LAYER}.attention.self.query"
    qtbot.keyClick(canvas, Qt.Key.Key_Down)
    assert selected(workspace) == f"{LAYER}.attention.self.key"
    qtbot.keyClick(canvas, Qt.Key.Key_Return)
    assert canvas.scope == Scope(f"{LAYER}.attention.self.key")
    description = canvas.accessibleDescription()
    qtbot.keyClick(canvas, Qt.Key.Key_Right)
    assert canvas.accessibleDescription() != description


def test_home_and_end_go_to_where_data_come_in_and_out(layer: MapTab, qtbot: QtBot) -> None:
    canvas = canvas_of(layer)
    for key, form in ((Qt.Key.Key_End, "output"), (Qt.Key.Key_Home, "input")):
        qtbot.keyClick(canvas, key)
        at = canvas.cursor_node
        assert at is not None
        placed = viewport_of(layer).cache.placed(at.scope, at.key)
        assert placed is not None
        assert placed.form == form


def test_a_module_of_several_nodes_opens_alone(
    layer: MapTab, workspace: Workspace, qtbot: QtBot
) -> None:
    canvas = canvas_of(layer)
    workspace.selection.select(f"{LAYER}.attention")
    assert canvas.scope == Scope(LAYER)
    assert len(ringed(layer)) > 3
    qtbot.keyClick(canvas, Qt.Key.Key_Return)
    assert canvas.scope == Scope(f"{LAYER}.attention")
    assert canvas.viewport is not None
    assert canvas.viewport.cache.drawing(canvas.scope) is not None
    qtbot.keyClick(canvas, Qt.Key.Key_Backspace)
    assert canvas.scope == Scope(LAYER)


def test_pointing_tells_name_class_and_shapes_in_letters_and_numbers(layer: MapTab) -> None:
    tip = canvas_of(layer).tip_at(QPointF(middle(layer, "query")))
    assert f"{LAYER}.attention.self.query" in tip
    assert "Linear" in tip
    assert "[1, 16, 24]" in tip
    assert "multiply-adds for 16 tokens" in tip
    assert "600 parameters" in tip


def test_a_theme_is_followed_at_once(layer: MapTab) -> None:
    application = QApplication.instance()
    assert isinstance(application, QApplication)
    assert viewport_of(layer).cache.theme == LIGHT
    apply_appearance(application, "dark")
    assert viewport_of(layer).cache.theme == DARK
    apply_appearance(application, "light")


def test_the_menu_has_what_can_be_done_with_a_module(
    layer: MapTab, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The offscreen platform cannot give a menu all keys.
    asked: list[QMenu] = []
    monkeypatch.setattr(QMenu, "popup", lambda menu, _place: asked.append(menu))
    canvas, place = canvas_of(layer), middle(layer, "query")
    event = QContextMenuEvent(QContextMenuEvent.Reason.Mouse, place, canvas.mapToGlobal(place))
    QApplication.sendEvent(canvas, event)
    assert selected(workspace) == f"{LAYER}.attention.self.query"
    (menu,) = asked
    by_name = {action.objectName(): action for action in menu.actions()}
    by_name["openPart"].trigger()
    assert canvas.scope == Scope(f"{LAYER}.attention.self.query")
    by_name["upFromPart"].trigger()
    assert canvas.scope == Scope(LAYER)


def test_names_of_strangers_are_shown_as_they_are(show_map: ShowMap) -> None:
    architecture = small("bert")
    names = ("<b>bold</b>", "a\x00b", "\u202eevil", "漢字" * 20, "x" * 10_000)
    nodes = tuple(Node(f"n{n}", "module", name, "embeddings", name) for n, name in enumerate(names))
    flow = Flow("", "<i>Model</i>", nodes, ())
    tab = show_map(replace(architecture, flows=Flows({"": flow})))
    assert canvas_of(tab).grab().width() == canvas_of(tab).width()
    assert tab.minimumSizeHint().width() < 1000
    tip = canvas_of(tab).tip_at(QPointF(middle(tab, "<b>bold</b>")))
    assert "<b>bold</b>" in tip


def test_motion_leads_to_what_is_there_at_once_without_it(
    tab: MapTab, monkeypatch: pytest.MonkeyPatch, qtbot: QtBot
) -> None:
    canvas, viewport = canvas_of(tab), viewport_of(tab)
    canvas.open(Scope(LAYER))
    assert canvas.scope == Scope(LAYER)
    end = viewport.camera
    canvas.open(WHOLE)
    monkeypatch.setattr("bertviewer.ui.map.canvas.has_motion", lambda: True)
    seen: list[float] = []
    canvas.opened.connect(lambda _scope: seen.append(viewport.camera.scale))
    canvas.open(Scope(LAYER))
    assert canvas.scope == WHOLE
    qtbot.waitUntil(lambda: viewport.camera == end)
    assert canvas.scope == Scope(LAYER)
    assert len(seen) == 1
    # Something else that is done meanwhile ends it.
    canvas.open(WHOLE)
    canvas.zoom(1.1)
    qtbot.wait(300)
    assert canvas.scope == Scope(LAYER)


@pytest.mark.parametrize("corner", [(0.01, 0.01), (0.99, 0.01), (0.01, 0.99), (0.99, 0.99)])
def test_something_is_seen_however_close_or_far(tab: MapTab, corner: tuple[float, float]) -> None:
    canvas, viewport = canvas_of(tab), viewport_of(tab)
    place = QPointF(canvas.width() * corner[0], canvas.height() * corner[1])

    def is_something_seen() -> bool:
        drawing = viewport.cache.drawing(viewport.scope)
        assert drawing is not None
        seen = [viewport.camera.seen(each.rect) for each in drawing.nodes]
        return any(
            box.right > 0 and box.bottom > 0 and box.x < canvas.width() and box.y < canvas.height()
            for box in seen
        )

    for factor in (1.25, 1 / 1.25):
        for _ in range(20):
            canvas.zoom(factor, place)
            assert is_something_seen()
    # All of a small drawing is.
    whole = viewport.camera.seen(viewport.cache.bounds(WHOLE))
    assert whole.x >= -1
    assert whole.bottom <= canvas.height() + 1


def test_what_is_zoomed_into_is_selected(tab: MapTab, workspace: Workspace) -> None:
    canvas = canvas_of(tab)
    assert selected(workspace) == ""
    place = QPointF(middle(tab, "embeddings"))
    while canvas.scope == WHOLE:
        canvas.zoom(1.25, place)
    assert canvas.scope == Scope("embeddings")
    assert selected(workspace) == "embeddings"
    # What is around it stays around it.
    while canvas.scope != WHOLE:
        canvas.zoom(0.8, place)
    assert selected(workspace) == "embeddings"


def test_a_click_draws_no_frame_and_keys_do(tab: MapTab, qtbot: QtBot) -> None:
    canvas = canvas_of(tab)
    activate(tab, qtbot)

    def edge() -> str:
        QApplication.processEvents()
        return canvas.grab().toImage().pixelColor(canvas.width() // 2, 1).name()

    canvas.clearFocus()
    plain = edge()
    qtbot.mouseClick(canvas, Qt.MouseButton.LeftButton, pos=QPoint(3, 3))
    assert canvas.hasFocus()
    assert edge() == plain
    canvas.clearFocus()
    canvas.setFocus(Qt.FocusReason.TabFocusReason)
    assert edge() != plain
