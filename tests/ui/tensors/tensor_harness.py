"""The tab of tensors, and steps of a user in it."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QTableView
from pytestqt.qtbot import QtBot

from bertviewer.charts.tensor_charts import cell_text
from bertviewer.core.replay.module_tensors import module_tensors
from bertviewer.ui.shell.tabs import TABS
from bertviewer.ui.state.pages import Page
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.tensors.views import TensorViews
from bertviewer.ui.views.pages import PageTabs
from tests.ui.run.view_harness import RunHarness

DOWN, ACROSS = Qt.Orientation.Vertical, Qt.Orientation.Horizontal


class TensorHarness(RunHarness):
    """The tab of tensors, which is refreshed as in the window."""

    def __init__(self, workspace: Workspace, qtbot: QtBot) -> None:
        kind = next(kind for kind in TABS if kind.title == Page.TENSORS)
        tabs = PageTabs[Any](
            (kind,),
            workspace,
            lambda tab: tab.refresh(),
            context="tabs",
            at_once=frozenset({"row", "formulas"}),
        )
        tabs.resize(1200, 500)
        super().__init__(tabs, workspace, qtbot)
        tabs.pages.refresh()
        self.settle()

    @property
    def listing(self) -> QTableView:
        """The list of tensors."""
        return self.find(QTableView, "tensorTable")

    @property
    def values(self) -> QTableView:
        """The table of values."""
        return self.find(QTableView, "valuesTable")

    def names(self) -> list[str]:
        """Return the names in the list, titles of groups among them."""
        model = self.listing.model()
        return [model.index(row, 0).data() for row in range(model.rowCount())]

    def inspect(self, name: str, group: str = "") -> None:
        """Select a tensor in the list, below the title of its group."""
        names = self.names()
        row = names.index(name, names.index(group) if group else 0)
        self.listing.setCurrentIndex(self.listing.model().index(row, 0))
        self.settle()

    def parameter(self, path: str) -> None:
        """Select a parameter's module, and the parameter in the list."""
        module, _, name = path.rpartition(".")
        self.workspace.selection.select(module)
        self.settle()
        self.inspect(name)

    def show_view(self, number: int) -> None:
        """Show one of the views of a tensor."""
        self.click(f"tensorView{number}")

    def shape(self) -> tuple[int, int]:
        """Return the numbers of rows and columns of the table of values."""
        return self.values.model().rowCount(), self.values.model().columnCount()

    def cell(self, row: int, column: int) -> str:
        """Return the text of a value."""
        return str(self.values.model().index(row, column).data())

    def row_titles(self) -> list[str]:
        """Return the titles of the table's rows."""
        model = self.values.model()
        return [str(model.headerData(row, DOWN)).strip() for row in range(model.rowCount())]

    def column_title(self, column: int = 0) -> str:
        """Return the title of a column of the table."""
        return str(self.values.model().headerData(column, ACROSS))

    def status(self) -> str:
        """Return the text about the current cell."""
        return self.find(QLabel, "cellValue").text()

    def tensor_title(self) -> str:
        """Return the title of the tensor."""
        return self.find(QLabel, "tensorTitle").text()

    def notices(self) -> list[str]:
        """Return the visible messages in place of a view."""
        labels = self.widget.findChildren(QLabel, "tensorNotice")
        return [label.text() for label in labels if label.isVisible()]

    def has_values(self) -> bool:
        """Return whether values are shown instead of a message."""
        return self.find(TensorViews).part is not None

    def facts(self, table: str) -> Mapping[str, str]:
        """Return the first two columns of a table of figures."""
        model = self.find(QTableView, table).model()
        rows = range(model.rowCount())
        return {model.index(row, 0).data(): model.index(row, 1).data() for row in rows}

    def recorded(self, path: str, call: int = 0) -> NDArray[np.float32]:
        """Return the output of a module in the last run, replayed without the window."""
        current, model = self.workspace.runs.current, self.workspace.jobs.model
        assert current is not None
        assert model is not None
        _, outputs = module_tensors(current.cached(model), path, call=call)
        return np.asarray(next(iter(outputs.values()))[0].numpy())

    def assert_cell(self, row: int, column: int, value: object) -> None:
        """Check that a cell has the text of a value."""
        assert self.cell(row, column) == cell_text(np.asarray(value).item())
