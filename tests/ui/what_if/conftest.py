"""The What-if tab of BERT base."""

from functools import cache

import pytest
from PySide6.QtCore import QRegularExpression
from PySide6.QtWidgets import QPushButton, QScrollArea, QSpinBox, QTableView
from pytestqt.qtbot import QtBot

from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.module_tree import TreeRow
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.what_if.figures import FigureGrid
from bertviewer.ui.what_if.tab import WhatIfTab
from tests.core.opened import derived
from tests.ui.direct_worker import show_architecture
from tests.ui.harness import Harness


@cache
def bert() -> Architecture:
    return derived("bert-base-uncased")


class WhatIfHarness(Harness):
    """The tab, and steps of a user in it."""

    widget: WhatIfTab

    def open(self, architecture: Architecture) -> None:
        """Show another architecture."""
        show_architecture(self.workspace, architecture)
        self.widget.refresh()

    def select(self, key: str) -> TreeRow:
        """Select a row of the tree."""
        self.workspace.selection.select(key)
        self.widget.refresh()
        row = self.workspace.selection.row
        assert row is not None
        assert row.key == key
        return row

    def field(self, symbol: str) -> QSpinBox:
        """Return the field of a symbol."""
        return self.find(QSpinBox, f"whatIf_{symbol}")

    def figures(self, of: str = "Model") -> dict[str, tuple[str, ...]]:
        """Return the results for the model, or for the selected ``Row``."""
        grid = self.find(FigureGrid, f"whatIf{of}Figures")
        return {line[0]: line[1:] for line in grid.texts()}

    def message(self) -> str:
        """Return what is said about invalid values."""
        return self.text("whatIfMessage")

    def is_outdated(self) -> bool:
        """Return whether results of earlier values are shown."""
        page = self.find(QScrollArea, "whatIfResults").widget()
        assert page is not None
        return not page.isEnabled()

    def tensors(self) -> list[list[str]]:
        """Return the table of tensors."""
        model = self.find(QTableView, "whatIfTensors").model()
        rows, columns = range(model.rowCount()), range(model.columnCount())
        return [[model.index(row, column).data() for column in columns] for row in rows]

    def remedies(self) -> list[str]:
        """Return the buttons that would make values valid."""
        names = QRegularExpression("^whatIfOffer_")
        buttons = self.widget.findChildren(QPushButton, names)
        return [button.text() for button in buttons if not button.isHidden()]


@pytest.fixture
def tab(workspace: Workspace, qtbot: QtBot) -> WhatIfHarness:
    """Return the tab of BERT base."""
    tab = WhatIfTab(workspace)
    tab.resize(900, 700)
    harness = WhatIfHarness(tab, workspace, qtbot)
    harness.open(bert())
    return harness
