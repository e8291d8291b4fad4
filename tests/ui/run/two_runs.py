"""Runs that are compared in the window."""

from pytestqt.qtbot import QtBot

from bertviewer.ui.jobs.worker import Worker
from bertviewer.ui.shell.main_window import MainWindow
from tests.ui.finding import is_drawn

A, B = "the cat sat on the mat", "the cat sat on the old mat"


def run(window: MainWindow, text: str, qtbot: QtBot) -> None:
    before = window.workspace.runs.run
    window.set_sentence(text, None)
    window.run()
    qtbot.waitUntil(lambda: window.workspace.runs.run is not before and is_drawn(window))


def settle(window: MainWindow, worker: Worker, qtbot: QtBot) -> None:
    qtbot.waitUntil(lambda: not window.workspace.deferred.pending and not worker.busy)
