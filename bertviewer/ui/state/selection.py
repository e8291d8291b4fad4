"""What is selected in the window: one module, one token, one head, one feature, for all views."""

from PySide6.QtCore import QObject, Signal

from bertviewer.charts.selection_key import SelectionKey
from bertviewer.core.schema.module_tree import TreeRow


class Selection(QObject):
    """The selection, and the tree of modules that one of is selected.

    The signals say that a part of it is new; what it is stands in the attributes.
    """

    row_changed = Signal()
    token_changed = Signal()
    head_changed = Signal()
    feature_changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.tree: TreeRow | None = None
        self.row: TreeRow | None = None
        self.token: int | None = None
        self.head: int | None = None
        self.feature: int | None = None
        self.token_count = 0  # of the last run; no token beyond is selected

    @property
    def place(self) -> SelectionKey:
        """All that is selected."""
        path = None if self.row is None else self.row.node.path
        return SelectionKey(path, self.token, self.head, self.feature)

    def select(self, key: str) -> None:
        """Select the row with that key, or the module at that path inside a folded row."""
        if self.tree is None or (self.row is not None and self.row.key == key):
            return
        if (row := find(self.tree, key)) is not None:
            self.row = row
            self.row_changed.emit()

    def go(self, place: SelectionKey) -> None:
        """Select a module, a token, a head or a feature, or several of these at once.

        What is still to be drawn anew offers tokens of the run before; this one may have fewer.
        """
        if place.path is not None:
            self.select(place.path)
        token, head, feature = place.token, place.head, place.feature
        is_there = token is not None and 0 <= token < self.token_count
        if is_there and token != self.token:
            self.token = token
            self.token_changed.emit()
        if head is not None and head != self.head:
            self.head = head
            self.head_changed.emit()
        if feature is not None and feature != self.feature:
            self.feature = feature
            self.feature_changed.emit()

    def set_tokens(self, count: int, token: int | None) -> None:
        """Take over how many tokens the last run has, with this one of them selected, or none."""
        self.token_count, self.token = count, token

    def clear_feature(self) -> None:
        """Select no feature."""
        if self.feature is not None:
            self.feature = None
            self.feature_changed.emit()

    def set_tree(self, tree: TreeRow) -> None:
        """Put a model's tree in place; nothing but its root is selected then."""
        self.tree = self.row = tree
        self.token = self.head = self.feature = None
        self.token_count = 0

    def exchange_tree(self, tree: TreeRow) -> None:
        """Put a new tree of the same model in place, the same row selected."""
        self.tree = tree
        if self.row is not None:
            self.row = find(tree, self.row.key) or tree


def find(row: TreeRow, key: str) -> TreeRow | None:
    """Return the row with that key in a tree, ``None`` if there is none."""
    if row.key == key:
        return row
    # All keys below a module begin with its path: a thousand layers are passed by, not searched.
    if row.is_folded or key.startswith(row.node.path):
        for child in row.members or row.children:
            if (found := find(child, key)) is not None:
                return found
    return None
