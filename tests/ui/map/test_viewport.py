"""The visible part of the map: zoom, pan, entering and leaving parts, legible texts."""

from itertools import pairwise

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from bertviewer.charts.map.part_graphs import WHOLE, Scope
from bertviewer.ui.map.drawing_cache import MIN_FONT, MIN_SUBSCRIPT, TOLERANCE
from bertviewer.ui.map.tab import MapTab
from bertviewer.ui.state.workspace import Workspace
from tests.core.walkthrough.small_walkthroughs import small
from tests.plots.looking import drag, press
from tests.ui.map.conftest import ShowMap
from tests.ui.map.helpers import (
    LAYER,
    canvas_of,
    drawing_of,
    middle,
    selected,
    viewport_of,
    wheel,
)

ROOMY, SMALL, LOW = (1000, 700), (590, 290), (640, 230)
PARTS = {
    "bert": ("", "embeddings", "encoder.layer.1"),
    "gpt2": ("", "h.1"),
    "mixtral": ("", "layers.1"),
    "t5": ("", "encoder.block.1", "decoder.block.1"),
}


def is_inside(tab: MapTab) -> bool:
    """Whether the whole opened part is in the window."""
    viewport, canvas = viewport_of(tab), canvas_of(tab)
    seen = viewport.camera.seen(viewport.cache.bounds(viewport.scope))
    return (
        seen.x >= -0.01
        and seen.y >= -0.01
        and seen.right <= canvas.width() + 0.01
        and seen.bottom <= canvas.height() + 0.01
    )


def font_sizes(tab: MapTab, *, of_subscripts: bool = False) -> list[float]:
    """Return the sizes of texts in pixels."""
    scale = viewport_of(tab).camera.scale
    labels = [label for placed in drawing_of(tab).nodes for label in placed.labels]
    return [label.size * scale for label in labels if label.is_subscript == of_subscripts]


def resize(tab: MapTab, size: tuple[int, int], qtbot: QtBot) -> None:
    tab.resize(*size)
    canvas, viewport = canvas_of(tab), viewport_of(tab)
    qtbot.waitUntil(lambda: (viewport.width, viewport.height) == (canvas.width(), canvas.height()))


def test_keys_zoom_and_fit(layer: MapTab) -> None:
    canvas, viewport, shift = (
        canvas_of(layer),
        viewport_of(layer),
        Qt.KeyboardModifier.ShiftModifier,
    )
    fitted = viewport.camera
    assert is_inside(layer)
    QTest.keyClick(canvas, Qt.Key.Key_Up, shift)  # as in Netron
    assert viewport.camera.scale > fitted.scale
    QTest.keyClick(canvas, Qt.Key.Key_Down, shift)
    assert viewport.camera.scale == pytest.approx(fitted.scale)
    QTest.keyClick(canvas, Qt.Key.Key_Down, shift)
    QTest.keyClick(canvas, Qt.Key.Key_Backspace, shift)
    assert viewport.camera == fitted
    for key in (Qt.Key.Key_0, Qt.Key.Key_F):
        press(canvas, Qt.Key.Key_Plus)
        assert viewport.camera.scale > fitted.scale
        press(canvas, key)
        assert viewport.camera == fitted
    press(canvas, Qt.Key.Key_Minus)
    assert viewport.camera.scale < fitted.scale
    assert canvas.scope == Scope(LAYER)


def test_the_wheel_zooms_at_the_pointer_with_and_without_control(layer: MapTab) -> None:
    canvas, viewport = canvas_of(layer), viewport_of(layer)
    place = middle(layer, "query")
    for keys in (Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.ControlModifier):
        viewport.fit(Scope(LAYER))
        before, scale = viewport.camera.drawn(place.x(), place.y()), viewport.camera.scale
        wheel(canvas, place, 2, keys)
        assert viewport.camera.scale > 1.2 * scale
        assert viewport.camera.drawn(place.x(), place.y()) == pytest.approx(before)


def test_zooming_enters_the_part_that_fills_the_window_and_leaves_it(tab: MapTab) -> None:
    canvas, scopes = canvas_of(tab), [WHOLE]
    place = middle(tab, "layer 0")
    for _ in range(80):
        wheel(canvas, place, 1)
        if canvas.scope != scopes[-1]:
            scopes.append(canvas.scope)
            if len(scopes) == 2:
                place = middle(tab, "feed-forward")
        if len(scopes) == 3:
            break
    assert scopes[1] == Scope("encoder.layer.0")
    assert scopes[2].path == "encoder.layer.0"
    assert len(scopes[2].groups) == 1
    for _ in range(160):
        wheel(canvas, canvas.rect().center(), -1)
    assert canvas.scope == WHOLE
    assert viewport_of(tab).zoom_level > 0.3


def test_the_part_that_is_zoomed_into_is_selected(tab: MapTab, workspace: Workspace) -> None:
    canvas, place = canvas_of(tab), QPointF(middle(tab, "embeddings"))
    while canvas.scope == WHOLE:
        canvas.zoom(1.25, place)
    assert canvas.scope == Scope("embeddings")
    assert selected(workspace) == "embeddings"
    # The selection is still visible in the part around it.
    while canvas.scope != WHOLE:
        canvas.zoom(0.8, place)
    assert selected(workspace) == "embeddings"


