"""Empty, busy, cancelled and failed views of a tensor."""

import shutil
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QProgressBar, QPushButton, QTableView, QToolButton
from pytestqt.qtbot import QtBot
from safetensors.numpy import load_file, save_file

from bertviewer.core.tensors.matrix import Matrix
from bertviewer.core.tensors.scan import MatrixStatistics, scan
from bertviewer.core.util.progress import Progress
from bertviewer.plots.line_plot import SpectrumPlot
from bertviewer.ui.jobs.worker import Worker
from bertviewer.ui.shell.main_window import MainWindow
from bertviewer.ui.tensors import norms_page, plot_pages
from bertviewer.ui.views.empty_state import EmptyState
from tests.ui.finding import find
from tests.ui.tensors.tensor_tab import (
    HEATMAP,
    NORMS,
    QUERY,
    SPECTRUM,
    VALUES,
    cell_status,
    choose,
    open_named,
    show_view,
    wait_until_idle,
)

LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def folder(tiny_bert_folder: Path, tmp_path: Path) -> Path:
    """Return a copy of the small BERT that a test may break."""
    return Path(shutil.copytree(tiny_bert_folder, tmp_path / "model"))


@pytest.fixture
def chosen(window: MainWindow, worker: Worker, qtbot: QtBot, folder: Path) -> MainWindow:
    """Return the window with a tensor of it chosen."""
    open_named(window, worker, qtbot, str(folder))
    choose(window, worker, qtbot, QUERY)
    return window


def notice(window: MainWindow) -> EmptyState:
    every = (label.parentWidget() for label in window.findChildren(QLabel, "tensorNotice"))
    shown = [one for one in every if isinstance(one, EmptyState) and one.isVisible()]
    assert len(shown) == 1
    return shown[0]


def words(window: MainWindow) -> str:
    return find(notice(window), QLabel, "tensorNotice").text()


def press(window: MainWindow, qtbot: QtBot, title: str) -> None:
    button = find(notice(window), QPushButton, "tensorNoticeAction")
    assert button.isVisible()
    assert button.text() == title
    qtbot.mouseClick(button, LEFT)


def test_what_takes_long_is_begun_only_when_asked_for(
    chosen: MainWindow, worker: Worker, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plot_pages, "MAX_COST", 1000)
    show_view(chosen, worker, qtbot, SPECTRUM)
    assert words(chosen).startswith("Computing the singular values of 32 × 32 elements takes about")
    assert find(chosen, SpectrumPlot, "spectrumPlot").chart is None
    press(chosen, qtbot, "Compute anyway")
    wait_until_idle(worker, qtbot)
    plot = find(chosen, SpectrumPlot, "spectrumPlot")
    assert plot.chart is not None
    assert plot.isVisible()


def test_what_is_being_computed_can_be_cancelled(
    chosen: MainWindow, worker: Worker, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_quick = threading.Event()

    def slow(matrix: Matrix, progress: Progress, _label: str) -> MatrixStatistics:
        while not is_quick.is_set():
            progress(3, 10, "Measuring")
            time.sleep(0.005)
        return scan(matrix, progress)

    monkeypatch.setattr(norms_page, "scan", slow)
    button = f"tensorView{NORMS}"
    find(chosen, QToolButton, button).click()
    qtbot.waitUntil(lambda: words(chosen) == "Computing…")
    bar = find(notice(chosen), QProgressBar, "tensorNoticeProgress")
    qtbot.waitUntil(lambda: bar.maximum() == 10 and bar.value() == 3)
    press(chosen, qtbot, "Cancel")
    assert words(chosen) == "Cancelled."
    wait_until_idle(worker, qtbot)
    is_quick.set()
    press(chosen, qtbot, "Compute")
    wait_until_idle(worker, qtbot)
    assert find(chosen, QTableView, "normsTable").isVisible()
    assert find(chosen, QTableView, "normsTable").model().rowCount() == 32


def test_a_file_that_is_cut_off_is_told_in_every_view(
    chosen: MainWindow, worker: Worker, qtbot: QtBot, folder: Path
) -> None:
    with (folder / "model.safetensors").open("r+b") as file:
        file.truncate(40_000)
    for number in (HEATMAP, SPECTRUM, NORMS):
        show_view(chosen, worker, qtbot, number)
        assert f"ends in the middle of {QUERY}" in words(chosen)
    # The values that were in sight are known still; others of the model are not.
    show_view(chosen, worker, qtbot, VALUES)
    choose(chosen, worker, qtbot, QUERY.replace("query", "key"))
    assert find(chosen, QTableView, "valuesTable").model().index(0, 0).data() is None
    assert "ends in the middle of" in cell_status(chosen)


def test_the_picture_says_how_many_elements_it_leaves_out(
    window: MainWindow, worker: Worker, qtbot: QtBot, folder: Path
) -> None:
    stored = load_file(folder / "model.safetensors")
    stored[QUERY][2, 3], stored[QUERY][4, 5] = np.nan, np.inf
    save_file(stored, folder / "model.safetensors", metadata={"format": "pt"})
    open_named(window, worker, qtbot, str(folder))
    choose(window, worker, qtbot, QUERY)
    show_view(window, worker, qtbot, HEATMAP)
    assert "each cell, excluding 2 NaN or Inf" in [
        one.text() for one in window.findChildren(QLabel)
    ]
