"""What is seen of the map: nearer, farther, moved, and never lost."""

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from pytestqt.qtbot import QtBot

from bertviewer.charts.map.part_graphs import WHOLE, Scope
from bertviewer.ui.map.tab import MapTab
from bertviewer.ui.state.workspace import Workspace
from tests.core.walkthrough.small_walkthroughs import small
from tests.ui.map.conftest import ShowMap
from tests.ui.map.map_hands import LAYER, canvas_of, middle, viewport_of, wheel


def test_netrons_keys_zoom_and_show_all_of_it(layer: MapTab, qtbot: QtBot) -> None:
    canvas, shift = canvas_of(layer), Qt.KeyboardModifier.ShiftModifier
    fitted = viewport_of(layer).camera
    qtbot.keyClick(canvas, Qt.Key.Key_Up, shift)
    assert viewport_of(layer).camera.scale > fitted.scale
    qtbot.keyClick(canvas, Qt.Key.Key_Down, shift)
    assert viewport_of(layer).camera.scale == pytest.approx(fitted.scale)
    qtbot.keyClick(canvas, Qt.Key.Key_Down, shift)
    qtbot.keyClick(canvas, Qt.Key.Key_Backspace, shift)
    assert viewport_of(layer).camera == fitted
    assert canvas.scope == Scope(LAYER)


def test_a_long_list_is_read_from_its_beginning(
    show_map: ShowMap, workspace: Workspace, qtbot: QtBot
) -> None:
    tab = show_map(small("mamba"))
    workspace.selection.select("layers.0.mixer")
    viewport, canvas = viewport_of(tab), canvas_of(tab)
    tab.open_path("layers.0.mixer")
    assert canvas.scope == Scope("layers.0.mixer")
    drawing = viewport.cache.drawing(canvas.scope)
    assert drawing is not None
    assert {placed.form for placed in drawing.nodes} == {"list"}
    assert viewport.camera.scale == 1.0
    first, last = (viewport.camera.seen(drawing.nodes[place].rect) for place in (0, -1))
    assert 0 <= first.y < canvas.height() / 4
    assert last.y > canvas.height()
    # The keys go down to its end.
    qtbot.keyClick(canvas, Qt.Key.Key_Home)
    for _ in drawing.nodes:
        qtbot.keyClick(canvas, Qt.Key.Key_Down)
    assert canvas.cursor_node is not None
    assert canvas.cursor_node.key == drawing.nodes[-1].node.id
    assert viewport.camera.seen(drawing.nodes[-1].rect).bottom <= canvas.height()


def test_the_wheel_zooms_about_the_pointer_with_and_without_control(layer: MapTab) -> None:
    canvas, viewport = canvas_of(layer), viewport_of(layer)
    place = middle(layer, "query")
    for keys in (Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.ControlModifier):
        viewport.fit(Scope(LAYER))
        before, scale = viewport.camera.drawn(place.x(), place.y()), viewport.camera.scale
        wheel(canvas, place, 2, keys)
        assert viewport.camera.scale > 1.2 * scale
        assert viewport.camera.drawn(place.x(), place.y()) == pytest.approx(before)


def test_zooming_in_opens_what_fills_the_window_and_zooming_out_leaves_it(tab: MapTab) -> None:
    canvas, seen = canvas_of(tab), [WHOLE]
    place = middle(tab, "layer 0")
    for _ in range(80):
        wheel(canvas, place, 1)
        if canvas.scope != seen[-1]:
            seen.append(canvas.scope)
            if len(seen) == 2:
                # The feed-forward of the layer comes below the pointer.
                place = middle(tab, "feed-forward")
        if len(seen) == 4:
            break
    group = seen[2].groups
    assert seen[1] == Scope("encoder.layer.0")
    assert seen[2].path == "encoder.layer.0"
    assert len(group) == 1
    middle_of = QPoint(canvas.width() // 2, canvas.height() // 2)
    for _ in range(160):
        wheel(canvas, middle_of, -1)
    assert canvas.scope == WHOLE
    assert viewport_of(tab).zoom_level > 0.3


def test_between_boxes_there_is_an_end_of_coming_closer(tab: MapTab) -> None:
    canvas, viewport = canvas_of(tab), viewport_of(tab)
    for _ in range(60):
        wheel(canvas, QPoint(canvas.width() - 5, 5), 1)
    assert canvas.scope == WHOLE
    assert viewport.zoom_level < 4


def test_what_is_in_a_box_is_seen_in_its_place_before_it_is_opened(tab: MapTab) -> None:
    canvas, viewport = canvas_of(tab), viewport_of(tab)
    assert [level.scope for level in viewport.levels()] == [WHOLE]
    place = middle(tab, "layer 0")
    for _ in range(40):
        wheel(canvas, place, 0.5)
        inner = [level for level in viewport.levels() if level.scope == Scope("encoder.layer.0")]
        if inner:
            break
    (level,) = inner
    assert canvas.scope == WHOLE
    assert level.box is not None
    bounds = level.camera.seen(viewport.cache.bounds(level.scope))
    assert bounds.x >= level.box.x
    assert bounds.right <= level.box.right
    assert bounds.y >= level.box.y
    assert bounds.bottom <= level.box.bottom


def test_a_drag_moves_and_fit_brings_all_back(layer: MapTab, qtbot: QtBot) -> None:
    canvas, viewport = canvas_of(layer), viewport_of(layer)
    fitted = viewport.camera
    start = QPoint(canvas.width() // 2, 6)
    qtbot.mousePress(canvas, Qt.MouseButton.LeftButton, pos=start)
    qtbot.mouseMove(canvas, start + QPoint(30, 20))
    qtbot.mouseMove(canvas, start + QPoint(60, 45))
    qtbot.mouseRelease(canvas, Qt.MouseButton.LeftButton, pos=start + QPoint(60, 45))
    assert (viewport.camera.x, viewport.camera.y) != (fitted.x, fitted.y)
    assert viewport.camera.scale == fitted.scale
    for key in (Qt.Key.Key_0, Qt.Key.Key_F):
        qtbot.keyClick(canvas, Qt.Key.Key_Plus)
        assert viewport.camera.scale > fitted.scale
        qtbot.keyClick(canvas, key)
        assert viewport.camera == fitted
    qtbot.keyClick(canvas, Qt.Key.Key_Minus)
    assert viewport.camera.scale < fitted.scale


def test_what_is_drawn_cannot_be_lost(layer: MapTab) -> None:
    canvas, viewport = canvas_of(layer), viewport_of(layer)
    for x, y in ((9000, 0), (-9000, 0), (0, 9000), (0, -9000)):
        canvas.pan(QPointF(x, y))
        seen = viewport.camera.seen(viewport.cache.bounds(viewport.scope))
        assert seen.right > 0
        assert seen.bottom > 0
        assert seen.x < canvas.width()
        assert seen.y < canvas.height()


def test_a_resized_window_has_the_same_part_in_it(layer: MapTab) -> None:
    layer.resize(520, 460)
    viewport = viewport_of(layer)
    assert viewport.scope == Scope(LAYER)
    seen = viewport.camera.seen(viewport.cache.bounds(viewport.scope))
    assert seen.right <= canvas_of(layer).width() + 0.01
