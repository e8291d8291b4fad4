"""The panel with the tree of BERT base."""

import pytest
from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtWidgets import QLineEdit
from pytestqt.qtbot import QtBot

from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.tree.model import ModuleTreeModel
from bertviewer.ui.tree.panel import ModuleTreePanel
from bertviewer.ui.tree.view import ModuleTreeView
from tests.core.opened import plain
from tests.ui.direct_worker import show_architecture
from tests.ui.harness import Harness


class TreeHarness(Harness):
    """The panel, and steps of a user in its filter."""

    def __init__(self, workspace: Workspace, qtbot: QtBot) -> None:
        panel = ModuleTreePanel(workspace)
        panel.resize(700, 500)
        super().__init__(panel, workspace, qtbot)
        self.opened, self._qtbot = panel.opened, qtbot
        self.view = self.find(ModuleTreeView, "moduleTree")
        self.field = self.find(QLineEdit, "treeFilter")

    @property
    def model(self) -> ModuleTreeModel:
        """The model of the tree."""
        model = self.view.model()
        assert isinstance(model, ModuleTreeModel)
        return model

    def rows(self) -> list[str]:
        """Return the keys of the rows whose ancestors are expanded, from the top down."""
        keys: list[str] = []

        def add(parent: QModelIndex) -> None:
            for number in range(self.model.rowCount(parent)):
                index = self.model.index(number, 0, parent)
                row = self.model.tree_row(index)
                assert row is not None
                keys.append(row.key)
                if self.view.isExpanded(index):
                    add(index)

        add(QModelIndex())
        return keys

    def filter_by(self, text: str) -> None:
        """Set the filter and wait until it is applied."""
        with self._qtbot.waitSignal(self.model.modelReset):
            self.field.setText(text)

    def focus(self) -> None:
        """Focus the filter."""
        self.window.activateWindow()
        self.field.setFocus()
        self._qtbot.waitUntil(self.field.hasFocus)

    def press(
        self, key: Qt.Key, modifier: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier
    ) -> None:
        """Press a key in the filter."""
        self._qtbot.keyClick(self.field, key, modifier)

    def result(self) -> str:
        """Return the number of matches or the error, "" while it is hidden."""
        return self.text("treeFilterCount")

    def selected(self) -> str | None:
        """Return the key of the selected row."""
        row = self.model.tree_row(self.view.currentIndex())
        return None if row is None else row.key


@pytest.fixture
def tree(workspace: Workspace, qtbot: QtBot) -> TreeHarness:
    tree = TreeHarness(workspace, qtbot)
    show_architecture(workspace, plain("bert-base-uncased"))
    return tree
