"""Selection, opening, keys, tooltips and the context menu of the canvas."""

import pytest
from msgspec.structs import replace
from PySide6.QtCore import QPoint, QPointF, Qt, QVariantAnimation
from PySide6.QtGui import QContextMenuEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu
from pytestqt.qtbot import QtBot

from bertviewer.charts.map.part_graphs import WHOLE, Scope
from bertviewer.charts.theme import DARK, LIGHT
from bertviewer.core.schema.flow import Flow, Flows, Node
from bertviewer.ui.map.tab import MapTab
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.theme.appearance import apply_appearance
from tests.core.walkthrough.small_walkthroughs import small
from tests.plots.looking import click, press
from tests.ui.finding import activate, find
from tests.ui.map.conftest import ShowMap
from tests.ui.map.helpers import LAYER, canvas_of, marked, middle, node, selected, viewport_of

Key = Qt.Key


def test_the_selected_module_is_opened_and_marked(tab: MapTab, workspace: Workspace) -> None:
    canvas = canvas_of(tab)
    assert canvas.scope == WHOLE
    for path, opened, name in (
        (f"{LAYER}.attention.self", LAYER, "attention"),
        ("embeddings.word_embeddings", "embeddings", "word_embeddings"),
        ("encoder.layer.0", "encoder.layer.0", ""),
        ("", "", ""),
    ):
        workspace.selection.select(path)
        assert canvas.scope == Scope(opened)
        assert not name or marked(tab) == {node(tab, name).node.id}


def test_a_click_selects_a_module_and_opens_nothing(layer: MapTab, workspace: Workspace) -> None:
    canvas = canvas_of(layer)
    click(canvas, middle(layer, "query"))
    assert selected(workspace) == f"{LAYER}.attention.self.query"
    assert canvas.scope == Scope(LAYER)
    assert marked(layer) == {node(layer, "query").node.id}
    # An operation is described, but is no module.
    workspace.selection.select(LAYER)
    click(canvas, middle(layer, "residual"))
    assert selected(workspace) == LAYER
    assert "residual" in canvas.accessibleDescription()


def test_a_double_click_opens_and_backspace_leaves(layer: MapTab) -> None:
    canvas, group = canvas_of(layer), node(layer, "feed-forward").node.id
    place = middle(layer, "feed-forward")
    QTest.mouseDClick(canvas, Qt.MouseButton.LeftButton, pos=place)
    assert canvas.scope == Scope(LAYER, (group,))
    press(canvas, Key.Key_Backspace)
    assert canvas.scope == Scope(LAYER)
    assert canvas.cursor_node is not None
    assert canvas.cursor_node.key == group
    press(canvas, Key.Key_Backspace)
    assert canvas.scope == WHOLE
    press(canvas, Key.Key_Backspace)
    assert canvas.scope == WHOLE


def test_keys_follow_the_edges_and_enter_opens(layer: MapTab, workspace: Workspace) -> None:
    canvas, query = canvas_of(layer), f"{LAYER}.attention.self.query"
    press(canvas, Key.Key_Right)
    assert canvas.cursor_node is not None
    assert canvas.cursor_node.key == node(layer, "hidden states").node.id
    for _ in range(8):
        press(canvas, Key.Key_Right)
        if selected(workspace) == query:
            break
        press(canvas, Key.Key_Left, Key.Key_Down)
    assert selected(workspace) == query
    press(canvas, Key.Key_Down)
    assert selected(workspace) == f"{LAYER}.attention.self.key"
    press(canvas, Key.Key_Return)
    assert canvas.scope == Scope(f"{LAYER}.attention.self.key")
    description = canvas.accessibleDescription()
    press(canvas, Key.Key_Right)
    assert canvas.accessibleDescription() != description


def test_home_and_end_go_to_input_and_output(layer: MapTab) -> None:
    canvas = canvas_of(layer)
    for key, form in ((Key.Key_End, "output"), (Key.Key_Home, "input")):
        press(canvas, key)
        assert canvas.cursor_node is not None
        placed = viewport_of(layer).cache.placed(Scope(LAYER), canvas.cursor_node.key)
        assert placed is not None
        assert placed.form == form


