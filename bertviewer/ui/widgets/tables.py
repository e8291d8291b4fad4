"""The one kind of table in the window: texts in rows, calm to look at."""

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct
from PySide6.QtCore import (
    QAbstractItemModel,
    QAbstractTableModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    Qt,
)
from PySide6.QtGui import QGuiApplication, QPalette
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView

from bertviewer.plots.fonts import tabular, weighted
from bertviewer.ui.settings.translation import translate
from bertviewer.ui.widgets.layouts import named
from bertviewer.ui.widgets.natural_sort import sorted_order
from bertviewer.ui.widgets.table_export import (
    COPY_ROLE,
    PATH_ROLE,
    offer,
    offer_copies,
    offer_paths,
)
from bertviewer.ui.widgets.tooltips import plain_tip

Index = QModelIndex | QPersistentModelIndex

_ALIGNMENTS = (
    Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter,
    Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter,
)
"""Of words and of numbers: flags take long to be united, and each cell asks."""

SHARE_ROLE = Qt.ItemDataRole.UserRole
"""How long a cell's bar is, of all of its width."""


class Column(Struct, frozen=True):
    """A column's title, whether it holds numbers, which stand to the right, and what it means."""

    title: str
    is_number: bool = False
    hint: str = ""


class Row(Struct, frozen=True):
    """A row's cells, one text a column; ``hint`` is shown over all of them.

    ``path`` is that of the module that it is about, if there is one to go to.
    """

    cells: tuple[str, ...]
    hint: str = ""
    is_bold: bool = False
    path: str | None = None


class TableModel(QAbstractTableModel):
    """Rows of texts under fixed columns, as they were given or sorted by one of them."""

    def __init__(self, columns: Sequence[Column], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._columns = tuple(columns)
        self._rows: tuple[Row, ...] = ()
        self._order: list[int] = []  # which of the given rows each one is
        self._sorted = -1, Qt.SortOrder.AscendingOrder

    def set_rows(self, rows: Sequence[Row]) -> None:
        """Show other rows, sorted as those before."""
        self.beginResetModel()
        self._order = self._sort(rows)
        self._rows = tuple(rows[number] for number in self._order)
        self.endResetModel()

    def given(self, row: int) -> int:
        """Return which of the given rows stands in a row."""
        return self._order[row]

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        """Sort by a column, by none as the rows were given; Qt calls it."""
        self._sorted = column, order
        self.layoutAboutToBeChanged.emit()
        # What is selected stays so, wherever it goes.
        before = self.persistentIndexList()
        rows: dict[int, Row] = dict(zip(self._order, self._rows, strict=True))
        numbers = [self._order[index.row()] for index in before]
        self._order = self._sort([rows[number] for number in range(len(rows))])
        self._rows = tuple(rows[number] for number in self._order)
        places = {number: row for row, number in enumerate(self._order)}
        moved = [
            self.index(places[number], index.column())
            for number, index in zip(numbers, before, strict=True)
        ]
        self.changePersistentIndexList(before, moved)
        self.layoutChanged.emit()

    def _sort(self, rows: Sequence[Row]) -> list[int]:
        column, order = self._sorted
        if column < 0:
            return list(range(len(rows)))
        texts = [row.cells[column] for row in rows]
        is_down = order == Qt.SortOrder.DescendingOrder
        return sorted_order(texts, self._columns[column].is_number, is_down=is_down)

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        """Return the number of rows; Qt calls it."""
        return 0 if parent.isValid() else len(self._rows)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        """Return the number of columns; Qt calls it."""
        return 0 if parent.isValid() else len(self._columns)

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        """Return a column's title; Qt calls it."""
        if orientation != Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return alignment(self._columns[section].is_number)
        if role == Qt.ItemDataRole.ToolTipRole:
            return self._columns[section].hint or None
        return self._columns[section].title if role == Qt.ItemDataRole.DisplayRole else None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return what a cell shows; Qt calls it."""
        if not index.isValid():
            return None
        row = self._rows[index.row()]
        if role in (Qt.ItemDataRole.DisplayRole, COPY_ROLE):
            return row.cells[index.column()]
        if role == PATH_ROLE:
            return row.path
        if role == Qt.ItemDataRole.ForegroundRole and index.column() == 0 and row.path is not None:
            return QGuiApplication.palette().color(QPalette.ColorRole.Link)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return alignment(self._columns[index.column()].is_number)
        if role == Qt.ItemDataRole.ToolTipRole:
            return plain_tip(row.hint) or None
        if role == Qt.ItemDataRole.FontRole and row.is_bold:
            return weighted(QGuiApplication.font())
        return None


def alignment(is_number: bool) -> Qt.AlignmentFlag:
    """Return where a cell's text stands: numbers to the right, words to the left."""
    return _ALIGNMENTS[is_number]


def make_table(
    model: QAbstractItemModel, name: str, accessible_name: str, *, copies: bool = True
) -> QTableView:
    """Return a read-only view: whole rows selected, no grid, columns as wide as needed.

    ``copies``: whether its rows can be copied by its own menu, and not by one that is made for it.
    """
    table = named(QTableView(), name, says=accessible_name)
    table.setModel(model)
    table.setFont(tabular(table.font()))
    table.setShowGrid(False)
    table.setFrameShape(QTableView.Shape.NoFrame)
    table.setWordWrap(False)
    table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
    table.setTabKeyNavigation(False)  # Tab leaves the table; arrows move in it
    table.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
    table.verticalHeader().hide()
    table.verticalHeader().setDefaultSectionSize(table.fontMetrics().height() + 8)
    header = table.horizontalHeader()
    header.setHighlightSections(False)
    header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
    # Widths come from the rows in sight, not from thousands below them.
    header.setResizeContentsPrecision(0)
    header.setStretchLastSection(True)
    if copies:
        offer_copies(table)
        offer_paths(table)
    return table


def make_sortable(table: QTableView) -> None:
    """Let a click on a title sort the rows: up, down, and as they were given."""
    header = table.horizontalHeader()
    header.setSortIndicatorClearable(True)
    header.setSortIndicator(-1, Qt.SortOrder.AscendingOrder)
    table.setSortingEnabled(True)


def follow_links(table: QAbstractItemView, go: Callable[[str], object]) -> None:
    """Have a double click on a row, Enter, or its menu go to what it is about."""

    def activate(index: QModelIndex) -> None:
        path = index.data(PATH_ROLE)
        if path is not None:
            go(path)

    table.activated.connect(activate)
    title = translate("tables", "&Go to it")
    offer(table, "goToRow", title, lambda: activate(table.currentIndex()), is_first=True)
