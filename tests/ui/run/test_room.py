"""Plots have room in a low and narrow window, with run A kept, and in large type."""

from collections.abc import Callable

import pytest
from PySide6.QtWidgets import QComboBox, QLabel, QTabWidget, QToolButton, QWidget
from pytestqt.qtbot import QtBot

from bertviewer.ui.run.shown_run_line import ShownRunLine
from bertviewer.ui.shell.main_window import MainWindow
from bertviewer.ui.views.choice_box import ChoiceBox
from tests.ui.finding import bring_view, find

Settle = Callable[[], None]
PLOTS = [
    pytest.param("Layers", ("layerPlot", "tokenHeatmap"), id="layers"),
    pytest.param("Attention", ("headGrid", "headPlot"), id="attention"),
    pytest.param("Similarity", ("similarityGrid", "pairPath"), id="similarity"),
    pytest.param("Token", ("normPath", "startPath", "beforePath"), id="token"),
]


@pytest.fixture
def low(compared: MainWindow, settle: Settle) -> MainWindow:
    """Return a low window with a baseline and a later run."""
    compared.resize(1024, 700)
    settle()
    return compared


@pytest.mark.parametrize(("view", "names"), PLOTS)
def test_plots_have_room(
    low: MainWindow, settle: Settle, qtbot: QtBot, view: str, names: tuple[str, ...]
) -> None:
    bring_view(low, view)
    settle()
    plots = [find(low, QWidget, name) for name in names]
    # A quarter of the window is the plots' own, and none of it lies outside.
    qtbot.waitUntil(lambda: all(plot.height() >= 700 // 4 - 20 for plot in plots))
    for plot in plots:
        corner = plot.mapTo(low, plot.rect().bottomRight())
        assert low.rect().contains(corner)
    assert low.width() == 1024


def test_what_is_compared_stands_beside_the_tabs(low: MainWindow) -> None:
    line, tabs = find(low, ShownRunLine), find(low, QWidget, "runViews")
    assert line.mapTo(low, line.rect().topLeft()).y() >= tabs.mapTo(low, tabs.rect().topLeft()).y()
    assert find(low, QToolButton, "difference").isVisible()


@pytest.mark.parametrize("view", ["Layers", "Attention"])
def test_short_choices_are_read_whole_in_a_low_window_with_run_a(
    low: MainWindow, settle: Settle, qtbot: QtBot, view: str
) -> None:
    bring_view(low, view)
    settle()
    page = find(low, QTabWidget, "runViews").currentWidget()
    boxes = [box for box in page.findChildren(ChoiceBox) if box.isVisible()]
    assert boxes
    qtbot.waitUntil(lambda: all(box.shown_text == box.currentText() for box in boxes))


def test_controls_go_with_the_page_that_is_in_sight(
    low: MainWindow, settle: Settle, qtbot: QtBot
) -> None:
    bring_view(low, "Attention")
    settle()
    low.activateWindow()
    every = find(low, QToolButton, "allLayers")
    every.setFocus()
    qtbot.waitUntil(every.hasFocus)
    for _ in range(2):
        every.click()
        settle()
        assert every.isVisible()
        # Keys go on to where they went.
        assert every.hasFocus()
        assert find(low, QComboBox, "attentionChoice").isVisible()
    arcs = find(low, QToolButton, "arcsPicture")
    arcs.click()
    settle()
    assert arcs.isVisible()
    assert find(low, QWidget, "arcPlot").isVisible()
    assert find(low, QLabel, "mostAttended").isVisible()
    find(low, QToolButton, "matrixPicture").click()
