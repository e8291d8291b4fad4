"""Running a sentence in the view of predictions, and what that shows."""

from collections.abc import Callable
from pathlib import Path

from PySide6.QtWidgets import QLabel, QTableView
from pytestqt.qtbot import QtBot

from bertviewer.charts.table import DataTable
from bertviewer.core.sources.parsing import parse_source
from bertviewer.ui.shell.main_window import MainWindow
from bertviewer.ui.views.figure_view import FigureView
from tests.ui.conftest import OPEN_TIMEOUT
from tests.ui.finding import bring_view, find

MASKED = "the cat [MASK] on the mat"

Run = Callable[..., None]


def table(window: MainWindow, name: str) -> DataTable:
    widget = find(window, QTableView, name).parent()
    assert isinstance(widget, FigureView)
    return widget.shown


def text(window: MainWindow, name: str) -> str:
    label = find(window, QLabel, name)
    return label.text() if label.isVisible() else ""


def runner(window: MainWindow, settle: Callable[[], None], qtbot: QtBot) -> Run:
    """Give a function that opens a model, if one is named, and runs a sentence in the view."""

    def run(text: str, name: str | Path = "", task: str = "masked-lm", pair: str = "") -> None:
        workspace = window.workspace
        if name:
            before = workspace.architecture
            window.open_source(parse_source(str(name), task))
            qtbot.waitUntil(lambda: workspace.architecture is not before, timeout=OPEN_TIMEOUT)
        old = workspace.runs.run
        window.set_sentence(text, pair or None)
        window.run()
        qtbot.waitUntil(lambda: workspace.runs.run is not old)
        bring_view(window, "Predictions")
        settle()

    return run
