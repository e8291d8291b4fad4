"""Where a person was in the tree of modules: back, and forward again."""

from PySide6.QtCore import QObject, Signal

from bertviewer.ui.state.selection import Selection, find

MOST = 300
"""So many places are remembered; the oldest are forgotten."""


class History(QObject):
    """The rows that were selected, by their keys, the one that is selected now among them.

    ``changed`` says that it is possible to go elsewhere than before.
    """

    changed = Signal()

    def __init__(self, selection: Selection, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._selection = selection
        self._keys: list[str] = []
        self._place = -1  # of the current one
        selection.row_changed.connect(self._on_row)

    @property
    def can_go_back(self) -> bool:
        """Whether there is a place before this one."""
        return self._place > 0

    @property
    def can_go_forward(self) -> bool:
        """Whether one went back from a place."""
        return self._place < len(self._keys) - 1

    def back(self) -> None:
        """Select what was selected before."""
        self._go(-1)

    def forward(self) -> None:
        """Select what one went back from."""
        self._go(1)

    def recent(self, count: int) -> tuple[str, ...]:
        """Return the keys that were selected last before the current one, the last one first."""
        past = reversed(self._keys[: max(0, self._place)])
        others = dict.fromkeys(key for key in past if key != self._keys[self._place])
        return tuple(others)[:count]

    def forget(self) -> None:
        """Begin anew: the places are another model's."""
        self._keys, self._place = [], -1
        self.changed.emit()

    def _go(self, by: int) -> None:
        """Go on in that direction to what there is: another head has other modules."""
        tree, place = self._selection.tree, self._place + by
        while tree is not None and 0 <= place < len(self._keys):
            if find(tree, self._keys[place]) is not None:
                self._place = place
                self._selection.select(self._keys[place])
                self.changed.emit()
                return
            place += by

    def _on_row(self) -> None:
        row = self._selection.row
        if row is None or (self._keys and self._keys[self._place] == row.key):
            self.changed.emit()
            return
        self._keys = [*self._keys[: self._place + 1], row.key][-MOST:]
        self._place = len(self._keys) - 1
        self.changed.emit()
