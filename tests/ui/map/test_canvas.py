"""Moving, zooming, opening and selecting on the map."""

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from pytestqt.qtbot import QtBot

from bertviewer.charts.map.atlas import WHOLE
from bertviewer.charts.map.part import Part
from bertviewer.ui.map.tab import MapTab
from bertviewer.ui.workspace import Workspace
from tests.core.walk.walked import small
from tests.ui.map.conftest import ShowMap
from tests.ui.map.map_hands import canvas_of, middle, node, sight_of, wheel

LAYER = "encoder.layer.1"


@pytest.fixture
def tab(show_map: ShowMap) -> MapTab:
    """Return the map of a BERT of two layers."""
    return show_map(small("bert"))


@pytest.fixture
def layer(tab: MapTab, workspace: Workspace) -> MapTab:
    """Return the same with its second layer opened."""
    workspace.selection.select(LAYER)
    return tab


def selected(workspace: Workspace) -> str | None:
    return workspace.selection.place.path


def ringed(tab: MapTab) -> set[str]:
    return {marked.key for marked in canvas_of(tab).marked}


def test_at_first_the_whole_model_is_seen(tab: MapTab) -> None:
    sight = sight_of(tab)
    assert canvas_of(tab).part == WHOLE
    seen = sight.camera.seen(sight.sheets.bounds(WHOLE))
    assert seen.x >= 0
    assert seen.y >= 0
    assert seen.right <= canvas_of(tab).width()
    assert seen.bottom <= canvas_of(tab).height()


def test_what_is_selected_elsewhere_is_opened_and_marked(tab: MapTab, workspace: Workspace) -> None:
    workspace.selection.select(f"{LAYER}.attention.self")
    assert canvas_of(tab).part == Part(LAYER)
    assert ringed(tab) == {node(tab, "attention").node.id}
    workspace.selection.select("embeddings.word_embeddings")
    assert canvas_of(tab).part == Part("embeddings")
    assert ringed(tab) == {node(tab, "word_embeddings").node.id}
    workspace.selection.select("encoder.layer.0")
    assert canvas_of(tab).part == Part("encoder.layer.0")
    workspace.selection.select("")
    assert canvas_of(tab).part == WHOLE


def test_a_click_selects_and_opens_nothing(
    layer: MapTab, workspace: Workspace, qtbot: QtBot
) -> None:
    canvas = canvas_of(layer)
    qtbot.mouseClick(canvas, Qt.MouseButton.LeftButton, pos=middle(layer, "query"))
    assert selected(workspace) == f"{LAYER}.attention.self.query"
    assert canvas.part == Part(LAYER)
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
    assert canvas.part == Part(LAYER, (group,))
    qtbot.keyClick(canvas, Qt.Key.Key_Backspace)
    assert canvas.part == Part(LAYER)
    assert canvas.cursor_at is not None
    assert canvas.cursor_at.key == group
    qtbot.keyClick(canvas, Qt.Key.Key_Backspace)
    assert canvas.part == WHOLE
    qtbot.keyClick(canvas, Qt.Key.Key_Backspace)
    assert canvas.part == WHOLE


def test_keys_walk_along_the_flow_and_enter_opens(
    layer: MapTab, workspace: Workspace, qtbot: QtBot
) -> None:
    canvas = canvas_of(layer)
    qtbot.keyClick(canvas, Qt.Key.Key_Right)
    assert canvas.cursor_at is not None
    assert canvas.cursor_at.key == node(layer, "hidden states").node.id
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
    assert canvas.part == Part(f"{LAYER}.attention.self.key")
    description = canvas.accessibleDescription()
    qtbot.keyClick(canvas, Qt.Key.Key_Right)
    assert canvas.accessibleDescription() != description


def test_home_and_end_go_to_where_data_come_in_and_out(layer: MapTab, qtbot: QtBot) -> None:
    canvas = canvas_of(layer)
    for key, form in ((Qt.Key.Key_End, "output"), (Qt.Key.Key_Home, "input")):
        qtbot.keyClick(canvas, key)
        at = canvas.cursor_at
        assert at is not None
        placed = sight_of(layer).sheets.placed(at.part, at.key)
        assert placed is not None
        assert placed.form == form


def test_netrons_keys_zoom_and_show_all_of_it(layer: MapTab, qtbot: QtBot) -> None:
    canvas, shift = canvas_of(layer), Qt.KeyboardModifier.ShiftModifier
    fitted = sight_of(layer).camera
    qtbot.keyClick(canvas, Qt.Key.Key_Up, shift)
    assert sight_of(layer).camera.scale > fitted.scale
    qtbot.keyClick(canvas, Qt.Key.Key_Down, shift)
    assert sight_of(layer).camera.scale == pytest.approx(fitted.scale)
    qtbot.keyClick(canvas, Qt.Key.Key_Down, shift)
    qtbot.keyClick(canvas, Qt.Key.Key_Backspace, shift)
    assert sight_of(layer).camera == fitted
    assert canvas.part == Part(LAYER)


