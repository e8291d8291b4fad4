"""The layers view: statistics of parts and classes of tokens."""

import gc
import re
import weakref
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace
from PySide6.QtWidgets import QApplication, QComboBox, QLabel, QPushButton, QTabWidget
from pytestqt.qtbot import QtBot

from bertviewer.charts.theme import SMALL
from bertviewer.core.analysis.tokens import token_classes
from bertviewer.core.replay import outputs
from bertviewer.core.replay.recorded_run import RecordedRun
from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.schema.statistics import STATISTIC_NAMES
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.util.errors import UserError
from bertviewer.plots.export import svg
from bertviewer.plots.fonts import sized
from bertviewer.plots.heatmap import Heatmap
from bertviewer.plots.line_plot import LinePlot
from bertviewer.ui.jobs.model_jobs import Ran
from bertviewer.ui.jobs.worker import Worker
from bertviewer.ui.run.run_view import RunCache
from bertviewer.ui.shell.main_window import MainWindow
from tests.tools.pdf_text import text_of
from tests.ui.conftest import OPEN_TIMEOUT
from tests.ui.finding import find, last_run
from tests.ui.run.layers_window import TEXT, choose, panels, run, settle, shown_grid, shown_lines


def texts(window: MainWindow, name: str) -> list[str]:
    choice = find(window, QComboBox, name)
    return [choice.itemText(index) for index in range(choice.count())]


def titles(window: MainWindow) -> list[str]:
    return [panel.findChildren(QLabel)[0].text() for panel in panels(window)]


def test_what_can_be_chosen(ran: MainWindow) -> None:
    statistics = texts(ran, "statisticChoice")
    assert statistics == [*STATISTIC_NAMES, "mean ± std", "mean ± std alone"]
    assert find(ran, QComboBox, "statisticChoice").currentText() == "std"
    parts = texts(ran, "partChoice")
    assert parts[:4] == ["selection", "layer output", "attention", "attention.self"]
    assert "output.dense" in parts
    assert texts(ran, "tokenClassChoice") == [
        "all tokens",
        "content",
        "[CLS]",
        "[SEP]",
        "all token classes",
    ]
    assert titles(ran) == ["std of each layer’s output", "Token norms ‖h‖ by layer"]


def test_nan_is_told(ran: MainWindow, worker: Worker, qtbot: QtBot) -> None:
    whole, watched = last_run(ran), ran.workspace.runs.current
    assert watched is not None

    def show(*layers: int) -> str:
        paths = [f"encoder.layer.{n}" for n in layers]
        modules = tuple(
            replace(module, calls=tuple(replace(call, nan_count=3) for call in module.calls))
            if module.path in paths
            else module
            for module in whole.modules
        )
        ran.workspace.show_run(
            Ran(RecordedRun(replace(whole, modules=modules), watched.capture), None)
        )
        settle(ran, worker, qtbot)
        return titles(ran)[0]

    assert show(3, 4, 5) == "std of each layer’s output · NaN or Inf in layers 3–5"
    assert show(1, 5) == "std of each layer’s output · NaN or Inf in layers 1, 5"
    assert show(2) == "std of each layer’s output · NaN or Inf in layer 2"
    assert show() == "std of each layer’s output"
    show(2)
    ran.workspace.runs.keep()
    assert show(1, 5) == (
        "std of each layer’s output · A: NaN or Inf in layer 2; B: NaN or Inf in layers 1, 5"
    )
    assert show() == "std of each layer’s output · A: NaN or Inf in layer 2"


def test_the_part_follows_the_tree_until_one_is_chosen(
    ran: MainWindow, worker: Worker, qtbot: QtBot
) -> None:
    ran.workspace.selection.select("encoder.layer.2.intermediate")
    settle(ran, worker, qtbot)
    assert [line.label for line in shown_lines(ran)] == [
        "encoder.layer: output",
        "encoder.layer: intermediate",
    ]
    assert shown_grid(ran).values.shape == (7, 8)
    choose(ran, "partChoice", "attention.self")
    (line,) = shown_lines(ran)
    run_ = last_run(ran)
    for layer, value in enumerate(line.values):
        activation = run_.activation(f"encoder.layer.{layer}.attention.self")
        assert activation is not None
        assert activation.token_norms is not None
        assert value == activation.statistics.std
        assert shown_grid(ran).values[layer].tolist() == activation.token_norms.tolist()
    assert titles(ran) == [
        "std of attention.self in each layer",
        "Token norms of attention.self by layer",
    ]
    ran.workspace.selection.select("encoder.layer.4.output")
    settle(ran, worker, qtbot)
    assert shown_lines(ran) == (line,)


