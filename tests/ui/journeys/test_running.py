"""Journeys through runs: a sentence, its views, a baseline, verification, and what can go wrong."""

import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import (
    QApplication,
    QCheckBox,
    QComboBox,
    QLabel,
    QLineEdit,
    QProgressBar,
    QPushButton,
    QTableView,
    QTreeView,
)
from pytestqt.qtbot import QtBot

from bertviewer.charts.chart import Line
from bertviewer.core.sources.parsing import parse_source
from bertviewer.plots.heatmap import Heatmap
from bertviewer.plots.line_plot import LinePlot
from bertviewer.ui.jobs import model_jobs
from bertviewer.ui.jobs.worker import Worker
from bertviewer.ui.map.card import MapCard
from bertviewer.ui.module.inspector import Inspector
from bertviewer.ui.run.run_area import RunArea
from bertviewer.ui.run.sentence_bar import HEIGHT
from bertviewer.ui.shell.main_window import MainWindow
from tests.plots.looking import box, pixel
from tests.ui.conftest import OPEN_TIMEOUT
from tests.ui.finding import (
    activate,
    bring_view,
    find,
    has_error,
    is_drawn,
    last_run,
    show_tab,
    shown_error,
)

SENTENCE = "this is a 12212121 test sentence"
LONG = "word " * 600
LEFT = Qt.MouseButton.LeftButton

Settle = Callable[[], None]


@pytest.fixture
def settle(made_window: MainWindow, worker: Worker, qtbot: QtBot) -> Settle:
    """Return a function that waits until nothing is computed or drawn any more."""
    workspace = made_window.workspace

    def is_settled() -> bool:
        return not (worker.busy or workspace.jobs.activity or workspace.deferred.pending)

    return partial(qtbot.waitUntil, is_settled, timeout=OPEN_TIMEOUT)


def run(window: MainWindow, text: str, settle: Settle) -> None:
    window.set_sentence(text, None)
    window.run()
    settle()


def is_enabled(window: MainWindow, action: str) -> bool:
    return find(window, QAction, action).isEnabled()


def lines(plot: LinePlot) -> tuple[Line, ...]:
    assert plot.chart is not None
    return plot.chart.lines


def test_a_typed_sentence_is_run_and_its_layers_lead_to_modules(
    demo_window: MainWindow, settle: Settle, qtbot: QtBot
) -> None:
    window = demo_window
    window.workspace.selection.select("encoder.layer.3.attention.self")
    assert not is_enabled(window, "checkModule")
    edit, button = find(window, QLineEdit, "sentenceEdit"), find(window, QPushButton, "runButton")
    edit.setFocus()
    qtbot.keyClicks(edit, SENTENCE)
    qtbot.mouseClick(button, LEFT)
    assert find(window, QPushButton, "cancelButton").isEnabled()
    assert find(window, QProgressBar, "runProgress").isVisible()
    assert (is_enabled(window, "cancel"), is_enabled(window, "exportPdf")) == (True, False)
    settle()
    assert (is_enabled(window, "cancel"), is_enabled(window, "exportPdf")) == (False, True)
    found = last_run(window)
    assert [token.id for token in found.tokens][:3] == [101, 2023, 2003]
    plot, heatmap = find(window, LinePlot, "layerPlot"), find(window, Heatmap, "tokenHeatmap")
    assert heatmap.isVisible()
    assert heatmap.chart is not None
    assert heatmap.chart.values.shape == (7, 11)
    assert np.isfinite(heatmap.chart.values).all()
    titles = [line.label for line in lines(plot)]
    assert titles == ["encoder.layer: output", "encoder.layer: attention.self"]
    layer = found.activation("encoder.layer.4")
    assert layer is not None
    assert lines(plot)[0].values[4] == layer.statistics.std
    find(window, QComboBox, "statisticChoice").setCurrentText("rms")
    assert lines(plot)[0].values[4] == layer.statistics.rms
    value = lines(plot)[0].values[2]
    assert value is not None
    qtbot.waitUntil(lambda: box(plot).width() > 100)
    qtbot.mouseClick(plot, LEFT, pos=pixel(plot, 2.0, value))
    assert window.workspace.selection.place.path == "encoder.layer.2"
    assert find(window, QTreeView, "moduleTree").currentIndex().data() == "2"
    # The inspector writes negative numbers as charts do.
    texts = [label.text() for label in find(window, Inspector).findChildren(QLabel)]
    assert texts[texts.index("min") + 1].startswith("−")


