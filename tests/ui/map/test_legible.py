"""What is to be read on the map can be read, in a window of any size."""

from itertools import pairwise

import pytest
from pytestqt.qtbot import QtBot

from bertviewer.charts.graph.drawing import Drawing
from bertviewer.ui.map.drawing_cache import MIN_FONT, MIN_SUBSCRIPT, TOLERANCE
from bertviewer.ui.map.tab import MapTab
from bertviewer.ui.state.workspace import Workspace
from tests.core.walkthrough.small_walkthroughs import small
from tests.ui.map.conftest import ShowMap
from tests.ui.map.map_hands import canvas_of, viewport_of

ROOMY, SMALL, LOW = (1000, 700), (590, 290), (640, 230)
PARTS = {
    "bert": ("", "embeddings", "encoder.layer.1"),
    "gpt2": ("", "h.1"),
    "mixtral": ("", "layers.1"),
    "t5": ("", "encoder.block.1", "decoder.block.1"),
}


def drawing_of(tab: MapTab) -> Drawing:
    found = viewport_of(tab).cache.drawing(viewport_of(tab).scope)
    assert found is not None
    return found


def letters(tab: MapTab) -> float:
    """Return how many pixels the smallest letters have, but for subscripts."""
    return min(sizes(tab, is_subscript=False))


def sizes(tab: MapTab, *, is_subscript: bool) -> list[float]:
    """Return how many pixels the letters have."""
    labels = [label for placed in drawing_of(tab).nodes for label in placed.labels]
    scale = viewport_of(tab).camera.scale
    return [label.size * scale for label in labels if label.is_subscript == is_subscript]


def resize(tab: MapTab, size: tuple[int, int], qtbot: QtBot) -> None:
    tab.resize(*size)
    canvas = canvas_of(tab)
    qtbot.waitUntil(lambda: (viewport_of(tab).width, viewport_of(tab).height) == (
        canvas.width(), canvas.height()
    ))  # fmt: skip


@pytest.mark.parametrize("size", [ROOMY, SMALL, LOW])
@pytest.mark.parametrize("name", PARTS)
def test_no_letters_are_too_small(
    show_map: ShowMap, workspace: Workspace, qtbot: QtBot, name: str, size: tuple[int, int]
) -> None:
    tab = show_map(small(name))
    resize(tab, size, qtbot)
    for path in PARTS[name]:
        workspace.selection.select(path)
        assert canvas_of(tab).scope.path == path
        assert letters(tab) >= TOLERANCE * MIN_FONT, path


@pytest.mark.parametrize("size", [ROOMY, SMALL])
def test_a_subscript_is_clearly_smaller_than_its_letter_and_can_be_read(
    show_map: ShowMap, workspace: Workspace, qtbot: QtBot, size: tuple[int, int]
) -> None:
    tab = show_map(small("bert"))
    resize(tab, size, qtbot)
    workspace.selection.select("encoder.layer.1")
    (subscript,) = sizes(tab, is_subscript=True)
    name = next(
        label
        for placed in drawing_of(tab).nodes
        for label, below in pairwise(placed.labels)
        if below.is_subscript
    )
    assert subscript >= TOLERANCE * MIN_SUBSCRIPT
    assert subscript < 0.75 * name.size * viewport_of(tab).camera.scale


def test_a_layer_says_more_where_there_is_room(
    show_map: ShowMap, workspace: Workspace, qtbot: QtBot
) -> None:
    tab = show_map(small("bert"))
    workspace.selection.select("encoder.layer.1")
    resize(tab, ROOMY, qtbot)
    assert not drawing_of(tab).is_brief
    resize(tab, SMALL, qtbot)
    assert drawing_of(tab).is_brief
    resize(tab, ROOMY, qtbot)
    assert not drawing_of(tab).is_brief


def test_of_what_has_no_room_that_is_seen_which_is_selected(
    show_map: ShowMap, workspace: Workspace, qtbot: QtBot
) -> None:
    tab = show_map(small("t5"))
    resize(tab, LOW, qtbot)
    canvas, viewport = canvas_of(tab), viewport_of(tab)
    for part in ("layer.0.SelfAttention.q", "layer.2.DenseReluDense", "layer.0.SelfAttention.k"):
        workspace.selection.select(f"decoder.block.1.{part}")
        assert canvas.scope.path == "decoder.block.1"
        whole = viewport.camera.seen(viewport.cache.bounds(canvas.scope))
        assert whole.height > canvas.height()
        placed = viewport.cache.placed(canvas.scope, canvas.marked[0].key)
        assert placed is not None
        seen = viewport.camera.seen(placed.rect)
        assert 0 < seen.y + seen.height / 2 < canvas.height(), part
