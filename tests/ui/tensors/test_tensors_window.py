"""Values of a hidden state, reached from a plot and from the menu of the main window."""

import pytest
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QLabel, QMenu, QTableView
from pytestqt.qtbot import QtBot

from bertviewer.plots.heatmap import Heatmap
from bertviewer.ui.jobs.worker import Worker
from bertviewer.ui.shell.main_window import MainWindow
from tests.plots.looking import pixel
from tests.ui.finding import bring_view, find, is_drawn, show_tab
from tests.ui.tensors.tensor_harness import ACROSS


def test_a_point_of_a_plot_and_an_action_show_values(
    demo_window: MainWindow, worker: Worker, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(QMenu, "popup", lambda *_: None)  # not supported offscreen
    window = demo_window
    window.set_sentence("the bank by the river", None)
    window.run()
    qtbot.waitUntil(lambda: is_drawn(window))
    bring_view(window, "Layers")
    plot = find(window, Heatmap, "tokenHeatmap")
    qtbot.waitUntil(lambda: plot.chart is not None and plot.isVisible())
    # Row 0 is the state of the embeddings, row 5 that of layer 4.
    plot.customContextMenuRequested.emit(pixel(plot, 2.5, 5.5))
    find(plot, QAction, "pointedValues").trigger()
    assert window.workspace.selection.place.path == "encoder.layer.4"
    qtbot.waitUntil(lambda: bool(window.findChildren(QTableView, "valuesTable")))
    model = find(window, QTableView, "valuesTable").model()
    qtbot.waitUntil(lambda: model.headerData(0, ACROSS) == "2 bank")
    assert model.rowCount() == 384
    show_tab(window, "Map")
    window.workspace.selection.select("pooler")
    find(window, QAction, "showValues").trigger()
    title = find(window, QLabel, "tensorTitle")
    qtbot.waitUntil(lambda: title.text() == "output · [1, 384]  float32")
    qtbot.waitUntil(lambda: model.rowCount() == 384 and model.columnCount() == 1)
    qtbot.waitUntil(lambda: not worker.busy)
