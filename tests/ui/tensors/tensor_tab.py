"""Steps of a user in the tab of tensors."""

import numpy as np
from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QLabel,
    QTableView,
    QToolButton,
)
from pytestqt.qtbot import QtBot

from bertviewer.core.replay.module_tensors import module_tensors
from bertviewer.core.sources.parsing import parse_source
from bertviewer.ui.jobs.worker import Worker
from bertviewer.ui.shell.main_window import MainWindow
from bertviewer.ui.tensors.views import TensorViews
from tests.ui.conftest import OPEN_TIMEOUT
from tests.ui.finding import find, is_drawn, show_tab

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
    wait_until_idle(worker, qtbot)


def wait_until_idle(worker: Worker, qtbot: QtBot) -> None:
    qtbot.waitUntil(lambda: not worker.busy)


def show_view(window: MainWindow, worker: Worker, qtbot: QtBot, number: int) -> None:
    qtbot.mouseClick(find(window, QToolButton, f"tensorView{number}"), Qt.MouseButton.LeftButton)
    wait_until_idle(worker, qtbot)


def cell_status(window: MainWindow) -> str:
    return find(window, QLabel, "cellValue").text()


LAYER = "encoder.layer.2"
DOWN, ACROSS = Qt.Orientation.Vertical, Qt.Orientation.Horizontal


def run_sentence(window: MainWindow, worker: Worker, text: str, qtbot: QtBot) -> None:
    """Run a sentence, and wait until all that shows it is drawn."""
    before = window.workspace.runs.current
    window.set_sentence(text, None)
    window.workspace.next_run.set_random_weights(True)
    window.run()
    qtbot.waitUntil(
        lambda: is_drawn(window) and window.workspace.runs.current is not before,
        timeout=OPEN_TIMEOUT,
    )
    qtbot.waitUntil(lambda: not worker.busy, timeout=OPEN_TIMEOUT)


def listed_names(window: MainWindow) -> list[str]:
    model = find(window, QTableView, "tensorTable").model()
    return [model.index(row, 0).data() for row in range(model.rowCount())]


def inspect_tensor(window: MainWindow, qtbot: QtBot, group: str, name: str) -> None:
    """Choose a tensor of a group, and wait until its values are there."""
    qtbot.waitUntil(lambda: group in listed_names(window) and name in listed_names(window))
    table = find(window, QTableView, "tensorTable")
    row = listed_names(window).index(name, listed_names(window).index(group))
    table.setCurrentIndex(table.model().index(row, 0))
    # Of a parameter the last two steps stand there.
    short = ".".join(name.split(".")[-2:])
    qtbot.waitUntil(lambda: short_title(window).startswith(short) and has_values(window))
    # Only one thread may have the model.
    qtbot.waitUntil(lambda: not window.workspace.jobs.has_requests)


def short_title(window: MainWindow) -> str:
    """Return what the inspector's title says after what kind of tensor it is."""
    text = find(window, QLabel, "tensorTitle").text()
    for word in ("sentence · ", "Random weights · ", "input ", "verified: "):
        text = text.partition(word)[2] or text
    return text


def has_values(window: MainWindow) -> bool:
    return find(window, TensorViews).part is not None


def row_titles(window: MainWindow) -> list[str]:
    model = find(window, QTableView, "valuesTable").model()
    rows = range(model.rowCount())
    return [str(model.headerData(row, DOWN)).strip() for row in rows]


def cell(window: MainWindow, row: int, column: int) -> str:
    return str(find(window, QTableView, "valuesTable").model().index(row, column).data())


def recorded_output(window: MainWindow, path: str, call: int = 0) -> np.ndarray:
    """Return what a module gave in the last run, found without the window; the worker rests."""
    watched, model = window.workspace.runs.current, window.workspace.jobs.model
    assert watched is not None
    assert model is not None
    _, gave = module_tensors(watched.cached(model), path, call=call)
    found: np.ndarray = next(iter(gave.values()))[0].numpy()
    return found
