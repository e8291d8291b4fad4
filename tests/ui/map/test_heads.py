"""The map after a run: attention of heads, statistics, differences and checks."""

import numpy as np
import pytest
from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QToolButton
from pytestqt.qtbot import QtBot

from bertviewer.charts.levels import PARTS, levels_of
from bertviewer.charts.map.part_graphs import Scope
from bertviewer.charts.map.values import CHECK, MACS, MapMeasure
from bertviewer.core.replay.attention import attention_of
from bertviewer.core.replay.recorded_run import RecordedRun
from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.schema.check import Check, CheckStep
from bertviewer.core.util import libraries
from bertviewer.plots.color_scale import ColorScale, color_table
from bertviewer.ui.jobs.model_jobs import Ran
from bertviewer.ui.map.header import MeasureButton
from bertviewer.ui.map.legend import LegendBar
from bertviewer.ui.map.tab import MapTab
from bertviewer.ui.shell.main_window import MainWindow
from bertviewer.ui.state.workspace import Workspace
from tests.core.replay.model_runs import Opened, known
from tests.core.walkthrough.small_walkthroughs import small
from tests.plots.looking import click
from tests.ui.conftest import OPEN_TIMEOUT
from tests.ui.direct_worker import DirectWorker
from tests.ui.finding import find, is_drawn, last_run
from tests.ui.map.conftest import ShowMap
from tests.ui.map.helpers import (
    LAYER,
    canvas_of,
    center,
    choose,
    middle,
    node,
    selected,
    strip_of,
    viewport_of,
)

ATTENTION = f"{LAYER}.attention.self"


def finish(workspace: Workspace) -> None:
    """Have the attention of the opened part."""
    worker = workspace.jobs.worker
    assert isinstance(worker, DirectWorker)
    worker.finish()


def show_run(workspace: Workspace, opened: Opened) -> None:
    libraries.load()
    workspace.jobs.model = opened.model
    workspace.show_run(Ran(RecordedRun(opened.run, opened.cache), None))
    finish(workspace)


@pytest.fixture
def ran(layer: MapTab, workspace: Workspace) -> MapTab:
    """Return the map of a small BERT after a run, with the second layer opened."""
    show_run(workspace, known("bert"))
    return layer


def images_of(tab: MapTab, scope: str = LAYER) -> tuple[QImage, ...]:
    return tuple(canvas_of(tab).head_images[Scope(scope), node(tab, "attention").node.id])


def test_tiles_have_the_attention_of_their_heads(ran: MapTab, workspace: Workspace) -> None:
    images = images_of(ran)
    maps = attention_of(known("bert"), ATTENTION)
    assert len(images) == len(maps.probabilities) == 3
    levels = levels_of(maps.probabilities, bounds=PARTS)
    scale = ColorScale(levels, color_table(viewport_of(ran).cache.theme, False), is_root=True)
    for image, head in zip(images, maps.probabilities, strict=True):
        assert (image.height(), image.width()) == head.shape
        assert image == scale.image(head).convertToFormat(QImage.Format.Format_RGB32)
    # Another layer has its own.
    workspace.selection.select("encoder.layer.0.attention.self")
    finish(workspace)
    assert images_of(ran, "encoder.layer.0")[0] != images[0]


def test_a_click_on_a_tile_or_shift_and_an_arrow_selects_a_head(
    ran: MapTab, workspace: Workspace
) -> None:
    canvas, selection = canvas_of(ran), workspace.selection
    tile = node(ran, "attention").tiles[1]
    click(canvas, center(viewport_of(ran).camera.seen(tile)))
    assert (selection.head, canvas.head) == (1, 1)
    assert selected(workspace) == ATTENTION
    shift = Qt.KeyboardModifier.ShiftModifier
    for key, head in ((Qt.Key.Key_Right, 2), (Qt.Key.Key_Right, 2), (Qt.Key.Key_Left, 1)):
        QTest.keyClick(canvas, key, shift)
        assert (selection.head, canvas.head) == (head, head)


