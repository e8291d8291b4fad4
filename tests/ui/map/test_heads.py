"""After a run the heads' tiles are what they look at, and a click on one selects it."""

import json
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from bertviewer.charts.map.part_graphs import Scope
from bertviewer.charts.map.values import CHECK, MACS, MapMeasure
from bertviewer.core.replay.attention import attention_of
from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.sources.parsing import parse_source
from bertviewer.plots.color_scale import ColorScale, color_table
from bertviewer.ui.jobs.worker import Worker
from bertviewer.ui.map.header import MeasureButton
from bertviewer.ui.map.legend import LegendBar
from bertviewer.ui.map.tab import MapTab
from bertviewer.ui.shell.main_window import MainWindow
from tests.core.formulas.formula_models import TINY
from tests.ui.conftest import OPEN_TIMEOUT
from tests.ui.finding import find, is_drawn, last_run
from tests.ui.map.map_hands import canvas_of, middle, node, strip_of, viewport_of

LAYER = "encoder.layer.3"


@pytest.fixture
def tab(demo_window: MainWindow, qtbot: QtBot) -> MapTab:
    """Return the demo's map after a run, with a layer opened and its heads there."""
    demo_window.workspace.selection.select(LAYER)
    demo_window.workspace.run_sentence(Sentence("The cat sat on the mat."), random_weights=False)
    qtbot.waitUntil(lambda: is_drawn(demo_window), timeout=OPEN_TIMEOUT)
    tab = find(demo_window, MapTab, "mapTab")
    qtbot.waitUntil(lambda: bool(canvas_of(tab).head_images), timeout=OPEN_TIMEOUT)
    return tab


def choose(tab: MapTab, measure: MapMeasure) -> None:
    choice = find(tab, MeasureButton, "mapMeasure")
    choice.choose(measure)
    choice.chosen.emit(measure)


def test_tiles_are_the_heads_own_attention(tab: MapTab, demo_window: MainWindow) -> None:
    key = Scope(LAYER), node(tab, "attention").node.id
    images = canvas_of(tab).head_images[key]
    watched = demo_window.workspace.runs.current
    assert watched is not None
    assert demo_window.workspace.jobs.model is not None
    cached = watched.cached(demo_window.workspace.jobs.model)
    maps = attention_of(cached, f"{LAYER}.attention.self")
    assert len(images) == len(maps.probabilities) == 12
    theme = viewport_of(tab).cache.theme
    levels = 0.0, float(np.max(maps.probabilities))
    for image, head in zip(images, maps.probabilities, strict=True):
        assert (image.height(), image.width()) == head.shape
        scale = ColorScale(levels, color_table(theme, False), is_root=True)
        assert image == scale.image(head).convertToFormat(QImage.Format.Format_RGB32)


def test_a_click_on_a_tile_selects_the_head(
    tab: MapTab, demo_window: MainWindow, qtbot: QtBot
) -> None:
    placed = node(tab, "attention")
    seen = viewport_of(tab).camera.seen(placed.tiles[8])
    place = QPoint(round(seen.x + seen.width / 2), round(seen.y + seen.height / 2))
    qtbot.mouseClick(canvas_of(tab), Qt.MouseButton.LeftButton, pos=place)
    selection = demo_window.workspace.selection
    assert selection.head == 8
    assert selection.place.path == f"{LAYER}.attention.self"
    qtbot.waitUntil(lambda: canvas_of(tab).head == 8)


def test_another_layer_has_its_own_pictures(
    tab: MapTab, demo_window: MainWindow, qtbot: QtBot
) -> None:
    demo_window.workspace.selection.select("encoder.layer.1.attention.self")
    key = Scope("encoder.layer.1"), node(tab, "attention").node.id
    qtbot.waitUntil(lambda: key in canvas_of(tab).head_images, timeout=OPEN_TIMEOUT)
    before = canvas_of(tab).head_images[Scope(LAYER), key[1]]
    assert canvas_of(tab).head_images[key][0] != before[0]