def test_an_inside_fades_in_within_its_node(tab: MapTab) -> None:
    canvas, viewport = canvas_of(tab), viewport_of(tab)
    assert [level.scope for level in viewport.levels()] == [WHOLE]
    place, inner = middle(tab, "layer 0"), Scope("encoder.layer.0")
    while not any(level.scope == inner for level in viewport.levels()):
        wheel(canvas, place, 0.5)
    (level,) = (level for level in viewport.levels() if level.scope == inner)
    assert canvas.scope == WHOLE
    assert level.box is not None
    bounds = level.camera.seen(viewport.cache.bounds(inner))
    assert level.box.x <= bounds.x < bounds.right <= level.box.right
    assert level.box.y <= bounds.y < bounds.bottom <= level.box.bottom


@pytest.mark.parametrize("corner", [(0.01, 0.01), (0.99, 0.01), (0.01, 0.99), (0.99, 0.99)])
def test_a_node_stays_in_the_window_at_any_zoom(tab: MapTab, corner: tuple[float, float]) -> None:
    canvas, viewport = canvas_of(tab), viewport_of(tab)
    place = QPointF(canvas.width() * corner[0], canvas.height() * corner[1])

    def is_visible() -> bool:
        boxes = [viewport.camera.seen(each.rect) for each in drawing_of(tab).nodes]
        return any(
            box.right > 0 and box.bottom > 0 and box.x < canvas.width() and box.y < canvas.height()
            for box in boxes
        )

    for factor in (1.25, 1 / 1.25):
        for _ in range(20):
            canvas.zoom(factor, place)
            assert is_visible()
    assert is_inside(tab)
    # Between nodes there is a largest zoom.
    for _ in range(60):
        canvas.zoom(1.25, QPointF(canvas.width() - 5, 5))
    assert canvas.scope == WHOLE
    assert viewport.zoom_level < 4


def test_a_drag_pans_and_the_drawing_cannot_be_lost(layer: MapTab) -> None:
    canvas, viewport = canvas_of(layer), viewport_of(layer)
    fitted, start = viewport.camera, QPoint(canvas.width() // 2, 6)
    drag(canvas, start, start + QPoint(60, 45))
    assert (viewport.camera.x, viewport.camera.y) != (fitted.x, fitted.y)
    assert viewport.camera.scale == fitted.scale
    for x, y in ((9000, 0), (-9000, 0), (0, 9000), (0, -9000)):
        canvas.pan(QPointF(x, y))
        seen = viewport.camera.seen(viewport.cache.bounds(viewport.scope))
        assert seen.right > 0
        assert seen.bottom > 0
        assert seen.x < canvas.width()
        assert seen.y < canvas.height()


def test_a_long_list_is_shown_from_its_beginning(show_map: ShowMap) -> None:
    tab = show_map(small("mamba"))
    viewport, canvas = viewport_of(tab), canvas_of(tab)
    tab.open_path("layers.0.mixer")
    assert canvas.scope == Scope("layers.0.mixer")
    nodes = drawing_of(tab).nodes
    assert {placed.form for placed in nodes} == {"list"}
    assert viewport.camera.scale == 1.0
    first, last = (viewport.camera.seen(nodes[place].rect) for place in (0, -1))
    assert 0 <= first.y < canvas.height() / 4
    assert last.y > canvas.height()
    press(canvas, Qt.Key.Key_Home, *[Qt.Key.Key_Down] * len(nodes))
    assert canvas.cursor_node is not None
    assert canvas.cursor_node.key == nodes[-1].node.id
    assert viewport.camera.seen(nodes[-1].rect).bottom <= canvas.height()


@pytest.mark.parametrize("name", PARTS)
def test_no_text_is_too_small(
    show_map: ShowMap, workspace: Workspace, qtbot: QtBot, name: str
) -> None:
    tab = show_map(small(name))
    for size in (ROOMY, SMALL, LOW):
        resize(tab, size, qtbot)
        for path in PARTS[name]:
            workspace.selection.select(path)
            assert canvas_of(tab).scope.path == path
            assert min(font_sizes(tab)) >= TOLERANCE * MIN_FONT, (path, size)


def test_a_drawing_has_only_names_in_a_small_window(layer: MapTab, qtbot: QtBot) -> None:
    for size, is_brief in ((ROOMY, False), (SMALL, True), (ROOMY, False)):
        resize(layer, size, qtbot)
        assert viewport_of(layer).scope == Scope(LAYER)
        assert drawing_of(layer).is_brief == is_brief
        assert is_inside(layer)
        # A subscript is legible, and clearly smaller than its letter.
        (subscript,) = font_sizes(layer, of_subscripts=True)
        labels = [placed.labels for placed in drawing_of(layer).nodes]
        letter = next(a for each in labels for a, b in pairwise(each) if b.is_subscript)
        assert subscript >= TOLERANCE * MIN_SUBSCRIPT
        assert subscript < 0.75 * letter.size * viewport_of(layer).camera.scale


def test_the_selection_is_brought_into_a_low_window(
    show_map: ShowMap, workspace: Workspace, qtbot: QtBot
) -> None:
    tab = show_map(small("t5"))
    resize(tab, LOW, qtbot)
    canvas, viewport = canvas_of(tab), viewport_of(tab)
    for part in ("layer.0.SelfAttention.q", "layer.2.DenseReluDense", "layer.0.SelfAttention.k"):
        workspace.selection.select(f"decoder.block.1.{part}")
        assert canvas.scope.path == "decoder.block.1"
        assert viewport.camera.seen(viewport.cache.bounds(canvas.scope)).height > canvas.height()
        placed = viewport.cache.placed(canvas.scope, canvas.marked[0].key)
        assert placed is not None
        assert 0 < viewport.camera.seen(placed.rect).middle[1] < canvas.height(), part
