"""What was found, as a list: a heading above each kind, and matching letters in strong type."""

from collections.abc import Sequence
from typing import Any

from msgspec import Struct
from PySide6.QtCore import QAbstractListModel, QObject, Qt

from bertviewer.ui.palette.search import Group
from bertviewer.ui.palette.search_index import Hit
from bertviewer.ui.palette.sources import BETWEEN, Item
from bertviewer.ui.settings.translation import translate
from bertviewer.ui.widgets.tables import Index

ROW_ROLE = Qt.ItemDataRole.UserRole


class HitRow(Struct, frozen=True):
    """A line of the list: a heading, or something that was found."""

    heading: str = ""
    hit: Hit | None = None
    item: Item | None = None

    @property
    def text(self) -> str:
        """What it says in one line."""
        return self.heading if self.hit is None else self.hit.text.replace(BETWEEN, ", ")


class HitList(QAbstractListModel):
    """The lines; a heading cannot be selected."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._rows: list[HitRow] = []

    def show_groups(self, groups: Sequence[Group]) -> None:
        """Show other hits."""
        self.beginResetModel()
        self._rows = []
        for group in groups:
            self._rows.append(HitRow(translate("palette", group.source.title)))
            for hit in group.hits:
                self._rows.append(HitRow("", hit, group.source.item(hit.number)))
        self.endResetModel()

    def row(self, number: int) -> HitRow | None:
        """Return a line, ``None`` if there is none of that number."""
        return self._rows[number] if 0 <= number < len(self._rows) else None

    def next(self, number: int, by: int) -> int:
        """Return the next line that can be selected in that direction, from the last to the first.

        ``number`` itself where there is no other.
        """
        count = len(self._rows)
        for step in range(1, count + 1):
            found = (number + step * by) % count
            if self._rows[found].hit is not None:
                return found
        return number

    def rowCount(self, parent: Index | None = None) -> int:
        """Return the number of lines; Qt calls it."""
        return 0 if parent is not None and parent.isValid() else len(self._rows)

    def flags(self, index: Index) -> Qt.ItemFlag:
        """Tell what can be selected; Qt calls it."""
        row = self.row(index.row())
        if row is None or row.hit is None:
            return Qt.ItemFlag.NoItemFlags
        return Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return what a line shows; Qt calls it."""
        row = self.row(index.row())
        if row is None:
            return None
        if role == ROW_ROLE:
            return row
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
            says = (row.text, row.item.why_not or row.item.keys) if row.item else (row.text,)
            return ", ".join(filter(None, says))
        return None