def test_mean_band_and_extremes_of_the_selected_part_alone(
    ran: MainWindow, worker: Worker, qtbot: QtBot
) -> None:
    ran.workspace.selection.select("encoder.layer.2.output")
    settle(ran, worker, qtbot)
    choose(ran, "statisticChoice", "mean ± std")
    (line,) = shown_lines(ran)
    assert line.label == "encoder.layer: output"
    assert None not in (line.low, line.high, line.min, line.max)
    choose(ran, "statisticChoice", "mean ± std alone")
    (alone,) = shown_lines(ran)
    assert (alone.low, alone.high, alone.min, alone.max) == (line.low, line.high, None, None)


@pytest.mark.parametrize("part", ["layer output", "attention.output"])
def test_classes_of_tokens_are_measured_once(
    ran: MainWindow, worker: Worker, qtbot: QtBot, part: str
) -> None:
    choose(ran, "partChoice", part)
    choose(ran, "tokenClassChoice", "all token classes")
    settle(ran, worker, qtbot)
    assert [line.label for line in shown_lines(ran)] == ["content", "[CLS]", "[SEP]"]
    with qtbot.assertNotEmitted(ran.workspace.jobs.worker.busy_changed):
        choose(ran, "statisticChoice", "rms")
        choose(ran, "tokenClassChoice", "[CLS]")
    (line,) = shown_lines(ran)
    name = "" if part == "layer output" else f".{part}"
    for layer, value in enumerate(line.values):
        activation = last_run(ran).activation(f"encoder.layer.{layer}{name}")
        assert activation is not None
        assert activation.token_norms is not None
        # The root mean square of one vector is its norm over the root of its width.
        assert value == pytest.approx(activation.token_norms[0] / 384**0.5, rel=1e-5)


def test_another_sentence_is_measured_anew(ran: MainWindow, worker: Worker, qtbot: QtBot) -> None:
    choose(ran, "tokenClassChoice", "content")
    settle(ran, worker, qtbot)
    before = shown_lines(ran)
    run(ran, worker, qtbot, "a dog")
    settle(ran, worker, qtbot)
    after = shown_lines(ran)
    assert [line.label for line in after] == ["content"]
    assert after != before


def test_classes_of_both_runs(ran: MainWindow, worker: Worker, qtbot: QtBot) -> None:
    find(ran, QPushButton, "keepRun").click()
    run(ran, worker, qtbot, "a dog barked")
    choose(ran, "tokenClassChoice", "[SEP]")
    settle(ran, worker, qtbot)
    assert [line.label for line in shown_lines(ran)] == ["B · [SEP]", "A · [SEP]"]
    ran.workspace.runs.compare("difference")
    settle(ran, worker, qtbot)
    (line,) = shown_lines(ran)
    assert None not in line.values


