"""Selection of the window and its history: one module, token, head and feature for all views."""

from PySide6.QtCore import QObject, Signal

from bertviewer.charts.selection_key import SelectionKey
from bertviewer.core.schema.module_tree import TreeRow

MAX_HISTORY = 300
"""Selected rows that are remembered; the oldest are dropped."""


class Selection(QObject):
    """The tree of modules, and what is selected.

    The signals say that an attribute has changed.

    Attributes:
        tree: the open model's tree.
        row: the selected row.
        token, head, feature: their selected indices.
        token_count: of the last run; later tokens cannot be selected.
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
        self.token_count = 0

    @property
    def place(self) -> SelectionKey:
        """Everything that is selected."""
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
        """Select everything that a key names.

        A token that the last run does not have is ignored: a view may not be redrawn yet.
        """
        if place.path is not None:
            self.select(place.path)
        token, head, feature = place.token, place.head, place.feature
        exists = token is not None and 0 <= token < self.token_count
        if exists and token != self.token:
            self.token = token
            self.token_changed.emit()
        if head is not None and head != self.head:
            self.head = head
            self.head_changed.emit()
        if feature is not None and feature != self.feature:
            self.feature = feature
            self.feature_changed.emit()

    def set_tokens(self, count: int, token: int | None) -> None:
        """Set the number of tokens of the last run, and the selected one, without a signal."""
        self.token_count, self.token = count, token

    def clear_feature(self) -> None:
        """Select no feature."""
        if self.feature is not None:
            self.feature = None
            self.feature_changed.emit()

    def set_tree(self, tree: TreeRow) -> None:
        """Set another model's tree and select its root, without a signal."""
        self.tree = self.row = tree
        self.token = self.head = self.feature = None
        self.token_count = 0

    def exchange_tree(self, tree: TreeRow) -> None:
        """Set a new tree of the same model; the selection stays."""
        self.tree = tree
        if self.row is not None:
            self.row = find(tree, self.row.key) or tree


def find(row: TreeRow, key: str) -> TreeRow | None:
    """Return the row with a key in a tree, ``None`` without one."""
    if row.key == key:
        return row
    # All keys below a module begin with its path, so other layers are skipped.
    if row.is_folded or key.startswith(row.node.path):
        for child in row.members or row.children:
            if (found := find(child, key)) is not None:
                return found
    return None


class History(QObject):
    """The keys of the rows that were selected, including the current one.

    ``changed`` is emitted when it may be possible to go somewhere else than before.
    """

    changed = Signal()

    def __init__(self, selection: Selection, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._selection = selection
        self._keys: list[str] = []
        self._position = -1  # of the current one
        selection.row_changed.connect(self._on_row)

    @property
    def can_go_back(self) -> bool:
        """Whether there is an earlier selection."""
        return self._position > 0

    @property
    def can_go_forward(self) -> bool:
        """Whether there is a later selection."""
        return self._position < len(self._keys) - 1

    def back(self) -> None:
        """Select what was selected before."""
        self._go(-1)

    def forward(self) -> None:
        """Select what was selected before going back."""
        self._go(1)

    def recent(self, count: int) -> tuple[str, ...]:
        """Return the keys that were selected before the current one, the latest first."""
        past = reversed(self._keys[: max(0, self._position)])
        others = dict.fromkeys(key for key in past if key != self._keys[self._position])
        return tuple(others)[:count]

    def forget(self) -> None:
        """Clear the history: another model is opened."""
        self._keys, self._position = [], -1
        self.changed.emit()

    def _go(self, step: int) -> None:
        """Go to the next key in a direction that exists: another head has other modules."""
        tree, position = self._selection.tree, self._position + step
        while tree is not None and 0 <= position < len(self._keys):
            if find(tree, self._keys[position]) is not None:
                self._position = position
                self._selection.select(self._keys[position])
                self.changed.emit()
                return
            position += step

    def _on_row(self) -> None:
        row = self._selection.row
        if row is not None and not (self._keys and self._keys[self._position] == row.key):
            self._keys = [*self._keys[: self._position + 1], row.key][-MAX_HISTORY:]
            self._position = len(self._keys) - 1
        self.changed.emit()
