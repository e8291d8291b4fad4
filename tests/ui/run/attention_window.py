"""What the window shows of attention, and choosing in it."""

from collections.abc import Callable
from typing import Any

from PySide6.QtWidgets import QComboBox, QLabel

from bertviewer.plots.chart import GridChart, HeadsChart
from bertviewer.ui.main_window import MainWindow
from bertviewer.ui.run.attention_view import AttentionView
from bertviewer.ui.run.chart_panel import ChartPanel
from tests.ui.finding import bring_view, find

Settle = Callable[[], None]


def show(window: MainWindow, settle: Settle) -> None:
    """Bring the view into sight."""
    bring_view(window, "Attention")
    settle()


def view_of(window: MainWindow) -> AttentionView:
    return find(window, AttentionView)


def charts(window: MainWindow, name: str) -> tuple[Any, ...]:
    """Return what the panel of the plot of that name shows."""
    (panel,) = (
        panel
        for panel in view_of(window).findChildren(ChartPanel)
        if panel.plot.objectName() == name
    )
    return panel.charts


def heads(window: MainWindow) -> HeadsChart:
    (chart,) = charts(window, "headGrid")
    assert isinstance(chart, HeadsChart)
    return chart


def head(window: MainWindow) -> GridChart:
    (chart,) = charts(window, "headPlot")
    assert isinstance(chart, GridChart)
    return chart


def choice(window: MainWindow) -> QComboBox:
    return find(window, QComboBox, "attentionChoice")


def choose(window: MainWindow, settle: Settle, name: str) -> None:
    choice(window).setCurrentIndex(choice(window).findText(name))
    settle()


def titles(window: MainWindow) -> list[str]:
    return [label.text() for label in view_of(window).findChildren(QLabel) if label.text()]
