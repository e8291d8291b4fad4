"""Harness that operates a widget over a workspace whose jobs run in the GUI thread."""

from typing import Any, TypeVar

from PySide6.QtCore import QObject
from PySide6.QtWidgets import (
    QAbstractButton,
    QComboBox,
    QDialog,
    QLabel,
    QTableView,
    QWidget,
)
from pytestqt.qtbot import QtBot

from bertviewer.charts.chart import Chart
from bertviewer.charts.table import DataTable
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.views.chart_panel import ChartPanel
from bertviewer.ui.views.figure_view import FigureView
from bertviewer.ui.widgets.layouts import vbox
from tests.ui.direct_worker import settle
from tests.ui.finding import find

T = TypeVar("T", bound=QObject)
C = TypeVar("C", bound=Chart)


class Harness:
    """A widget in a visible window, and its workspace."""

    def __init__(self, widget: QWidget, workspace: Workspace, qtbot: QtBot) -> None:
        self.widget = widget
        self.workspace = workspace
        self.window = widget if isinstance(widget, QDialog) else QWidget()
        if self.window is not widget:
            size = widget.size()
            vbox(widget, parent=self.window, spacing=0)  # errors are shown above the widget
            self.window.resize(size)
        if self.window.parent() is None:
            qtbot.addWidget(self.window)
        self.window.show()

    def resize(self, width: int, height: int) -> None:
        """Resize the window and wait until it is drawn."""
        self.window.resize(width, height)
        self.settle()

    def settle(self) -> None:
        """Wait until everything is computed and drawn."""
        settle(self.workspace)

    def find(self, kind: type[T], name: str | None = None) -> T:
        """Return the child of that class and object name."""
        return find(self.window, kind, name)

    def click(self, name: str) -> None:
        """Click a button."""
        self.find(QAbstractButton, name).click()
        self.settle()

    def choose(self, name: str, text: str) -> None:
        """Choose an item of a combo box, as a user does."""
        box = self.find(QComboBox, name)
        index = box.findText(text)
        assert index >= 0, f"{text!r} is not one of {self.items(name)}"
        box.setCurrentIndex(index)
        box.activated.emit(index)
        self.settle()

    def items(self, name: str) -> list[str]:
        """Return the items of a combo box."""
        box = self.find(QComboBox, name)
        return [box.itemText(index) for index in range(box.count())]

    def chosen(self, name: str) -> str:
        """Return the chosen item of a combo box."""
        return self.find(QComboBox, name).currentText()

    def text(self, name: str) -> str:
        """Return the text of a label, "" if it is hidden."""
        label = self.find(QLabel, name)
        return label.text() if label.isVisible() else ""

    def texts(self) -> list[str]:
        """Return the texts of all labels."""
        return [label.text() for label in self.widget.findChildren(QLabel) if label.text()]

    def panel(self, plot: str) -> ChartPanel:
        """Return the panel of the plot with that object name."""
        (panel,) = (
            panel
            for panel in self.widget.findChildren(ChartPanel)
            if panel.plot.objectName() == plot
        )
        return panel

    def charts(self, plot: str, kind: type[C]) -> tuple[C, ...]:
        """Return the charts of a panel: the current run's, and the baseline's if it is shown."""
        charts = self.panel(plot).charts
        for chart in charts:
            assert isinstance(chart, kind)
        return charts  # type: ignore[return-value]

    def chart(self, plot: str, kind: type[C]) -> C:
        """Return the only chart of a panel."""
        (chart,) = self.charts(plot, kind)
        return chart

    def is_visible(self, name: str) -> bool:
        """Return whether the widget with that object name is visible."""
        return self.find(QWidget, name).isVisible()

    def is_enabled(self, name: str) -> bool:
        """Return whether the widget with that object name is enabled."""
        return self.find(QWidget, name).isEnabled()

    def title(self, plot: str) -> str:
        """Return the title of a chart."""
        return self.panel(plot).findChildren(QLabel)[0].text()

    def messages(self) -> list[str]:
        """Return the visible messages in place of charts."""
        labels = self.widget.findChildren(QLabel, "chartMessage")
        return [label.text() for label in labels if label.isVisible()]

    def table(self, name: str) -> DataTable:
        """Return the table of figures with that object name."""
        view = self.find(QTableView, name).parent()
        assert isinstance(view, FigureView)
        return view.shown

    def column(self, name: str, title: str) -> list[Any]:
        """Return a column of a table of figures as data."""
        header, rows = self.table(name).table()
        return [row[header.index(title)] for row in rows]
