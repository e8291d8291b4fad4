"""What a person does with the tree's filter, and sees of it."""

from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtWidgets import QLabel, QLineEdit, QTreeView
from pytestqt.qtbot import QtBot

from bertviewer.ui.tree.model import ModuleTreeModel
from bertviewer.ui.tree.panel import ModuleTreePanel
from tests.ui.finding import find


def in_sight(panel: ModuleTreePanel) -> list[str]:
    """Return the keys of all rows whose parents are open, from the top on."""
    view = find(panel, QTreeView, "moduleTree")
    model = view.model()
    assert isinstance(model, ModuleTreeModel)
    keys: list[str] = []

    def add(parent: QModelIndex) -> None:
        for number in range(model.rowCount(parent)):
            index = model.index(number, 0, parent)
            row = model.tree_row(index)
            assert row is not None
            keys.append(row.key)
            if view.isExpanded(index):
                add(index)

    add(QModelIndex())
    return keys


def filter_by(panel: ModuleTreePanel, qtbot: QtBot, text: str) -> None:
    view = find(panel, QTreeView, "moduleTree")
    with qtbot.waitSignal(view.model().modelReset):
        find(panel, QLineEdit, "treeFilter").setText(text)


def press(
    panel: ModuleTreePanel,
    qtbot: QtBot,
    key: Qt.Key,
    modifier: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier,
) -> None:
    """Press a key in the filter's field."""
    qtbot.keyClick(find(panel, QLineEdit, "treeFilter"), key, modifier)


def said(panel: ModuleTreePanel) -> str:
    """Return what is said of the filter, nothing where that is out of sight."""
    label = find(panel, QLabel, "treeFilterCount")
    return label.text() if label.isVisible() else ""


def selected(panel: ModuleTreePanel) -> str | None:
    view = find(panel, QTreeView, "moduleTree")
    model = view.model()
    assert isinstance(model, ModuleTreeModel)
    row = model.tree_row(view.currentIndex())
    return None if row is None else row.key
