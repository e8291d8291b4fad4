"""Runs in the window: cancelled, hurried and interrupted."""

import threading
from typing import Any

import pytest
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import (
    QApplication,
    QLabel,
    QPushButton,
    QTableView,
    QTabWidget,
)
from pytestqt.qtbot import QtBot

from bertviewer.core.sources.parsing import parse_source
from bertviewer.ui.jobs import model_jobs as jobs
from bertviewer.ui.jobs.worker import Worker
from bertviewer.ui.module.inspector import Inspector
from bertviewer.ui.run.sentence_bar import HEIGHT, SentenceBar
from bertviewer.ui.shell.main_window import MainWindow
from tests.tools.patient_bot import PATIENCE
from tests.ui.finding import bring_view, find, has_error, last_run

LONG = "word " * 500


def idle(window: MainWindow, worker: Worker, qtbot: QtBot) -> None:
    qtbot.waitUntil(lambda: not window.workspace.jobs.activity and not worker.busy)


def test_cancel_works_in_the_middle_of_the_forward_pass(
    demo_window: MainWindow, worker: Worker, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    window = demo_window
    cancel = find(window, QPushButton, "cancelButton")
    run_sentence: Any = jobs.run_sentence_job
    pressed = threading.Event()

    def run_to_a_layer(*arguments: Any) -> Any:
        *given, progress = arguments

        def report(done: int, total: int, label: str) -> None:
            progress(done, total, label)
            # It stays there, however long the window takes to hear of it.
            while label.startswith("encoder.layer") and not pressed.wait(0.01):
                progress(done, total, label)

        return run_sentence(*given, report)

    def press(_done: int, _total: int, label: str) -> None:
        if label.startswith("encoder.layer") and not pressed.is_set():
            cancel.click()
            pressed.set()

    monkeypatch.setattr(jobs, "run_sentence_job", run_to_a_layer)
    window.workspace.jobs.progressed.connect(press)
    window.set_sentence(LONG, None)
    window.run()
    idle(window, worker, qtbot)
    assert pressed.is_set()
    assert window.workspace.runs.run is None
    assert not has_error(window)
    # Nothing of the run that was cancelled stays on the model.
    window.set_sentence("a test", None)
    window.run()
    idle(window, worker, qtbot)
    run = last_run(window)
    assert len(run.modules) == 113
    assert all(len(module.calls) == 1 for module in run.modules)


def test_many_clicks_on_run_leave_one_run(
    demo_window: MainWindow, worker: Worker, qtbot: QtBot
) -> None:
    window = demo_window
    runs: list[object] = []
    window.workspace.runs.run_changed.connect(lambda: runs.append(window.workspace.runs.run))
    window.set_sentence("a test", None)
    button = find(window, QPushButton, "runButton")
    for _ in range(20):
        button.click()
    idle(window, worker, qtbot)
    assert len(runs) == 1


def test_opening_another_model_during_a_run_wins(
    demo_window: MainWindow, worker: Worker, qtbot: QtBot
) -> None:
    window = demo_window
    window.set_sentence(LONG, None)
    window.run()
    window.open_source(parse_source("distilbert-base-uncased"))
    idle(window, worker, qtbot)
    assert window.workspace.architecture is not None
    assert window.workspace.architecture.source.name == "distilbert-base-uncased"
    assert window.workspace.runs.run is None
    # The formulas came as well, though opening and running interrupt deriving them.
    assert window.workspace.architecture.root.count_formula.count("D")


def test_the_sentence_stays_above_when_another_model_has_no_run(
    demo_window: MainWindow, worker: Worker, qtbot: QtBot
) -> None:
    window = demo_window
    window.show()
    window.set_sentence("a test", None)
    window.run()
    idle(window, worker, qtbot)
    bar = find(window, SentenceBar)
    before = bar.y()
    window.open_source(parse_source("distilbert-base-uncased"))
    idle(window, worker, qtbot)
    assert window.workspace.runs.run is None
    qtbot.waitUntil(lambda: bar.y() == before and bar.height() == HEIGHT)


def test_the_overview_writes_a_minus_as_the_charts_do(
    demo_window: MainWindow, worker: Worker, qtbot: QtBot
) -> None:
    demo_window.set_sentence("a test", None)
    demo_window.run()
    idle(demo_window, worker, qtbot)
    texts = [label.text() for label in find(demo_window, Inspector).findChildren(QLabel)]
    lowest = texts[texts.index("min") + 1]
    assert lowest.startswith("−")
    assert float(lowest.replace("−", "-")) < 0


def test_the_event_loop_goes_on_during_a_run(
    demo_window: MainWindow, worker: Worker, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    window = demo_window
    run_sentence = jobs.run_sentence_job
    goes_on = threading.Event()

    def run_when_told(*arguments: Any) -> Any:
        assert goes_on.wait(PATIENCE / 1000)
        return run_sentence(*arguments)

    monkeypatch.setattr(jobs, "run_sentence_job", run_when_told)
    window.set_sentence("a test", None)
    window.run()
    # A window that waits for the worker would get no turn at all until the run is over.
    turns: list[str] = []
    beat = QTimer(window, interval=1)
    beat.timeout.connect(lambda: turns.append(window.workspace.jobs.activity))
    beat.start()
    qtbot.waitUntil(lambda: len(turns) >= 10)
    beat.stop()
    assert set(turns) == {"run"}
    goes_on.set()
    idle(window, worker, qtbot)
    assert window.workspace.runs.run is not None


def test_tokens_are_listed_with_ids_and_segments(
    demo_window: MainWindow, worker: Worker, qtbot: QtBot
) -> None:
    window = demo_window
    window.set_sentence("a test", "a sentence")
    window.run()
    idle(window, worker, qtbot)
    bring_view(window, "Tokens")
    model = find(window, QTableView, "tokenTable").model()
    rows = [[model.index(r, c).data() for c in range(4)] for r in range(model.rowCount())]
    assert rows == [
        ["0", "[CLS]", "101", "0"],
        ["1", "a", "1037", "0"],
        ["2", "test", "3231", "0"],
        ["3", "[SEP]", "102", "0"],
        ["4", "a", "1037", "1"],
        ["5", "sentence", "6251", "1"],
        ["6", "[SEP]", "102", "1"],
    ]


def test_every_tab_can_show_every_row(demo_window: MainWindow) -> None:
    window = demo_window
    tabs = find(window, QTabWidget, "detailTabs")
    architecture = window.workspace.architecture
    assert architecture is not None
    for index in range(tabs.count()):
        tabs.setCurrentIndex(index)
        for node in architecture.modules[:: 1 if index == 1 else 9]:
            window.workspace.selection.select(node.path)
            assert window.workspace.selection.row is not None
            assert window.workspace.selection.row.node == node
    QApplication.processEvents()


def test_a_key_in_the_table_of_the_run_before_selects_no_token_that_is_gone(
    demo_window: MainWindow, worker: Worker, qtbot: QtBot
) -> None:
    window = demo_window
    workspace = window.workspace
    window.set_sentence("word " * 40, None)
    window.run()
    idle(window, worker, qtbot)
    bring_view(window, "Tokens")
    table = find(window, QTableView, "tokenTable")
    # The run is there, and the table is drawn in a later turn of the event loop.
    workspace.runs.run_changed.connect(lambda: table.selectRow(30))
    window.set_sentence("a test", None)
    window.run()
    idle(window, worker, qtbot)
    assert len(last_run(window).tokens) == 4
    assert workspace.selection.token == table.currentIndex().row() == 1