def test_why_there_is_nothing_to_show(
    ran: MainWindow, worker: Worker, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise UserError("not to be had")

    monkeypatch.setattr(outputs, "call_statistics", refuse)
    # What the worker found cannot come before the window's thread is back in its loop.
    find(ran, QComboBox, "tokenClassChoice").setCurrentText("content")
    find(ran, RunCache).late.emit()
    assert titles(ran)[0] == "Computing…"
    settle(ran, worker, qtbot)
    layers, norms = panels(ran)
    assert layers.charts == ()
    assert "Computing…" not in titles(ran)
    assert find(layers, QLabel, "chartMessage").text() == "Not to be had"
    assert norms.charts
    choose(ran, "tokenClassChoice", "all tokens")
    assert shown_lines(ran)


def test_a_long_wait_is_told(ran: MainWindow, worker: Worker, qtbot: QtBot) -> None:
    measures = find(ran, RunCache)
    # What the worker found cannot come before the window's thread is back in its loop.
    find(ran, QComboBox, "tokenClassChoice").setCurrentText("content")
    measures.late.emit()
    assert titles(ran) == ["Computing…", "Token norms ‖h‖ by layer"]
    choose(ran, "tokenClassChoice", "all tokens")
    assert titles(ran) == ["std of each layer’s output", "Token norms ‖h‖ by layer"]
    choose(ran, "tokenClassChoice", "content")
    settle(ran, worker, qtbot)
    assert titles(ran) == ["std of each layer’s output", "Token norms ‖h‖ by layer"]
    assert [line.label for line in shown_lines(ran)] == ["content"]


def test_a_view_out_of_sight_measures_nothing(
    ran: MainWindow, worker: Worker, qtbot: QtBot
) -> None:
    tabs = find(ran, QTabWidget, "runViews")
    choose(ran, "tokenClassChoice", "content")
    tabs.setCurrentIndex(1)
    settle(ran, worker, qtbot)
    tabs.setCurrentIndex(0)
    settle(ran, worker, qtbot)
    assert [line.label for line in shown_lines(ran)] == ["content"]


def test_runs_that_are_gone_are_not_kept(ran: MainWindow, worker: Worker, qtbot: QtBot) -> None:
    choose(ran, "tokenClassChoice", "all token classes")
    settle(ran, worker, qtbot)
    assert ran.workspace.runs.current is not None
    gone = weakref.ref(ran.workspace.runs.current.capture)
    find(ran, QTabWidget, "runViews").setCurrentIndex(1)
    run(ran, worker, qtbot, "a dog")
    gc.collect()
    assert gone() is None


def test_the_report_has_what_is_on_screen(
    ran: MainWindow, worker: Worker, qtbot: QtBot, tmp_path: Path
) -> None:
    choose(ran, "statisticChoice", "mean ± std")
    path = tmp_path / "report.pdf"
    with qtbot.waitSignal(ran.workspace.exported):
        ran.exporting.write_report(path)
    text = text_of(path)
    assert "The mean ± std of each layer’s output" in text
    settle(ran, worker, qtbot)


def test_another_model_and_its_classes(ran: MainWindow, worker: Worker, qtbot: QtBot) -> None:
    choose(ran, "tokenClassChoice", "[CLS]")
    choose(ran, "partChoice", "attention.self")
    settle(ran, worker, qtbot)
    ran.open_source(parse_source("albert-base-v2"))
    workspace = ran.workspace
    qtbot.waitUntil(lambda: workspace.runs.run is None, timeout=OPEN_TIMEOUT)
    workspace.run_sentence(Sentence(TEXT), random_weights=True)
    qtbot.waitUntil(lambda: workspace.runs.run is not None, timeout=OPEN_TIMEOUT)
    settle(ran, worker, qtbot)
    assert find(ran, QComboBox, "partChoice").currentText() == "selection"
    assert find(ran, QComboBox, "tokenClassChoice").currentText() == "[CLS]"
    (line,) = shown_lines(ran)
    assert len(line.values) == 12
    choose(ran, "partChoice", "albert_layers.0.ffn")
    settle(ran, worker, qtbot)
    grid = shown_grid(ran).values
    assert grid.shape[0] == 12
    assert np.isfinite(grid).all()
    classes = token_classes(last_run(ran))
    assert texts(ran, "tokenClassChoice")[:-1] == [kind.label for kind in classes]


def test_axes_follow_the_size_of_all_text(ran: MainWindow) -> None:
    def sizes() -> set[str]:
        plots = (find(ran, LinePlot, "layerPlot"), find(ran, Heatmap, "tokenHeatmap"))
        found = [re.findall(r'font-size="([^"]*)"', svg(plot).decode()) for plot in plots]
        return {*found[0], *found[1]}

    for step in (0, 1, 1, 0):
        ran.step_text_size(step)
        assert sizes() == {str(sized(QApplication.font(), SMALL).pixelSize())}
