"""What the view of predictions says while they are computed, and where that fails."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from PySide6.QtWidgets import QLabel, QProgressBar, QPushButton, QTableView
from pytestqt.qtbot import QtBot

from bertviewer.charts.selection_key import SelectionKey
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.progress import Progress
from bertviewer.core.util.text import as_sentence
from bertviewer.ui.run import jobs
from bertviewer.ui.run.words_panel import WordsPanel
from bertviewer.ui.shell.main_window import MainWindow
from tests.ui.finding import find
from tests.ui.run.predictions_window import MASKED, runner, text

MEMORY = "not enough memory for what the head says"
Settle = Callable[[], None]


@pytest.fixture
def predicted(
    window: MainWindow, settle: Settle, qtbot: QtBot, tiny_bert_folder: Path
) -> MainWindow:
    """Return a window that shows what is predicted at a mask."""
    runner(window, settle, qtbot)(MASKED, tiny_bert_folder)
    return window


def is_busy(window: MainWindow) -> bool:
    return find(window, QProgressBar, "predictionProgress").isVisible()


def message(window: MainWindow) -> str:
    found = find(window, WordsPanel).findChild(QLabel, "predictionMessage")
    assert isinstance(found, QLabel)
    return found.text() if found.isVisible() else ""


def test_while_it_is_computed_the_view_says_so(
    predicted: MainWindow, settle: Settle, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_go_on, real = Event(), jobs.predictions_job

    def held(*arguments: Any) -> Any:
        progress: Progress = arguments[-1]
        while not may_go_on.wait(0.01):
            progress(0, 0, "")
        return real(*arguments)

    monkeypatch.setattr(jobs, "predictions_job", held)
    assert not is_busy(predicted)
    predicted.workspace.selection.go(SelectionKey(token=2))
    qtbot.waitUntil(partial(is_busy, predicted))
    assert text(predicted, "predictionHint") == "Computing…"
    # What was there before stays, under its own name.
    assert text(predicted, "predictionTitle") == "Predicted at [MASK] (3)"
    assert find(predicted, QTableView, "predictionTable").isVisible()
    may_go_on.set()
    settle()
    assert not is_busy(predicted)
    assert text(predicted, "predictionTitle") == "Predicted at cat (2)"
    assert text(predicted, "predictionHint").startswith("Actual: cat")


def test_where_it_fails_the_view_says_why_and_offers_to_try_again(
    predicted: MainWindow, settle: Settle, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_fail, real = Event(), jobs.predictions_job

    def failing(*arguments: Any) -> Any:
        progress: Progress = arguments[-1]
        while not may_fail.wait(0.01):
            progress(0, 0, "")
        raise UserError(MEMORY)

    monkeypatch.setattr(jobs, "predictions_job", failing)
    predicted.workspace.selection.go(SelectionKey(token=2))
    qtbot.waitUntil(partial(is_busy, predicted))
    may_fail.set()
    settle()
    assert message(predicted) == as_sentence(MEMORY)
    assert not is_busy(predicted)
    # Nothing is left of the token before, nor of the wait.
    assert text(predicted, "predictionTitle") == text(predicted, "predictionHint") == ""
    assert not find(predicted, QTableView, "predictionTable").isVisible()
    monkeypatch.setattr(jobs, "predictions_job", real)
    again = find(predicted, QPushButton, "predictionMessageAction")
    assert again.text() == "Try again"
    again.click()
    settle()
    assert message(predicted) == ""
    assert text(predicted, "predictionTitle") == "Predicted at cat (2)"
    assert find(predicted, QTableView, "predictionTable").isVisible()