def test_a_long_list_is_read_from_its_beginning(
    show_map: ShowMap, workspace: Workspace, qtbot: QtBot
) -> None:
    tab = show_map(small("mamba"))
    workspace.selection.select("layers.0.mixer")
    sight, canvas = sight_of(tab), canvas_of(tab)
    tab.open_path("layers.0.mixer")
    assert canvas.part == Part("layers.0.mixer")
    drawing = sight.sheets.drawing(canvas.part)
    assert drawing is not None
    assert {placed.form for placed in drawing.nodes} == {"list"}
    assert sight.camera.scale == 1.0
    first, last = (sight.camera.seen(drawing.nodes[place].rect) for place in (0, -1))
    assert 0 <= first.y < canvas.height() / 4
    assert last.y > canvas.height()
    # The keys go down to its end.
    qtbot.keyClick(canvas, Qt.Key.Key_Home)
    for _ in drawing.nodes:
        qtbot.keyClick(canvas, Qt.Key.Key_Down)
    assert canvas.cursor_at is not None
    assert canvas.cursor_at.key == drawing.nodes[-1].node.id
    assert sight.camera.seen(drawing.nodes[-1].rect).bottom <= canvas.height()


def test_a_module_of_several_nodes_opens_alone(
    layer: MapTab, workspace: Workspace, qtbot: QtBot
) -> None:
    canvas = canvas_of(layer)
    workspace.selection.select(f"{LAYER}.attention")
    assert canvas.part == Part(LAYER)
    assert len(ringed(layer)) > 3
    qtbot.keyClick(canvas, Qt.Key.Key_Return)
    assert canvas.part == Part(f"{LAYER}.attention")
    assert canvas.sight is not None
    assert canvas.sight.sheets.drawing(canvas.part) is not None
    qtbot.keyClick(canvas, Qt.Key.Key_Backspace)
    assert canvas.part == Part(LAYER)


def test_the_wheel_zooms_about_the_pointer_with_and_without_control(layer: MapTab) -> None:
    canvas, sight = canvas_of(layer), sight_of(layer)
    place = middle(layer, "query")
    for keys in (Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.ControlModifier):
        sight.fit(Part(LAYER))
        before, scale = sight.camera.drawn(place.x(), place.y()), sight.camera.scale
        wheel(canvas, place, 2, keys)
        assert sight.camera.scale > 1.2 * scale
        assert sight.camera.drawn(place.x(), place.y()) == pytest.approx(before)


