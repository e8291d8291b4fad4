"""The map's page: title, messages, measures, legend, sizes, and its look."""

import subprocess
import sys
from collections.abc import Callable
from typing import Any

from msgspec.structs import replace
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QApplication, QLabel, QPushButton, QToolButton
from pytestqt.qtbot import QtBot

from bertviewer.charts.map.values import MACS, PARAMETERS, figure_text
from bertviewer.core.schema.flow import Flows
from bertviewer.ui.map.header import MeasureButton
from bertviewer.ui.map.legend import LegendBar
from bertviewer.ui.map.tab import MapTab
from bertviewer.ui.map.treemap import TreemapView
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.theme.appearance import apply_appearance
from tests.core.walkthrough.small_walkthroughs import small
from tests.plots.looking import click, press, sheet
from tests.ui.finding import find
from tests.ui.map.conftest import ShowMap
from tests.ui.map.helpers import LAYER, canvas_of, choose, node, strip_of, viewport_of, wheel


def test_the_look_of_the_map(
    show_map: ShowMap,
    workspace: Workspace,
    qapp: QApplication,
    image: Callable[[str, Any], None],
) -> None:
    def look(name: str) -> None:
        QApplication.processEvents()  # widgets get their places
        strip_of(tab).clearFocus()
        image(name, sheet(tab.grab().toImage()))

    tab = show_map(small("bert"))
    tab.resize(600, 380)
    look("bert")
    workspace.selection.select(f"{LAYER}.attention.self.query")
    look("layer")
    for _ in range(5):
        wheel(canvas_of(tab), canvas_of(tab).rect().center(), 1)
    apply_appearance(qapp, "dark")
    choose(tab, PARAMETERS)
    look("zoomed in, dark, parameters")
    click(find(tab, QToolButton, "mapAreas"), QPoint(5, 5))
    tab.resize(540, 340)
    apply_appearance(qapp, "light")
    look("treemap of parameters")
    find(tab, QToolButton, "mapFlow").click()
    tab = show_map(small("t5"))
    workspace.selection.select("decoder.block.0")
    tab.resize(600, 300)
    look("decoder block, compact")


def test_the_title_names_the_opened_part(tab: MapTab, workspace: Workspace) -> None:
    name, facts = find(tab, QLabel, "mapTitle"), find(tab, QLabel, "mapFacts")
    assert name.text() == "BertModel"
    workspace.selection.select(LAYER)
    assert name.text() == "layer 1"
    module = next(each for each in small("bert").modules if each.path == LAYER)
    shapes = "[1, 16, 24] → [1, 16, 24]"
    assert facts.text() == f"BertLayer · {module.parameters:,} parameters · {shapes}"


def test_a_model_without_flow_says_why_and_offers_its_treemap(show_map: ShowMap) -> None:
    flows = Flows({}, {}, {"": "the code wants an image"})
    tab = show_map(replace(small("bert"), flows=flows))
    message = find(tab, QLabel, "mapMessage")
    assert message.isVisible()
    assert "the code wants an image" in message.text()
    assert not canvas_of(tab).isVisible()
    button = find(tab, QPushButton, "mapShowAreas")
    click(button, button.rect().center())
    assert find(tab, TreemapView, "mapTreemap").isVisible()
    assert not button.isVisible()


def test_the_map_appears_with_the_flow(show_map: ShowMap) -> None:
    tab = show_map(replace(small("bert"), flows=None))
    assert find(tab, QLabel, "mapMessage").isVisible()
    show_map(small("bert"))
    assert canvas_of(tab).isVisible()
    assert len(strip_of(tab).blocks) == 4
    # Another model replaces it.
    show_map(small("gpt2"))
    assert find(tab, QLabel, "mapTitle").text() == "GPT2Model"
    assert [block.name for block in strip_of(tab).blocks][:3] == ["wte", "wpe", "h 0"]


def test_nodes_blocks_and_legend_have_the_chosen_measure(layer: MapTab) -> None:
    canvas, strip = canvas_of(layer), strip_of(layer)
    legend = find(layer, LegendBar, "mapLegend")
    parts = ["embeddings", "attention", "feed-forward", "norm", "head"]
    assert [key.text for key in legend.legend.keys] == parts
    for measure, name, value in ((PARAMETERS, "parameters", 600), (MACS, "multiply-adds", 9216)):
        choose(layer, measure)
        assert name in find(layer, MeasureButton, "mapMeasure").text()
        colors = viewport_of(layer).cache.style.colors(canvas.scope)
        assert colors is not None
        assert colors[node(layer, "query").node.id].figure == figure_text(measure, value)
        assert colors[node(layer, "hidden states").node.id].figure == ""
        assert all(strip.colors[block].hue for block in strip.blocks)
        assert legend.legend.title.startswith(name)
        assert legend.legend.scale is not None
        assert name in legend.accessibleName()


def test_measures_of_runs_are_disabled_without_a_run(tab: MapTab) -> None:
    menu = find(tab, MeasureButton, "mapMeasure").menu()
    enabled = {action.text(): action.isEnabled() for action in menu.actions()}
    assert enabled["Part"]
    assert enabled["Parameters"]
    for name in ("Run statistic", "Difference from baseline (A)", "Check"):
        assert not enabled[name]


def test_a_low_tab_leaves_the_room_to_the_drawing(layer: MapTab, qtbot: QtBot) -> None:
    legend, strip, canvas = find(layer, LegendBar, "mapLegend"), strip_of(layer), canvas_of(layer)
    high = strip.height()
    assert legend.isVisible()
    layer.resize(620, 300)
    qtbot.waitUntil(lambda: strip.height() < high and canvas.height() > 300 * 2 / 3)
    assert not legend.isVisible()
    button = find(layer, QToolButton, "mapFlow")
    assert button.mapTo(layer, QPoint()).x() > strip.geometry().right()
    layer.resize(820, 620)
    qtbot.waitUntil(lambda: legend.isVisible() and strip.height() == high)


def test_lines_lead_from_the_block_of_what_is_shown(layer: MapTab, workspace: Workspace) -> None:
    below = layer.rect()
    below.setTop(strip_of(layer).geometry().bottom() + 10)
    below.setHeight(14)
    of_layer = layer.grab(below).toImage()
    workspace.selection.select("")
    of_all = layer.grab(below).toImage()
    assert of_layer != of_all
    workspace.selection.select(LAYER)
    find(layer, QToolButton, "mapAreas").click()  # of the whole model
    assert layer.grab(below).toImage() == of_all
    press(find(layer, TreemapView, "mapTreemap"), Qt.Key.Key_T)
    assert layer.grab(below).toImage() == of_layer


def test_it_is_imported_without_numpy_and_torch() -> None:
    code = (
        "import sys; import bertviewer.ui.map.tab; "
        "print([name for name in ('numpy', 'torch', 'sympy') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
