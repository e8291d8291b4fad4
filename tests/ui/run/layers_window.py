"""What the window shows of each layer, and choosing in it."""

from collections.abc import Sequence

from PySide6.QtWidgets import QApplication, QComboBox
from pytestqt.qtbot import QtBot

from bertviewer.charts.chart import GridChart, Line, LineChart
from bertviewer.ui.jobs.worker import Worker
from bertviewer.ui.shell.main_window import MainWindow
from bertviewer.ui.views.chart_panel import ChartPanel
from tests.ui.finding import find, is_drawn

TEXT = "the cat sat on the mat"


def settle(window: MainWindow, worker: Worker, qtbot: QtBot) -> None:
    qtbot.waitUntil(lambda: is_drawn(window) and not worker.busy)


def run(window: MainWindow, worker: Worker, qtbot: QtBot, text: str = TEXT) -> None:
    before = window.workspace.runs.run
    window.set_sentence(text, None)
    window.run()
    qtbot.waitUntil(lambda: window.workspace.runs.run is not before)
    settle(window, worker, qtbot)


def choose(window: MainWindow, name: str, text: str) -> None:
    choice = find(window, QComboBox, name)
    assert choice.findText(text) >= 0
    choice.setCurrentText(text)
    while window.workspace.deferred.pending:
        QApplication.processEvents()


def panels(window: MainWindow) -> tuple[ChartPanel, ChartPanel]:
    """Return the panels of the lines and of the grid."""
    found = {panel.plot.objectName(): panel for panel in window.findChildren(ChartPanel)}
    return found["layerPlot"], found["tokenHeatmap"]


def shown_lines(window: MainWindow) -> Sequence[Line]:
    (chart,) = panels(window)[0].charts
    assert isinstance(chart, LineChart)
    return chart.lines


def shown_grid(window: MainWindow) -> GridChart:
    (chart,) = panels(window)[1].charts
    assert isinstance(chart, GridChart)
    return chart
