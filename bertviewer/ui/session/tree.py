"""Which rows of the module tree are open."""

from collections.abc import Sequence

from PySide6.QtCore import QModelIndex
from PySide6.QtWidgets import QTreeView

from bertviewer.core.system.garbage import no_search_for_garbage
from bertviewer.ui.module_tree import ModuleTreeModel
from bertviewer.ui.session.state import MOST_ROWS


def open_rows(view: QTreeView) -> tuple[str, ...] | None:
    """Return the keys of the open rows, ``None`` where they are too many to be remembered."""
    model = view.model()
    if not isinstance(model, ModuleTreeModel):
        return None
    keys: list[str] = []
    waiting = [QModelIndex()]
    while waiting:
        above = waiting.pop()
        for number in range(model.rowCount(above)):
            index = model.index(number, 0, above)
            if view.isExpanded(index):
                row = model.tree_row(index)
                keys.append("" if row is None else row.key)
                waiting.append(index)
            if len(keys) > MOST_ROWS:
                return None
    return tuple(keys)


@no_search_for_garbage()
def open_again(view: QTreeView, keys: Sequence[str]) -> None:
    """Have these rows open, and no others; those that are not there are left out."""
    model = view.model()
    if not isinstance(model, ModuleTreeModel):
        return
    view.collapseAll()
    for key in keys:
        if (index := model.index_of(key)).isValid():
            view.expand(index)
