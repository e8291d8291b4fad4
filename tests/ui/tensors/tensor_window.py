"""Steps of a person who looks for a tensor in the window."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QTableView, QToolButton
from pytestqt.qtbot import QtBot

from bertviewer.core.sources.parsing import parse_source
from bertviewer.ui.jobs.worker import Worker
from bertviewer.ui.shell.main_window import MainWindow
from tests.ui.conftest import OPEN_TIMEOUT
from tests.ui.finding import find, show_tab

VALUES, HEATMAP, HISTOGRAM, SPECTRUM, NORMS = range(5)
QUERY = "encoder.layer.1.attention.self.query.weight"


def open_named(window: MainWindow, worker: Worker, qtbot: QtBot, name: str) -> None:
    window.open_source(parse_source(name))
    qtbot.waitUntil(lambda: window.workspace.architecture is not None, timeout=OPEN_TIMEOUT)
    qtbot.waitUntil(lambda: not worker.busy, timeout=OPEN_TIMEOUT)
    show_tab(window, "Tensors")


def choose(window: MainWindow, worker: Worker, qtbot: QtBot, tensor: str) -> None:
    """Select a tensor's module, and the tensor in the list."""
    module, _, name = tensor.rpartition(".")
    window.workspace.selection.select(module)
    table = find(window, QTableView, "tensorTable")
    model = table.model()
    row = next(n for n in range(model.rowCount()) if model.index(n, 0).data() == name)
    table.setCurrentIndex(model.index(row, 0))
    rest(worker, qtbot)


def rest(worker: Worker, qtbot: QtBot) -> None:
    qtbot.waitUntil(lambda: not worker.busy)


def view(window: MainWindow, worker: Worker, qtbot: QtBot, number: int) -> None:
    qtbot.mouseClick(find(window, QToolButton, f"tensorView{number}"), Qt.MouseButton.LeftButton)
    rest(worker, qtbot)


def told(window: MainWindow) -> str:
    return find(window, QLabel, "cellValue").text()
