"""What the view of similarities shows, and choosing in it."""

from PySide6.QtWidgets import QComboBox, QLabel
from pytestqt.qtbot import QtBot

from bertviewer.charts.chart import Line
from bertviewer.plots.line_plot import LinePlot
from bertviewer.ui.jobs.worker import Worker
from bertviewer.ui.run.similarity_view import SimilarityView
from bertviewer.ui.state.workspace import Workspace
from tests.ui.finding import find
from tests.ui.run.made_up import Sight

TEXT, OTHER = "the bank by the river was closed", "the old bank by the sea was closed"


def line(sight: Sight) -> Line:
    chart = find(sight.view, LinePlot, "pairPath").chart
    assert chart is not None
    return chart.lines[0]


def choice(sight: Sight, name: str) -> QComboBox:
    return find(sight.view, QComboBox, name)


def choose(sight: Sight, name: str, index: int) -> None:
    """Choose an entry as a person does."""
    choice(sight, name).setCurrentIndex(index)
    choice(sight, name).activated.emit(index)
    sight.draw()


def messages(sight: Sight) -> list[str]:
    labels = sight.view.findChildren(QLabel, "chartMessage")
    return [label.text() for label in labels if label.isVisible()]


def similarity_sight(worker: Worker, qtbot: QtBot) -> Sight:
    return Sight(SimilarityView(Workspace(worker)), qtbot)