def test_zooming_in_opens_what_fills_the_window_and_zooming_out_leaves_it(tab: MapTab) -> None:
    canvas, seen = canvas_of(tab), [WHOLE]
    place = middle(tab, "layer 0")
    for _ in range(80):
        wheel(canvas, place, 1)
        if canvas.part != seen[-1]:
            seen.append(canvas.part)
            if len(seen) == 2:
                # The feed-forward of the layer comes below the pointer.
                place = middle(tab, "feed-forward")
        if len(seen) == 4:
            break
    group = seen[2].groups
    assert seen[1] == Part("encoder.layer.0")
    assert seen[2].path == "encoder.layer.0"
    assert len(group) == 1
    middle_of = QPoint(canvas.width() // 2, canvas.height() // 2)
    for _ in range(160):
        wheel(canvas, middle_of, -1)
    assert canvas.part == WHOLE
    assert sight_of(tab).closeness > 0.3


def test_between_boxes_there_is_an_end_of_coming_closer(tab: MapTab) -> None:
    canvas, sight = canvas_of(tab), sight_of(tab)
    for _ in range(60):
        wheel(canvas, QPoint(canvas.width() - 5, 5), 1)
    assert canvas.part == WHOLE
    assert sight.closeness < 4


def test_what_is_in_a_box_is_seen_in_its_place_before_it_is_opened(tab: MapTab) -> None:
    canvas, sight = canvas_of(tab), sight_of(tab)
    assert [level.part for level in sight.levels()] == [WHOLE]
    place = middle(tab, "layer 0")
    for _ in range(40):
        wheel(canvas, place, 0.5)
        inner = [level for level in sight.levels() if level.part == Part("encoder.layer.0")]
        if inner:
            break
    (level,) = inner
    assert canvas.part == WHOLE
    assert level.box is not None
    bounds = level.camera.seen(sight.sheets.bounds(level.part))
    assert bounds.x >= level.box.x
    assert bounds.right <= level.box.right
    assert bounds.y >= level.box.y
    assert bounds.bottom <= level.box.bottom


def test_a_drag_moves_and_fit_brings_all_back(layer: MapTab, qtbot: QtBot) -> None:
    canvas, sight = canvas_of(layer), sight_of(layer)
    fitted = sight.camera
    start = QPoint(canvas.width() // 2, 6)
    qtbot.mousePress(canvas, Qt.MouseButton.LeftButton, pos=start)
    qtbot.mouseMove(canvas, start + QPoint(30, 20))
    qtbot.mouseMove(canvas, start + QPoint(60, 45))
    qtbot.mouseRelease(canvas, Qt.MouseButton.LeftButton, pos=start + QPoint(60, 45))
    assert (sight.camera.x, sight.camera.y) != (fitted.x, fitted.y)
    assert sight.camera.scale == fitted.scale
    for key in (Qt.Key.Key_0, Qt.Key.Key_F):
        qtbot.keyClick(canvas, Qt.Key.Key_Plus)
        assert sight.camera.scale > fitted.scale
        qtbot.keyClick(canvas, key)
        assert sight.camera == fitted
    qtbot.keyClick(canvas, Qt.Key.Key_Minus)
    assert sight.camera.scale < fitted.scale


def test_what_is_drawn_cannot_be_lost(layer: MapTab) -> None:
    canvas, sight = canvas_of(layer), sight_of(layer)
    for x, y in ((9000, 0), (-9000, 0), (0, 9000), (0, -9000)):
        canvas.move_by(QPointF(x, y))
        seen = sight.camera.seen(sight.sheets.bounds(sight.part))
        assert seen.right > 0
        assert seen.bottom > 0
        assert seen.x < canvas.width()
        assert seen.y < canvas.height()


def test_pointing_tells_name_class_and_shapes_in_letters_and_numbers(layer: MapTab) -> None:
    tip = canvas_of(layer).tip_at(QPointF(middle(layer, "query")))
    assert f"{LAYER}.attention.self.query" in tip
    assert "Linear" in tip
    assert "[1, 16, 24]" in tip
    assert "multiply-adds for 16 tokens" in tip
    assert "600 parameters" in tip


def test_a_resized_window_has_the_same_part_in_it(layer: MapTab) -> None:
    layer.resize(520, 460)
    sight = sight_of(layer)
    assert sight.part == Part(LAYER)
    seen = sight.camera.seen(sight.sheets.bounds(sight.part))
    assert seen.right <= canvas_of(layer).width() + 0.01


def test_a_theme_is_followed_at_once(layer: MapTab) -> None:
    from PySide6.QtWidgets import QApplication

    from bertviewer.charts.theme import DARK, LIGHT
    from bertviewer.ui.look.appearance import apply_appearance

    application = QApplication.instance()
    assert isinstance(application, QApplication)
    assert sight_of(layer).sheets.theme == LIGHT
    apply_appearance(application, "dark")
    assert sight_of(layer).sheets.theme == DARK
    apply_appearance(application, "light")


def test_the_menu_has_what_can_be_done_with_a_module(
    layer: MapTab, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    from PySide6.QtGui import QContextMenuEvent
    from PySide6.QtWidgets import QApplication, QMenu

    # The offscreen platform cannot give a menu all keys.
    monkeypatch.setattr(QMenu, "popup", lambda _menu, _place: None)
    asked: list[QMenu] = []
    workspace.menu_wanted.connect(asked.append)
    canvas, place = canvas_of(layer), middle(layer, "query")
    event = QContextMenuEvent(QContextMenuEvent.Reason.Mouse, place, canvas.mapToGlobal(place))
    QApplication.sendEvent(canvas, event)
    assert selected(workspace) == f"{LAYER}.attention.self.query"
    (menu,) = asked
    by_name = {action.objectName(): action for action in menu.actions()}
    by_name["openPart"].trigger()
    assert canvas.part == Part(f"{LAYER}.attention.self.query")
    by_name["upFromPart"].trigger()
    assert canvas.part == Part(LAYER)


def test_names_of_strangers_are_shown_as_they_are(show_map: ShowMap) -> None:
    from dataclasses import replace

    from bertviewer.core.architecture.flow import Flow, Node
    from bertviewer.core.architecture.flows import Flows

    architecture = small("bert")
    names = ("<b>bold</b>", "a\x00b", "\u202eevil", "漢字" * 20, "x" * 10_000)
    nodes = tuple(Node(f"n{n}", "module", name, "embeddings", name) for n, name in enumerate(names))
    flow = Flow("", "<i>Model</i>", nodes, ())
    tab = show_map(replace(architecture, flows=Flows({"": flow})))
    assert canvas_of(tab).grab().width() == canvas_of(tab).width()
    assert tab.minimumSizeHint().width() < 1000
    tip = canvas_of(tab).tip_at(QPointF(middle(tab, "<b>bold</b>")))
    assert "<b>bold</b>" in tip


def test_what_moves_can_be_told_not_to(monkeypatch: pytest.MonkeyPatch, qtbot: QtBot) -> None:
    from PySide6.QtCore import QObject

    from bertviewer.ui.map import motion

    parent = QObject()
    steps: list[float] = []
    ends: list[str] = []
    for has_motion in (False, True):
        monkeypatch.setattr(motion, "has_motion", lambda has_motion=has_motion: has_motion)
        moving = motion.Motion(parent)
        moving.start(steps.append, lambda: ends.append("end"))
        if not has_motion:
            assert (steps, ends) == ([], ["end"])
        else:
            qtbot.waitUntil(lambda: len(ends) == 2)
            assert steps == sorted(steps)
            assert steps[-1] == 1.0
