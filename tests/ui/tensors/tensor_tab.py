"""Steps of a user in the tab of tensors of the main window."""

from PySide6.QtWidgets import QTableView, QToolButton
from pytestqt.qtbot import QtBot

from bertviewer.ui.jobs.worker import Worker
from bertviewer.ui.shell.main_window import MainWindow
from tests.ui.finding import find

VALUES, HEATMAP, HISTOGRAM, SPECTRUM, NORMS = range(5)
"""Numbers of the views of a tensor."""
QUERY = "encoder.layer.1.attention.self.query.weight"


def choose(window: MainWindow, worker: Worker, qtbot: QtBot, tensor: str) -> None:
    """Select a parameter's module, and the parameter in the list."""
    module, _, name = tensor.rpartition(".")
    window.workspace.selection.select(module)
    table = find(window, QTableView, "tensorTable")
    model = table.model()
    row = next(n for n in range(model.rowCount()) if model.index(n, 0).data() == name)
    table.setCurrentIndex(model.index(row, 0))
    qtbot.waitUntil(lambda: not worker.busy)


def show_view(window: MainWindow, worker: Worker, qtbot: QtBot, number: int) -> None:
    """Show a view of the tensor."""
    find(window, QToolButton, f"tensorView{number}").click()
    qtbot.waitUntil(lambda: not worker.busy)