def test_masked_cells_are_transparent(show_map: ShowMap, workspace: Workspace) -> None:
    tab = show_map(small("gpt2"))
    workspace.selection.select("h.1")
    show_run(workspace, known("gpt2"))
    for image in images_of(tab, "h.1"):
        count = image.width()
        opaque = [
            [image.pixelColor(key, query).alpha() == 255 for key in range(count)]
            for query in range(count)
        ]
        assert opaque == np.tri(count, dtype=bool).tolist()


def test_blocks_and_nodes_have_the_statistics_of_the_run(ran: MapTab) -> None:
    run, strip = known("bert").run, strip_of(ran)
    figures = {block.name: strip.colors[block].figure for block in strip.blocks}
    of_layer = run.activation(LAYER)
    assert of_layer is not None
    assert figures["layer 1"] == f"std {of_layer.statistics.std:.2f}"
    choose(ran, MapMeasure("statistic", "rms"))
    colors = viewport_of(ran).cache.style.colors(Scope(LAYER))
    query = run.activation(f"{ATTENTION}.query")
    assert colors is not None
    assert query is not None
    assert colors[node(ran, "query").node.id].figure == f"{query.statistics.rms:.3g}"


def test_multiply_adds_are_those_of_the_tokens_of_the_run(ran: MapTab) -> None:
    choose(ran, MACS)
    count = len(known("bert").run.tokens)
    legend = find(ran, LegendBar, "mapLegend")
    assert f"multiply-adds for {count} tokens" in legend.accessibleName()
    tip = canvas_of(ran).tip_at(QPointF(middle(ran, "query")))
    assert f"multiply-adds for {count} tokens" in tip


def test_a_difference_needs_a_baseline(ran: MapTab, workspace: Workspace) -> None:
    measure, strip = find(ran, MeasureButton, "mapMeasure"), strip_of(ran)
    workspace.runs.keep()
    choose(ran, MapMeasure("difference", "std"))
    assert {strip.colors[block].figure for block in strip.blocks} == {"0"}
    workspace.runs.drop()
    assert measure.measure.kind == "part"


def test_a_check_is_shown_on_blocks_and_nodes(ran: MapTab, workspace: Workspace) -> None:
    button, strip = find(ran, QToolButton, "mapCheck"), strip_of(ran)
    assert not button.isVisible()
    choose(ran, CHECK)
    assert button.isVisible()
    assert button.text() == "Verify layer 1"
    steps = (
        CheckStep(LAYER, "output", 1e-7, 1e-6, True),
        CheckStep(ATTENTION, "output", 1, 0, False),
    )
    assert workspace.runs.current is not None
    workspace.runs.set_check(workspace.runs.current, LAYER, Check(steps))
    block = next(block for block in strip.blocks if block.name == "layer 1")
    assert strip.colors[block].figure == "✗"
    assert "failed" in find(ran, LegendBar, "mapLegend").accessibleName()


def test_the_demo_is_run_and_checked_in_the_window(demo_window: MainWindow, qtbot: QtBot) -> None:
    workspace = demo_window.workspace
    workspace.selection.select("encoder.layer.3")
    workspace.run_sentence(Sentence("The cat sat on the mat."), random_weights=False)
    qtbot.waitUntil(lambda: is_drawn(demo_window), timeout=OPEN_TIMEOUT)
    tab = find(demo_window, MapTab, "mapTab")
    qtbot.waitUntil(lambda: bool(canvas_of(tab).head_images), timeout=OPEN_TIMEOUT)
    assert len(images_of(tab, "encoder.layer.3")) == 12
    count = len(last_run(demo_window).tokens)
    assert find(tab, QLabel, "mapFacts").text().endswith(f"[{count}, 384] → [{count}, 384]")
    choose(tab, CHECK)
    button = find(tab, QToolButton, "mapCheck")
    click(button, button.rect().center())
    qtbot.waitUntil(lambda: bool(workspace.runs.checks), timeout=OPEN_TIMEOUT)
    block = next(block for block in strip_of(tab).blocks if block.name == "layer 3")
    assert strip_of(tab).colors[block].figure == "✓"
