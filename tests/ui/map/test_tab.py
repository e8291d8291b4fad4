"""The map's page: what it says, colours, and what it needs to be there."""

import subprocess
import sys

from msgspec.structs import replace
from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtWidgets import QLabel, QPushButton, QToolButton
from pytestqt.qtbot import QtBot

from bertviewer.charts.map.values import MACS, PARAMETERS, figure_text
from bertviewer.core.schema.flow import Flows
from bertviewer.ui.map.header import MeasureButton
from bertviewer.ui.map.legend import LegendBar
from bertviewer.ui.map.treemap import TreemapView
from bertviewer.ui.state.workspace import Workspace
from tests.core.walkthrough.small_walkthroughs import small
from tests.ui.finding import find
from tests.ui.map.conftest import ShowMap
from tests.ui.map.map_hands import canvas_of, node, strip_of, viewport_of


def test_the_title_says_what_is_opened(show_map: ShowMap, workspace: Workspace) -> None:
    tab = show_map(small("bert"))
    name, facts = find(tab, QLabel, "mapTitle"), find(tab, QLabel, "mapFacts")
    assert name.text() == "BertModel"
    workspace.selection.select("encoder.layer.1")
    assert name.text() == "layer 1"
    module = next(each for each in small("bert").modules if each.path == "encoder.layer.1")
    assert (
        facts.text() == f"BertLayer · {module.parameters:,} parameters · [1, 16, 24] → [1, 16, 24]"
    )


def test_a_model_without_flow_says_why_and_offers_its_treemap(
    show_map: ShowMap, qtbot: QtBot
) -> None:
    architecture = replace(small("bert"), flows=Flows({}, {}, {"": "the code wants an image"}))
    tab = show_map(architecture)
    message = find(tab, QLabel, "mapMessage")
    assert message.isVisible()
    assert "the code wants an image" in message.text()
    assert not canvas_of(tab).isVisible()
    button = find(tab, QPushButton, "mapShowAreas")
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    assert find(tab, TreemapView, "mapTreemap").isVisible()
    assert not button.isVisible()


def test_the_map_comes_when_the_flow_does(show_map: ShowMap, workspace: Workspace) -> None:
    architecture = small("bert")
    tab = show_map(replace(architecture, flows=None))
    assert find(tab, QLabel, "mapMessage").isVisible()
    workspace.architecture = architecture
    tab.refresh()
    assert canvas_of(tab).isVisible()
    assert len(strip_of(tab).blocks) == 4


def test_figures_of_another_measure_stand_in_boxes_and_blocks(
    show_map: ShowMap, workspace: Workspace
) -> None:
    tab = show_map(small("bert"))
    workspace.selection.select("encoder.layer.1")
    choice = find(tab, MeasureButton, "mapMeasure")
    canvas, strip = canvas_of(tab), strip_of(tab)
    for measure, name in ((PARAMETERS, "parameters"), (MACS, "multiply-adds")):
        choice.choose(measure)
        choice.chosen.emit(measure)
        assert name in choice.text()
        tints = viewport_of(tab).cache.style.colors(canvas.scope)
        assert tints is not None
        query = tints[node(tab, "query").node.id]
        assert query.figure == figure_text(measure, 600 if measure == PARAMETERS else 16 * 24 * 24)
        assert tints[node(tab, "hidden states").node.id].figure == ""
        assert all(strip.colors[block].hue for block in strip.blocks)
        legend = find(tab, LegendBar, "mapLegend").legend
        assert legend.title.startswith(name)
        assert legend.scale is not None
        assert legend.scale.least
        assert legend.scale.most


def test_the_legend_names_the_parts_that_there_are(show_map: ShowMap) -> None:
    bert = find(show_map(small("bert")), LegendBar, "mapLegend").legend
    assert [key.text for key in bert.keys] == [
        "embeddings", "attention", "feed-forward", "norm", "head",
    ]  # fmt: skip


def test_figures_of_a_run_can_be_chosen_only_when_there_is_one(show_map: ShowMap) -> None:
    choice = find(show_map(small("bert")), MeasureButton, "mapMeasure")
    enabled = {action.text(): action.isEnabled() for action in choice.menu().actions()}
    assert enabled["Part"]
    assert enabled["Parameters"]
    assert not enabled["Run statistic"]
    assert not enabled["Difference from baseline (A)"]
    assert not enabled["Check"]


def test_another_model_takes_the_place_of_the_first(
    show_map: ShowMap, workspace: Workspace, qtbot: QtBot
) -> None:
    tab = show_map(small("bert"))
    workspace.selection.select("encoder.layer.1.attention.self.query")
    show_map(small("gpt2"))
    assert find(tab, QLabel, "mapTitle").text() == "GPT2Model"
    assert [block.name for block in strip_of(tab).blocks][:3] == ["wte", "wpe", "h 0"]
    assert canvas_of(tab).grab().width() > 0


def test_it_is_there_before_numpy_pyqtgraph_and_torch() -> None:
    code = (
        "import sys; import bertviewer.ui.map.tab; "
        "print([name for name in ('numpy', 'pyqtgraph', 'torch', 'sympy') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_low_tab_leaves_the_room_to_the_picture(
    show_map: ShowMap, workspace: Workspace, qtbot: QtBot
) -> None:
    tab = show_map(small("bert"))
    workspace.selection.select("encoder.layer.1")
    legend, strip, canvas = find(tab, LegendBar, "mapLegend"), strip_of(tab), canvas_of(tab)
    flow = find(tab, QToolButton, "mapFlow")
    high = strip.height()
    assert legend.isVisible()
    tab.resize(620, 300)
    qtbot.waitUntil(lambda: strip.height() < high and canvas.height() > 300 * 2 / 3)
    assert not legend.isVisible()
    assert flow.mapTo(tab, QPoint()).x() > strip.geometry().right()
    viewport = viewport_of(tab)
    seen = viewport.camera.seen(viewport.cache.bounds(canvas.scope))
    assert seen.y >= 0
    assert seen.bottom <= canvas.height()
    tab.resize(820, 620)
    qtbot.waitUntil(lambda: legend.isVisible() and strip.height() == high)


def test_the_treemap_of_the_whole_model_is_led_to_by_the_whole_strip(
    show_map: ShowMap, workspace: Workspace
) -> None:
    tab = show_map(small("bert"))
    below = QRect(0, strip_of(tab).geometry().bottom() + 10, tab.width(), 14)
    of_all = tab.grab(below).toImage()
    workspace.selection.select("encoder.layer.1")
    of_layer = tab.grab(below).toImage()
    assert of_layer != of_all
    find(tab, QToolButton, "mapAreas").click()
    assert tab.grab(below).toImage() == of_all
    find(tab, QToolButton, "mapFlow").click()
    assert tab.grab(below).toImage() == of_layer