def test_a_second_run_is_compared_with_the_baseline(
    demo_window: MainWindow, settle: Settle
) -> None:
    window = demo_window
    assert not is_enabled(window, "keepAsA")
    run(window, SENTENCE, settle)
    find(window, QPushButton, "keepRun").click()
    edit, card = find(window, QLineEdit, "sentenceEdit"), find(window, MapCard)
    stale = find(window, QLabel, "mapStale")
    edit.setText("another one")
    assert stale.text() == "Results are for an earlier sentence"
    assert stale.isVisible()
    assert card.accessibleDescription() == stale.text()
    assert find(window, QLabel, "staleModule").isVisible()
    window.run()
    settle()
    assert not stale.isVisible()
    assert len(lines(find(window, LinePlot, "layerPlot"))) == 2
    baseline = window.workspace.runs.baseline
    assert baseline is not None
    assert baseline.run.sentence.text == SENTENCE


def test_a_layer_is_verified_next_to_the_module(
    demo_window: MainWindow, settle: Settle, qtbot: QtBot
) -> None:
    window = demo_window
    show_tab(window, "Formula")
    window.workspace.selection.select("encoder.layer.2")
    run(window, "a test sentence", settle)
    activate(window, qtbot)
    button, badge = find(window, QPushButton, "quickCheckButton"), find(window, QLabel, "checkPill")
    button.setFocus()
    qtbot.keyClick(button, Qt.Key.Key_Space)
    assert window.workspace.jobs.activity == "check"
    qtbot.keyClick(button, Qt.Key.Key_Space)  # not started twice
    assert button.hasFocus()
    settle()
    assert (badge.isVisible(), badge.text()) == (True, "20 steps verified")
    (table,) = [t for t in window.findChildren(QTableView, "checkTable") if t.isVisible()]
    model = table.model()
    assert [model.index(row, 0).data() for row in range(model.rowCount())] == [
        *("self-attention", "add & norm", "intermediate", "output & add & norm"),
        *("= next hidden state", "attention.self: output", "attention.self: output (eager)"),
        "attention.self: weights (eager)",
    ]
    assert {model.index(row, 3).data() for row in range(model.rowCount())} == {"✓ equal"}
    # The result is scrolled into view.
    qtbot.waitUntil(lambda: table.visibleRegion().boundingRect().top() == table.rect().top())
    window.workspace.selection.select("encoder.layer")  # a list, which is never called
    assert not button.isVisible()
    assert not is_enabled(window, "checkModule")
    tip = find(window, QAction, "checkModule").toolTip()
    assert tip == "The last run did not call this module"


def test_a_run_is_cancelled_within_the_forward_pass(
    demo_window: MainWindow, settle: Settle, monkeypatch: pytest.MonkeyPatch
) -> None:
    window = demo_window
    cancel = find(window, QPushButton, "cancelButton")
    run_sentence: Any = model_jobs.run_sentence_job
    pressed = threading.Event()

    def run_to_a_layer(*arguments: Any) -> Any:
        *given, progress = arguments

        def report(done: int, total: int, label: str) -> None:
            progress(done, total, label)
            # It stays there until the window has handled the report.
            while label.startswith("encoder.layer") and not pressed.wait(0.01):
                progress(done, total, label)

        return run_sentence(*given, report)

    def press(_done: int, _total: int, label: str) -> None:
        if label.startswith("encoder.layer") and not pressed.is_set():
            cancel.click()
            pressed.set()

    monkeypatch.setattr(model_jobs, "run_sentence_job", run_to_a_layer)
    window.workspace.jobs.progressed.connect(press)
    run(window, "word " * 500, settle)
    assert pressed.is_set()
    assert window.workspace.runs.run is None
    assert not has_error(window)
    # No hook of the cancelled run is left in the model.
    run(window, "a test", settle)
    modules = last_run(window).modules
    assert len(modules) == 113
    assert all(len(module.calls) == 1 for module in modules)


def test_another_model_that_is_opened_during_a_run_wins(
    demo_window: MainWindow, settle: Settle, tmp_path: Path, qtbot: QtBot
) -> None:
    window, workspace = demo_window, demo_window.workspace
    run(window, "a test", settle)
    cancelled: list[str] = []
    workspace.jobs.cancelled.connect(cancelled.append)
    window.run()
    window.exporting.write_report(tmp_path / "report.pdf")
    window.open_source(parse_source("distilbert-base-uncased"))
    settle()
    assert set(cancelled) == {"run", "export"}
    assert not (tmp_path / "report.pdf").exists()
    assert workspace.architecture is not None
    assert workspace.architecture.source.name == "distilbert-base-uncased"
    assert workspace.architecture.root.count_formula.count("D")  # its formulas were derived, too
    assert workspace.runs.run is None
    qtbot.waitUntil(lambda: window.panes.dock("run").height() <= HEIGHT)


