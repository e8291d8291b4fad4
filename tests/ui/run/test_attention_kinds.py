"""Attention of other models in the window: shared layers, a decoder's two kinds, none."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PySide6.QtCore import QPoint
from PySide6.QtWidgets import QLabel, QToolButton
from pytestqt.qtbot import QtBot

from bertviewer.charts.selection_key import SelectionKey
from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.sources.parsing import parse_source
from bertviewer.plots.head_grid import HeadGrid
from bertviewer.plots.heatmap import Heatmap
from bertviewer.plots.token_matrix import TokenMatrix
from bertviewer.ui.jobs.worker import Worker
from bertviewer.ui.shell.main_window import MainWindow
from tests.core.formulas.formula_models import TINY
from tests.plots.looking import click, pixel
from tests.ui.conftest import OPEN_TIMEOUT
from tests.ui.finding import find
from tests.ui.run.attention_window import Settle, charts, choice, choose, head, heads, show, titles

Open = Callable[..., MainWindow]


@pytest.fixture
def tiny(window: MainWindow, worker: Worker, settle: Settle, qtbot: QtBot, tmp_path: Path) -> Open:
    """Return what opens a tiny model, runs a pair of sentences and shows the view."""

    def open_model(family: str, **changes: Any) -> MainWindow:
        path = tmp_path / "config.json"
        path.write_text(json.dumps({"model_type": family, **TINY.get(family, {}), **changes}))
        window.open_source(parse_source(str(path)))
        workspace = window.workspace
        qtbot.waitUntil(lambda: workspace.architecture is not None, timeout=OPEN_TIMEOUT)
        qtbot.waitUntil(lambda: not worker.busy, timeout=OPEN_TIMEOUT)
        workspace.run_sentence(Sentence("a b c d e", "f g"), random_weights=True)
        settle()
        show(window, settle)
        return window

    return open_model


def test_calls_of_a_shared_layer(tiny: Open, settle: Settle) -> None:
    window = tiny("albert", num_hidden_layers=3)
    names = [choice(window).itemText(n) for n in range(choice(window).count())]
    assert names == ["layer 0", "layer 1", "layer 2"]
    first = np.asarray(heads(window).values)
    choose(window, settle, "layer 2")
    path = window.workspace.selection.place.path
    assert path is not None
    assert path.endswith("albert_layers.0.attention")
    assert choice(window).currentText() == "layer 2"
    assert np.abs(np.asarray(heads(window).values) - first).max() > 1e-6
    find(window, QToolButton, "allLayers").click()
    settle()
    (chart,) = charts(window, "allHeads")
    assert chart.values.shape == (3, 3)
    plot = find(window, Heatmap, "allHeads")
    click(plot, pixel(plot, 1.5, 0.5))
    settle()
    assert choice(window).currentText() == "layer 0"
    assert np.array_equal(np.asarray(heads(window).values), first)


def test_both_kinds_of_a_decoder(tiny: Open, settle: Settle) -> None:
    window = tiny("bart")
    tokens = window.workspace.runs.run.tokens if window.workspace.runs.run else ()
    source = [n for n, token in enumerate(tokens) if token.segment == 0]
    target = [n for n, token in enumerate(tokens) if token.segment == 1]
    window.workspace.selection.select("decoder.layers.1")
    settle()
    assert choice(window).currentText() == "decoder layer 1, self"
    assert head(window).values.shape == (len(target), len(target))
    choose(window, settle, "decoder layer 1, cross")
    assert window.workspace.selection.place.path == "decoder.layers.1.encoder_attn"
    assert head(window).values.shape == (len(target), len(source))
    assert not any("distance" in title for title in titles(window))
    most = find(window, QLabel, "mostAttended")
    window.workspace.selection.go(SelectionKey(token=source[0]))
    settle()
    assert " is attended to most by " in most.text()
    window.workspace.selection.go(SelectionKey(token=target[0]))
    settle()
    assert " attends most to " in most.text()


def test_a_single_head_has_the_room_of_all_heads(tiny: Open, settle: Settle) -> None:
    window = tiny("bert", num_attention_heads=1)
    grid, plot = find(window, HeadGrid, "headGrid"), find(window, TokenMatrix, "headPlot")
    assert plot.isVisible()
    assert not grid.isVisible()
    find(window, QToolButton, "allLayers").click()
    settle()
    assert find(window, Heatmap, "allHeads").isVisible()
    find(window, QToolButton, "allLayers").click()
    settle()
    assert not grid.isVisible()


def test_one_above_the_other_in_a_pane_higher_than_wide(tiny: Open, settle: Settle) -> None:
    window = tiny("bert")
    grid, plot = find(window, HeadGrid, "headGrid"), find(window, TokenMatrix, "headPlot")

    def places() -> tuple[QPoint, QPoint]:
        return grid.mapTo(window, QPoint()), plot.mapTo(window, QPoint())

    beside = places()
    assert beside[1].x() > beside[0].x() + grid.width() / 2
    window.panes.maximize("run")
    window.resize(1000, 1500)
    settle()
    below = places()
    assert below[1].y() > below[0].y() + grid.height() / 2
    assert grid.width() > 500


def test_a_model_without_attention(tiny: Open) -> None:
    window = tiny("fnet", vocab_size=97, hidden_size=24, num_hidden_layers=2, pad_token_id=0)
    assert "This model has no attention whose heads can be shown." in titles(window)
    assert not choice(window).isVisible()
