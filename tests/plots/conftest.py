"""A window for plots, and one plot of each kind in it."""

import pytest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from bertviewer.plots.canvas_plot import CanvasPlot
from tests.plots.kinds import HEIGHT, KINDS, WIDTH


@pytest.fixture
def window(qtbot: QtBot) -> QWidget:
    """Return a shown window, the parent of plots."""
    window = QWidget()
    qtbot.addWidget(window)
    window.resize(2000, 320)
    with qtbot.waitExposed(window):
        window.show()
    return window


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    """Return the name of a kind of plot."""
    return str(request.param)


@pytest.fixture
def any_plot(kind: str, window: QWidget) -> CanvasPlot:
    """Return a visible plot of that kind with a chart and a selection."""
    show, _ = KINDS[kind]
    plot = show(window)
    plot.resize(WIDTH, HEIGHT)
    plot.show()
    return plot