def test_another_head_keeps_the_run_panel_open_for_its_run(
    demo_window: MainWindow, settle: Settle, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    window, workspace, area = demo_window, demo_window.workspace, find(demo_window, RunArea)
    run(window, "a test", settle)
    goes_on = threading.Event()
    run_sentence = model_jobs.run_sentence_job

    def wait_and_run(*arguments: Any) -> Any:
        assert goes_on.wait(OPEN_TIMEOUT / 1000)
        return run_sentence(*arguments)

    monkeypatch.setattr(model_jobs, "run_sentence_job", wait_and_run)
    # As the button "Open with …" of the predictions does.
    workspace.architecture_changed.connect(lambda: workspace.deferred.add(workspace.run_next))
    workspace.open_head("masked-lm")
    waiting = find(window, QLabel, "runWait")
    qtbot.waitUntil(waiting.isVisible, timeout=OPEN_TIMEOUT)
    assert workspace.architecture is not None
    assert workspace.architecture.root.class_name == "BertForMaskedLM"
    assert find(window, QAction, "masked-lm").isChecked()
    assert "5 tensors random" in find(window, QLabel, "statusWeights").text()
    assert area.is_open
    find(window, QPushButton, "cancelButton").click()
    goes_on.set()
    settle()
    qtbot.waitUntil(lambda: window.panes.dock("run").height() <= HEIGHT)


def test_a_sentence_that_is_too_long_can_be_truncated(
    demo_window: MainWindow, settle: Settle, qtbot: QtBot
) -> None:
    window = demo_window
    window.set_sentence(LONG, None)
    count = find(window, QLabel, "tokenCount")
    qtbot.waitUntil(lambda: count.text() == "602 of 512 tokens · 90 too many", timeout=OPEN_TIMEOUT)
    find(window, QPushButton, "runButton").click()
    qtbot.waitUntil(lambda: has_error(window), timeout=OPEN_TIMEOUT)
    error = shown_error(window)
    assert "at most 512" in error.text()
    assert find(error, QLabel, "errorText").textFormat() == Qt.TextFormat.PlainText
    (truncate,) = error.findChildren(QPushButton, "errorRemedy")
    truncate.click()
    assert not has_error(window)
    settle()
    assert len(last_run(window).tokens) == 512
    assert last_run(window).sentence.cut
    assert "truncated to 512 tokens" in find(window, QLabel, "runWarning").text()


def test_random_weights_are_offered_and_labelled(
    window: MainWindow, settle: Settle, qtbot: QtBot
) -> None:
    window.open_source(parse_source("albert-base-v2"))
    qtbot.waitUntil(lambda: window.workspace.architecture is not None, timeout=OPEN_TIMEOUT)
    settle()
    label = find(window, QLabel, "statusWeights")
    assert label.text() == "No weights"
    window.set_sentence(SENTENCE, None)
    button = find(window, QPushButton, "runButton")
    assert not button.isEnabled()
    assert "no weights" in button.toolTip()
    find(window, QCheckBox, "randomWeightsCheck").setChecked(True)
    qtbot.mouseClick(button, LEFT)
    settle()
    assert label.text() == "Random weights (seed 0)"
    assert "Random weights" in find(window, QLabel, "runWarning").text()
    # One layer is stored and called twelve times.
    assert len(lines(find(window, LinePlot, "layerPlot"))[0].values) == 12


def test_weights_are_read_layer_by_layer(
    window: MainWindow, settle: Settle, qtbot: QtBot, tiny_bert_folder: Path
) -> None:
    window.set_sentence("the cat sat", None)
    window.run_area.run_when_open()  # as --sentence of the command line
    window.open_source(replace(parse_source(str(tiny_bert_folder)), offload=True))
    qtbot.waitUntil(lambda: is_drawn(window), timeout=OPEN_TIMEOUT)
    text = find(window, QLabel, "statusWeights").text()
    assert text == "Pretrained weights, loaded layer by layer"
    assert last_run(window).source.offloaded
    settle()


def test_keys_in_the_table_of_an_earlier_run_select_no_missing_token(
    demo_window: MainWindow, settle: Settle
) -> None:
    window, workspace = demo_window, demo_window.workspace
    run(window, "word " * 40, settle)
    bring_view(window, "Tokens")
    table = find(window, QTableView, "tokenTable")
    # The run has come, and the table is drawn in a later turn of the event loop.
    workspace.runs.run_changed.connect(lambda: table.selectRow(30))
    run(window, "a test", settle)
    assert len(last_run(window).tokens) == 4
    assert workspace.selection.token == table.currentIndex().row() == 1
    rows = [[table.model().index(r, c).data() for c in range(3)] for r in range(4)]
    expected = [["0", "[CLS]", "101"], ["1", "a", "1037"], ["2", "test", "3231"]]
    assert rows == [*expected, ["3", "[SEP]", "102"]]
    QApplication.processEvents()