def test_enter_opens_a_module_of_several_nodes_alone(layer: MapTab, workspace: Workspace) -> None:
    canvas = canvas_of(layer)
    workspace.selection.select(f"{LAYER}.attention")
    assert canvas.scope == Scope(LAYER)
    assert len(marked(layer)) > 3
    press(canvas, Key.Key_Return)
    assert canvas.scope == Scope(f"{LAYER}.attention")
    press(canvas, Key.Key_Backspace)
    assert canvas.scope == Scope(LAYER)


def test_a_tooltip_has_name_class_shape_and_counts(layer: MapTab) -> None:
    tip = canvas_of(layer).tip_at(QPointF(middle(layer, "query")))
    for text in (
        f"{LAYER}.attention.self.query",
        "Linear",
        "[1, 16, 24]",
        "multiply-adds for 16 tokens",
        "600 parameters",
    ):
        assert text in tip
    assert canvas_of(layer).tip_at(QPointF(1, 1)) == ""


def test_a_theme_change_is_followed(layer: MapTab) -> None:
    application = QApplication.instance()
    assert isinstance(application, QApplication)
    assert viewport_of(layer).cache.theme == LIGHT
    apply_appearance(application, "dark")
    assert viewport_of(layer).cache.theme == DARK


def test_the_context_menu_is_about_the_module_under_the_mouse(
    layer: MapTab, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The offscreen platform cannot give a menu the keyboard.
    menus: list[QMenu] = []
    monkeypatch.setattr(QMenu, "popup", lambda menu, _place: menus.append(menu))
    canvas, place = canvas_of(layer), middle(layer, "query")
    event = QContextMenuEvent(QContextMenuEvent.Reason.Mouse, place, canvas.mapToGlobal(place))
    QApplication.sendEvent(canvas, event)
    assert selected(workspace) == f"{LAYER}.attention.self.query"
    (menu,) = menus
    by_name = {action.objectName(): action for action in menu.actions()}
    by_name["openPart"].trigger()
    assert canvas.scope == Scope(f"{LAYER}.attention.self.query")
    by_name["upFromPart"].trigger()
    assert canvas.scope == Scope(LAYER)


def test_names_of_any_kind_are_shown_as_they_are(show_map: ShowMap) -> None:
    names = ("<b>bold</b>", "a\x00b", "\u202eevil", "漢字" * 20, "x" * 10_000)
    nodes = tuple(Node(f"n{n}", "module", name, "embeddings", name) for n, name in enumerate(names))
    flow = Flow("", "<i>Model</i>", nodes, ())
    tab = show_map(replace(small("bert"), flows=Flows({"": flow})))
    assert canvas_of(tab).grab().width() == canvas_of(tab).width()
    assert tab.minimumSizeHint().width() < 1000
    assert "<b>bold</b>" in canvas_of(tab).tip_at(QPointF(middle(tab, "<b>bold</b>")))


def test_an_animation_ends_where_opening_without_one_does(
    tab: MapTab, monkeypatch: pytest.MonkeyPatch, qtbot: QtBot
) -> None:
    canvas, viewport = canvas_of(tab), viewport_of(tab)
    canvas.open(Scope(LAYER))
    end = viewport.camera
    canvas.open(WHOLE)
    monkeypatch.setattr("bertviewer.ui.map.canvas.has_motion", lambda: True)
    find(canvas, QVariantAnimation).setDuration(30)
    opened: list[Scope] = []
    canvas.opened.connect(opened.append)
    canvas.open(Scope(LAYER))
    assert canvas.scope == WHOLE
    qtbot.waitUntil(lambda: viewport.camera == end)
    assert opened == [Scope(LAYER)]
    # Zooming stops an animation.
    canvas.open(WHOLE)
    canvas.zoom(1.1)
    zoomed = viewport.camera
    qtbot.wait(50)
    assert viewport.camera == zoomed


def test_only_keys_draw_a_focus_frame(tab: MapTab, qtbot: QtBot) -> None:
    canvas = canvas_of(tab)
    activate(tab, qtbot)

    def edge() -> str:
        QApplication.processEvents()
        return canvas.grab().toImage().pixelColor(canvas.width() // 2, 1).name()

    canvas.clearFocus()
    plain = edge()
    click(canvas, QPoint(3, 3))
    assert canvas.hasFocus()
    assert edge() == plain
    canvas.clearFocus()
    canvas.setFocus(Qt.FocusReason.TabFocusReason)
    assert edge() != plain
