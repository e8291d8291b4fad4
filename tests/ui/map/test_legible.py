"""What is to be read on the map can be read, in a window of any size."""

import pytest
from pytestqt.qtbot import QtBot

from bertviewer.charts.flow.drawing import Drawing
from bertviewer.ui.map.sheets import LEAST_LETTERS
from bertviewer.ui.map.tab import MapTab
from bertviewer.ui.workspace import Workspace
from tests.core.walk.walked import small
from tests.ui.map.conftest import ShowMap
from tests.ui.map.map_hands import canvas_of, sight_of

ROOMY, SMALL, LOW = (1000, 700), (590, 290), (640, 230)
PARTS = {
    "bert": ("", "embeddings", "encoder.layer.1"),
    "gpt2": ("", "h.1"),
    "mixtral": ("", "layers.1"),
    "t5": ("", "encoder.block.1", "decoder.block.1"),
}


def drawing_of(tab: MapTab) -> Drawing:
    found = sight_of(tab).sheets.drawing(sight_of(tab).part)
    assert found is not None
    return found


def letters(tab: MapTab) -> float:
    """Return how many pixels the smallest letters have."""
    sizes = [label.size for placed in drawing_of(tab).nodes for label in placed.labels]
    return min(sizes) * sight_of(tab).camera.scale


def resize(tab: MapTab, size: tuple[int, int], qtbot: QtBot) -> None:
    tab.resize(*size)
    canvas = canvas_of(tab)
    qtbot.waitUntil(lambda: (sight_of(tab).width, sight_of(tab).height) == (
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
        assert canvas_of(tab).part.path == path
        assert letters(tab) >= LEAST_LETTERS - 0.01, path


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
    canvas, sight = canvas_of(tab), sight_of(tab)
    for part in ("layer.0.SelfAttention.q", "layer.2.DenseReluDense", "layer.0.SelfAttention.k"):
        workspace.selection.select(f"decoder.block.1.{part}")
        assert canvas.part.path == "decoder.block.1"
        whole = sight.camera.seen(sight.sheets.bounds(canvas.part))
        assert whole.height > canvas.height()
        placed = sight.sheets.placed(canvas.part, canvas.marked[0].key)
        assert placed is not None
        seen = sight.camera.seen(placed.rect)
        assert 0 < seen.y + seen.height / 2 < canvas.height(), part