def test_blocks_and_boxes_have_the_statistic_of_the_run(
    tab: MapTab, demo_window: MainWindow
) -> None:
    run, strip = last_run(demo_window), strip_of(tab)
    figures = {block.name: strip.colors[block].figure for block in strip.blocks}
    layer = run.activation(LAYER)
    assert layer is not None
    assert figures["layer 3"] == f"std {layer.statistics.std:.2f}"
    choose(tab, MapMeasure("statistic", "rms"))
    tints = viewport_of(tab).cache.style.colors(Scope(LAYER))
    query = run.activation(f"{LAYER}.attention.self.query")
    assert tints is not None
    assert query is not None
    assert tints[node(tab, "query").node.id].figure == f"{query.statistics.rms:.3g}"


def test_a_check_is_offered_and_its_result_shown(
    tab: MapTab, demo_window: MainWindow, qtbot: QtBot
) -> None:
    from PySide6.QtWidgets import QToolButton

    button = find(tab, QToolButton, "mapCheck")
    assert not button.isVisible()
    choose(tab, CHECK)
    assert button.isVisible()
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: bool(demo_window.workspace.runs.checks), timeout=OPEN_TIMEOUT)
    strip = strip_of(tab)
    block = next(block for block in strip.blocks if block.name == "layer 3")
    assert strip.colors[block].figure == "✓"
    assert "passed" in find(tab, LegendBar, "mapLegend").accessibleName()


def test_a_difference_needs_a_run_a_and_goes_with_it(
    tab: MapTab, demo_window: MainWindow, qtbot: QtBot
) -> None:
    workspace = demo_window.workspace
    choice = find(tab, MeasureButton, "mapMeasure")
    workspace.runs.keep()
    workspace.run_sentence(Sentence("A dog ran."), random_weights=False)
    qtbot.waitUntil(lambda: len(last_run(demo_window).tokens) < 8, timeout=OPEN_TIMEOUT)
    qtbot.waitUntil(lambda: is_drawn(demo_window), timeout=OPEN_TIMEOUT)
    choose(tab, MapMeasure("difference", "std"))
    strip = strip_of(tab)
    assert all(strip.colors[block].figure for block in strip.blocks)
    workspace.runs.drop()
    qtbot.waitUntil(lambda: choice.measure.kind == "part")


def test_multiply_adds_are_those_of_the_runs_tokens(tab: MapTab, demo_window: MainWindow) -> None:
    choose(tab, MACS)
    run = last_run(demo_window)
    count = len(run.tokens)
    assert find(tab, QLabel, "mapFacts").text().endswith(f"[{count}, 384] → [{count}, 384]")
    legend = find(tab, LegendBar, "mapLegend")
    assert f"multiply-adds for {count} tokens" in legend.accessibleName()
    tip = canvas_of(tab).tip_at(QPointF(middle(tab, "query")))
    assert f"{count * 384 * 384:,} multiply-adds for {count} tokens" in tip


def test_what_a_mask_hides_is_no_measured_zero(
    window: MainWindow, worker: Worker, qtbot: QtBot, tmp_path: Path
) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"model_type": "gpt2", **TINY["gpt2"]}))
    window.open_source(parse_source(str(path)))
    workspace = window.workspace
    qtbot.waitUntil(lambda: workspace.architecture is not None, timeout=OPEN_TIMEOUT)
    qtbot.waitUntil(lambda: not worker.busy, timeout=OPEN_TIMEOUT)
    workspace.selection.select("h.1")
    workspace.run_sentence(Sentence("a b c d"), random_weights=True)
    tab = find(window, MapTab, "mapTab")
    qtbot.waitUntil(lambda: bool(canvas_of(tab).head_images), timeout=OPEN_TIMEOUT)
    for image in canvas_of(tab).head_images[Scope("h.1"), node(tab, "attention").node.id]:
        opaque = [
            [image.pixelColor(key, query).alpha() == 255 for key in range(image.width())]
            for query in range(image.height())
        ]
        assert opaque == np.tri(image.height(), image.width(), dtype=bool).tolist()
