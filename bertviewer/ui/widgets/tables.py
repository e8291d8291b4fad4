"""Tables: one model of rows of text, and the view, sorting and bars that all tables share."""

import math
import re
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from msgspec import Struct
from PySide6.QtCore import (
    QAbstractItemModel,
    QAbstractTableModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QRectF,
    Qt,
)
from PySide6.QtGui import QGuiApplication, QPainter, QPalette
from PySide6.QtWidgets import (
    QAbstractItemView,
    QApplication,
    QHeaderView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
)
from typing_extensions import override

from bertviewer.charts.table import CellValue, Rows
from bertviewer.core.util.numbers import MINUS
from bertviewer.plots.fonts import tabular, weighted
from bertviewer.ui.settings.translation import translate
from bertviewer.ui.widgets.labels import plain_tooltip
from bertviewer.ui.widgets.layouts import named
from bertviewer.ui.widgets.table_export import (
    COPY_ROLE,
    PATH_ROLE,
    add_copy_actions,
    add_path_actions,
    add_row_action,
)

Index = QModelIndex | QPersistentModelIndex
T = TypeVar("T", str, bool, float)

_ALIGNMENTS = (
    Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter,
    Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter,
)
"""Of text and of numbers; combining the flags for every cell would be slow."""

SHARE_ROLE = Qt.ItemDataRole.UserRole
"""Length of a cell's bar, as a fraction of the cell's width."""

_NUMBER = re.compile(r"-?\d+(\.\d+)?(e[+-]?\d+)?|-?(inf|nan)", re.IGNORECASE)
_DIGITS = re.compile(r"(\d+)")


class Column(Struct, frozen=True):
    """A column's title, whether it has right-aligned numbers, and the title's tooltip."""

    title: str
    is_number: bool = False
    hint: str = ""


class Row(Struct, frozen=True):
    """A row of a table.

    Attributes:
        cells: the texts.
        hint: plain text of the tooltip, for the row or for each cell.
        is_bold: whether the font is bold, for the row or for each cell.
        path: the module or tensor that the row is about.
        is_link: whether the first cell is drawn as a link.
        color: the palette's role for the texts, ``None`` for the usual colour.
        share: length of the bar between 0 and 1, for the row or for each cell.
        values: the cells as data, with all digits, for sorting and export; empty for the texts.
    """

    cells: tuple[str, ...]
    hint: str | tuple[str, ...] = ""
    is_bold: bool | tuple[bool, ...] = False
    path: str | None = None
    is_link: bool = False
    color: QPalette.ColorRole | None = None
    share: float | tuple[float, ...] = 0.0
    values: tuple[CellValue, ...] = ()


class TableModel(QAbstractTableModel):
    """Rows under fixed columns, in their own order or sorted by a column.

    It sorts by itself, as a ``QSortFilterProxyModel`` calls Python for each comparison.
    """

    def __init__(self, columns: Sequence[Column], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._columns = tuple(columns)
        self._rows: Sequence[Row] = ()
        self._order: Sequence[int] = ()  # the number of the row at each position
        self._sorted = -1, Qt.SortOrder.AscendingOrder

    def set_rows(self, rows: Sequence[Row], columns: Sequence[Column] | None = None) -> None:
        """Show other rows, and other columns if given, sorted as before.

        Args:
            rows: any sequence; one that builds its items on access is never iterated over.
            columns: their titles.
        """
        self.beginResetModel()
        if columns is not None:
            self._columns = tuple(columns)
        self._rows = rows
        self._order = self._sort()
        self.endResetModel()

    def row(self, position: int) -> Row:
        """Return the row at a position of the table."""
        return self._rows[self._order[position]]

    def number(self, position: int) -> int:
        """Return the index, among the rows as they were set, of the row at a position."""
        return int(self._order[position])

    def table(self) -> Rows:
        """Return titles and values of all rows as they are sorted."""
        rows = (self.row(position) for position in range(self.rowCount()))
        titles = tuple(column.title for column in self._columns)
        return titles, [row.values or row.cells for row in rows]

    @override
    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        self._sorted = column, order
        self.layoutAboutToBeChanged.emit()
        selected = self.persistentIndexList()
        numbers = [self.number(index.row()) for index in selected]
        self._order = self._sort()
        positions = {int(n): row for row, n in enumerate(self._order)} if selected else {}
        moved = [
            self.index(positions[number], index.column())
            for number, index in zip(numbers, selected, strict=True)
        ]
        self.changePersistentIndexList(selected, moved)
        self.layoutChanged.emit()

    def _sort(self) -> Sequence[int]:
        """Return the numbers of the rows in order."""
        column, order = self._sorted
        if column < 0:
            return range(len(self._rows))
        return self._sorted_rows(range(len(self._rows)), column, order)

    def _sorted_rows(self, numbers: Sequence[int], column: int, order: Qt.SortOrder) -> list[int]:
        """Return the numbers of some rows, sorted by a column; rows without a key come last."""
        keys = self._sort_keys(numbers, column)
        is_descending = order == Qt.SortOrder.DescendingOrder
        return [numbers[place] for place in sorted_order(keys, is_descending=is_descending)]

    def _sort_keys(self, numbers: Sequence[int], column: int) -> Sequence[Any]:
        """Return what some rows are sorted by in a column: numbers, or words in natural order."""
        texts = (self._rows[number].cells[column] for number in numbers)
        return [*map(number_in if self._columns[column].is_number else natural_key, texts)]

    @override
    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self._order)

    @override
    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self._columns)

    @override
    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        if orientation != Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return alignment(self._columns[section].is_number)
        if role == Qt.ItemDataRole.ToolTipRole:
            return self._columns[section].hint or None
        return self._columns[section].title if role == Qt.ItemDataRole.DisplayRole else None

    @override
    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        column, row = index.column(), self.row(index.row())
        if role in (Qt.ItemDataRole.DisplayRole, COPY_ROLE):
            return row.cells[column]
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return alignment(self._columns[column].is_number)
        if role == Qt.ItemDataRole.ToolTipRole:
            return plain_tooltip(_at(row.hint, column)) or None
        if role == Qt.ItemDataRole.ForegroundRole:
            is_link = row.is_link and column == 0
            color = row.color or (QPalette.ColorRole.Link if is_link else None)
            return None if color is None else QGuiApplication.palette().color(color)
        if role == Qt.ItemDataRole.FontRole:
            return weighted(QGuiApplication.font()) if _at(row.is_bold, column) else None
        if role == SHARE_ROLE:
            return _at(row.share, column)
        return row.path if role == PATH_ROLE else None


