"""What can be done with a row of the module tree, by right click or the menu key."""

from collections.abc import Callable

from PySide6.QtCore import QModelIndex
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QMenu

from bertviewer.ui.translation import QT_TRANSLATE_NOOP, translate
from bertviewer.ui.tree_rows import TreeItem
from bertviewer.ui.tree_view import ModuleTreeView


def tree_menu(view: ModuleTreeView, index: QModelIndex, item: TreeItem) -> QMenu:
    """Return a menu for one row, which goes when it is closed."""
    menu = QMenu(view)
    menu.setObjectName("treeMenu")
    menu.aboutToHide.connect(menu.deleteLater)
    row = item.row

    def add(name: str, title: str, call: Callable[[], object], is_enabled: bool = True) -> None:
        action = menu.addAction(translate("tree", title), call)
        action.setObjectName(name)
        action.setEnabled(is_enabled)

    add(
        "openInMap",
        QT_TRANSLATE_NOOP("tree", "Open in the map"),
        lambda: view.opened.emit(item.key),
    )
    menu.addSeparator()
    add(
        "copyPath",
        QT_TRANSLATE_NOOP("tree", "Copy the path"),
        lambda: _copy(item.key),
        bool(item.key),
    )
    add(
        "copyCount",
        QT_TRANSLATE_NOOP("tree", "Copy the exact count"),
        lambda: _copy(str(row.parameters)),
    )
    menu.addSeparator()
    add(
        "expandBelow",
        QT_TRANSLATE_NOOP("tree", "Expand all below"),
        lambda: view.expandRecursively(index),
        bool(item.children),
    )
    add("collapseAll", QT_TRANSLATE_NOOP("tree", "Collapse all"), view.collapse_all)
    return menu


def _copy(text: str) -> None:
    QGuiApplication.clipboard().setText(text)
