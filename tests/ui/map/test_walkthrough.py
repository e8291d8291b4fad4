"""The walkthrough on the map: the nodes of its steps, its bar, keys and playback."""

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
from tests.plots.looking import click, press
from tests.ui.finding import find
from tests.ui.map.conftest import ShowMap
from tests.ui.map.helpers import canvas_of, marked, middle, selected

Key = Qt.Key
LAYER = "encoder.layer.0"


@pytest.fixture
def tab(show_map: ShowMap) -> MapTab:
    """Return the map of a BERT preset, whose counts have symbols."""
    return show_map(derived("bert-base-uncased"))


@pytest.fixture
def player(tab: MapTab) -> StepPlayer:
    return find(tab, StepPlayer, "mapWalkBar")


def name_of(player: StepPlayer) -> str:
    assert player.stop is not None
    return player.stop.step.name


def stops(family: str) -> tuple[PlaybackStop, ...]:
    architecture = small(family)
    return playback_stops(build_walkthrough(architecture), PartGraphs(architecture))


@pytest.mark.parametrize("family", ["bert", "gpt2", "t5", "bart", "llama", "mixtral", "albert"])
def test_each_step_that_computes_has_its_nodes(family: str) -> None:
    graphs = PartGraphs(small(family))
    for stop in stops(family):
        flow = graphs.flow(stop.part)
        assert flow is not None
        assert set(stop.keys) <= {node.id for node in flow.nodes}
        if stop.step.flow is not None or stop.step.is_input:
            assert stop.keys, stop.step.name


def test_an_addition_is_at_its_sign() -> None:
    sums = (stop for stop in stops("bert") if stop.step.name == "Add")
    first = next(stop for stop in sums if stop.title != "Embeddings")
    flow = PartGraphs(small("bert")).flow(first.part)
    assert flow is not None
    (node,) = [node for node in flow.nodes if node.id in first.keys]
    assert node.operation == "residual"


def test_keys_go_step_by_step(tab: MapTab, player: StepPlayer, workspace: Workspace) -> None:
    canvas = canvas_of(tab)
    assert not player.isVisible()
    press(canvas, Key.Key_W)
    assert player.isVisible()
    assert player.stop == player.stops[0]
    for _ in range(len(player.stops) + 3):
        press(canvas, Key.Key_Right)
        stop = player.stop
        assert stop is not None
        assert canvas.scope == stop.part
        assert marked(tab) == set(stop.keys)
        if stop.step.path is not None:
            assert selected(workspace) == stop.step.path
    assert player.stop == player.stops[-1]
    press(canvas, Key.Key_Left)
    assert player.stop == player.stops[-2]
    press(canvas, Key.Key_Escape)
    assert not player.isVisible()
    press(canvas, Key.Key_Right)
    assert player.stop == player.stops[-2]


def test_a_step_is_described_by_shapes_and_counts(tab: MapTab, player: StepPlayer) -> None:
    press(canvas_of(tab), Key.Key_W)
    names = [stop.step.name for stop in player.stops]
    player.step(names.index("Multi-head self-attention"))
    description = player.accessibleDescription()
    assert "[B, S, D]" in description
    assert "2,362,368" in description
    player.step(-100)
    player.step(names.index("Add-Norm" if "Add-Norm" in names else "Norm"))
    assert "1,536" in player.accessibleDescription()


def test_playback_runs_to_the_end_and_pauses(tab: MapTab, player: StepPlayer, qtbot: QtBot) -> None:
    canvas, play = canvas_of(tab), find(tab, QToolButton, "mapPlay")
    player.timer.setInterval(1)
    press(canvas, Key.Key_Space)
    assert player.is_playing
    qtbot.waitUntil(lambda: player.stop == player.stops[3])
    click(play, play.rect().center())
    assert not play.isChecked()
    press(canvas, Key.Key_Space)
    qtbot.waitUntil(lambda: player.stop == player.stops[-1] and not player.is_playing)
    # A click on the map pauses as well.
    player.timer.setInterval(10_000)
    press(canvas, Key.Key_Space)
    assert player.is_playing
    assert canvas.scope == WHOLE
    click(canvas, middle(tab, "embeddings"))
    assert not player.is_playing


def test_it_follows_the_selection(tab: MapTab, player: StepPlayer, workspace: Workspace) -> None:
    canvas = canvas_of(tab)
    press(canvas, Key.Key_W)
    for path, name in (
        (f"{LAYER}.attention.self.query", "Multi-head self-attention"),
        (f"{LAYER}.output.dense", "Feed-forward network"),
        ("encoder.layer.7.attention.self", "Layers 1–11"),
    ):
        workspace.selection.select(path)
        assert name_of(player) == name
        assert selected(workspace) == path
    press(canvas, Key.Key_Right)
    assert selected(workspace) == "pooler"


def test_it_begins_at_the_selection_and_resumes(
    tab: MapTab, player: StepPlayer, workspace: Workspace
) -> None:
    canvas = canvas_of(tab)
    workspace.selection.select(f"{LAYER}.output.dense")
    press(canvas, Key.Key_W)
    assert name_of(player) == "Feed-forward network"
    press(canvas, Key.Key_Right)
    stop = player.stop
    press(canvas, Key.Key_W, Key.Key_W)
    assert player.stop == stop