def _at(value: T | tuple[T, ...], column: int) -> T:
    """Return a row's value in a column, where it may have one for each."""
    return value[column] if isinstance(value, tuple) else value


def sorted_order(keys: Sequence[Any], *, is_descending: bool) -> list[int]:
    """Return the indices of keys in order; equal keys keep theirs, ``None`` comes last."""
    some = [place for place, key in enumerate(keys) if key is not None]
    none = [place for place, key in enumerate(keys) if key is None]
    return sorted(some, key=keys.__getitem__, reverse=is_descending) + none


def number_in(text: str) -> float | None:
    """Return the number that a text begins with, ``None`` for NaN or no number."""
    found = _NUMBER.match(text.replace(MINUS, "-").replace(",", ""))
    value = float(found[0]) if found else None
    return None if value is None or math.isnan(value) else value


def natural_key(text: str) -> tuple[tuple[int, int, str], ...] | None:
    """Return a sort key that puts layer 2 before layer 10, ``None`` for an empty text.

    ``QCollator`` in numeric mode orders punctuation by the system's locale.
    """
    parts = _DIGITS.split(text.casefold())
    return tuple((0, int(p), "") if p.isdecimal() else (1, 0, p) for p in parts if p) or None


def alignment(is_number: bool) -> Qt.AlignmentFlag:
    """Return the alignment of a cell: numbers right, text left."""
    return _ALIGNMENTS[is_number]


def make_table(
    model: QAbstractItemModel, name: str, accessible_name: str, *, copies: bool = True
) -> QTableView:
    """Return a read-only view of whole rows without a grid, columns as wide as their contents.

    ``copies``: add the usual copy actions to its context menu.
    """
    table = named(QTableView(), name, accessible_name=accessible_name)
    table.setModel(model)
    table.setFont(tabular(table.font()))
    table.setShowGrid(False)
    table.setFrameShape(QTableView.Shape.NoFrame)
    table.setWordWrap(False)
    table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
    table.setTabKeyNavigation(False)  # Tab leaves the table; arrow keys move in it
    table.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
    table.verticalHeader().hide()
    table.verticalHeader().setDefaultSectionSize(table.fontMetrics().height() + 8)
    header = table.horizontalHeader()
    header.setHighlightSections(False)
    header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
    header.setResizeContentsPrecision(0)  # measure visible rows only, of thousands
    header.setStretchLastSection(True)
    if copies:
        add_copy_actions(table)
        add_path_actions(table)
    return table


def make_sortable(table: QTableView) -> None:
    """Sort by clicks on a column's title: ascending, descending, original order."""
    header = table.horizontalHeader()
    header.setSortIndicatorClearable(True)
    header.setSortIndicator(-1, Qt.SortOrder.AscendingOrder)
    table.setSortingEnabled(True)


def connect_links(table: QAbstractItemView, go: Callable[[str], object]) -> None:
    """Call ``go`` with a row's path on double click, Enter, and from its context menu."""

    def activate(index: QModelIndex) -> None:
        path = index.data(PATH_ROLE)
        if path is not None:
            go(path)

    table.activated.connect(activate)
    title = translate("tables", "&Go to it")
    add_row_action(table, "goToRow", title, lambda: activate(table.currentIndex()), is_first=True)


class ShareBarDelegate(QStyledItemDelegate):
    """Draws a cell's ``SHARE_ROLE`` as a bar behind its text."""

    @override
    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        self.initStyleOption(option, index)
        text, option.text = option.text, ""
        style = option.widget.style() if option.widget else QApplication.style()
        style.drawControl(QStyle.ControlElement.CE_ItemViewItem, option, painter, option.widget)
        box = QRectF(option.rect).adjusted(4, 4, -8, -4)
        palette: QPalette = option.palette
        bar = palette.color(QPalette.ColorRole.Accent)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        for width, alpha in ((box.width(), 0.10), (box.width() * index.data(SHARE_ROLE), 0.38)):
            bar.setAlphaF(alpha)
            painter.setBrush(bar)
            painter.drawRoundedRect(QRectF(box.x(), box.y(), width, box.height()), 2, 2)
        painter.setPen(palette.color(QPalette.ColorRole.Text))
        painter.drawText(QRectF(option.rect).adjusted(4, 0, -12, 0), int(_ALIGNMENTS[True]), text)
        painter.restore()
