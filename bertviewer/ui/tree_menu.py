"""What the tree itself can do with a row, in the row's menu."""

from collections.abc import Callable

from PySide6.QtCore import QModelIndex
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QMenu

from bertviewer.ui.translation import QT_TRANSLATE_NOOP, translate
from bertviewer.ui.tree_rows import TreeItem
from bertviewer.ui.tree_view import ModuleTreeView


def fill_tree_menu(menu: QMenu, view: ModuleTreeView, index: QModelIndex, item: TreeItem) -> None:
    """Add to a row's menu what is done in the tree alone."""

    def add(name: str, title: str, call: Callable[[], object], is_enabled: bool = True) -> None:
        action = menu.addAction(translate("tree", title), call)
        action.setObjectName(name)
        action.setEnabled(is_enabled)

    def copy_count() -> None:
        QGuiApplication.clipboard().setText(str(item.row.parameters))

    def expand() -> None:
        view.expandRecursively(index)

    menu.addSeparator()
    add("copyCount", QT_TRANSLATE_NOOP("tree", "Copy the exact count"), copy_count)
    menu.addSeparator()
    add("expandBelow", QT_TRANSLATE_NOOP("tree", "Expand all below"), expand, bool(item.children))
    add("collapseAll", QT_TRANSLATE_NOOP("tree", "Collapse all"), view.collapse_all)
