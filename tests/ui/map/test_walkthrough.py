"""The walk on the map, and where its steps are."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QToolButton
from pytestqt.qtbot import QtBot

from bertviewer.charts.map.part_graphs import WHOLE, PartGraphs
from bertviewer.charts.map.playback import PlaybackStop, playback_stops
from bertviewer.core.walkthrough.build import build_walkthrough
from bertviewer.ui.map.tab import MapTab
from bertviewer.ui.map.walkthrough import StepPlayer
from bertviewer.ui.state.workspace import Workspace
from tests.core.opened import derived
from tests.core.walkthrough.small_walkthroughs import small
from tests.ui.finding import find
from tests.ui.map.conftest import ShowMap
from tests.ui.map.map_hands import canvas_of, middle


@pytest.fixture
def tab(show_map: ShowMap) -> MapTab:
    """Return the map of a preset BERT: its walk has letters."""
    return show_map(derived("bert-base-uncased"))


def stops(family: str) -> tuple[PlaybackStop, ...]:
    architecture = small(family)
    return playback_stops(build_walkthrough(architecture), PartGraphs(architecture))


@pytest.mark.parametrize("family", ["bert", "gpt2", "t5", "bart", "llama", "mixtral", "albert"])
def test_each_step_that_computes_has_its_nodes(family: str) -> None:
    atlas = PartGraphs(small(family))
    for stop in stops(family):
        flow = atlas.flow(stop.part)
        assert flow is not None
        assert set(stop.keys) <= {node.id for node in flow.nodes}
        if stop.step.flow is not None or stop.step.is_input:
            assert stop.keys, stop.step.name


def test_an_addition_without_a_module_has_its_sign_on_the_map() -> None:
    atlas = PartGraphs(small("bert"))
    sums = [stop for stop in stops("bert") if stop.step.name == "Add"]
    first = next(stop for stop in sums if stop.title != "Embeddings")
    flow = atlas.flow(first.part)
    assert flow is not None
    (node,) = [node for node in flow.nodes if node.id in first.keys]
    assert node.operation == "residual"


def test_keys_go_step_by_step(tab: MapTab, workspace: Workspace, qtbot: QtBot) -> None:
    canvas, bar = canvas_of(tab), find(tab, StepPlayer, "mapWalkBar")
    assert not bar.isVisible()
    qtbot.keyClick(canvas, Qt.Key.Key_W)
    assert bar.isVisible()
    assert bar.stop == bar.stops[0]
    for _ in range(len(bar.stops) + 3):
        qtbot.keyClick(canvas, Qt.Key.Key_Right)
        stop = bar.stop
        assert stop is not None
        assert canvas.scope == stop.part
        assert {marked.key for marked in canvas.marked} == set(stop.keys)
        if stop.step.path is not None:
            assert workspace.selection.place.path == stop.step.path
    assert bar.stop == bar.stops[-1]
    qtbot.keyClick(canvas, Qt.Key.Key_Left)
    assert bar.stop == bar.stops[-2]
    qtbot.keyClick(canvas, Qt.Key.Key_Escape)
    assert not bar.isVisible()
    qtbot.keyClick(canvas, Qt.Key.Key_Right)
    assert bar.stop == bar.stops[-2]


def test_a_step_says_its_shapes_its_formula_and_its_count(tab: MapTab, qtbot: QtBot) -> None:
    canvas, bar = canvas_of(tab), find(tab, StepPlayer, "mapWalkBar")
    qtbot.keyClick(canvas, Qt.Key.Key_W)
    names = [stop.step.name for stop in bar.stops]
    bar.step(names.index("Multi-head self-attention"))
    said = bar.accessibleDescription()
    assert "[B, S, D]" in said
    assert "2,362,368" in said
    bar.step(-100)
    bar.step(names.index("Add-Norm" if "Add-Norm" in names else "Norm"))
    assert "1,536" in bar.accessibleDescription()


def test_it_plays_by_itself_and_rests(tab: MapTab, qtbot: QtBot) -> None:
    canvas, bar = canvas_of(tab), find(tab, StepPlayer, "mapWalkBar")
    bar.timer.setInterval(1)
    qtbot.keyClick(canvas, Qt.Key.Key_Space)
    assert bar.is_playing
    qtbot.waitUntil(lambda: bar.stop == bar.stops[3])
    play = find(tab, QToolButton, "mapPlay")
    qtbot.mouseClick(play, Qt.MouseButton.LeftButton)
    assert not play.isChecked()
    qtbot.keyClick(canvas, Qt.Key.Key_Space)
    qtbot.waitUntil(lambda: bar.stop == bar.stops[-1] and not bar.is_playing)


def test_a_click_on_the_map_ends_playing(tab: MapTab, qtbot: QtBot) -> None:
    canvas, bar = canvas_of(tab), find(tab, StepPlayer, "mapWalkBar")
    qtbot.keyClick(canvas, Qt.Key.Key_Space)
    assert canvas.scope == WHOLE
    qtbot.mouseClick(canvas, Qt.MouseButton.LeftButton, pos=middle(tab, "embeddings"))
    assert not bar.is_playing


def test_it_follows_what_is_selected_elsewhere(
    tab: MapTab, workspace: Workspace, qtbot: QtBot
) -> None:
    canvas, bar = canvas_of(tab), find(tab, StepPlayer, "mapWalkBar")
    qtbot.keyClick(canvas, Qt.Key.Key_W)
    for path, name in (
        ("encoder.layer.0.attention.self.query", "Multi-head self-attention"),
        ("encoder.layer.0.output.dense", "Feed-forward network"),
        ("encoder.layer.7.attention.self", "Layers 1–11"),
    ):
        workspace.selection.select(path)
        assert bar.stop is not None
        assert bar.stop.step.name == name
        assert workspace.selection.place.path == path
    # From there the keys go on.
    qtbot.keyClick(canvas, Qt.Key.Key_Right)
    assert workspace.selection.place.path == "pooler"


def test_it_begins_where_one_is(tab: MapTab, workspace: Workspace, qtbot: QtBot) -> None:
    canvas, bar = canvas_of(tab), find(tab, StepPlayer, "mapWalkBar")
    workspace.selection.select("encoder.layer.0.output.dense")
    qtbot.keyClick(canvas, Qt.Key.Key_W)
    assert bar.stop is not None
    assert bar.stop.step.name == "Feed-forward network"
    # What was left is gone on with.
    qtbot.keyClick(canvas, Qt.Key.Key_Right)
    stop = bar.stop
    qtbot.keyClick(canvas, Qt.Key.Key_W)
    qtbot.keyClick(canvas, Qt.Key.Key_W)
    assert bar.stop == stop
