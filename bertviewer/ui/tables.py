"""The one kind of table in the window: texts in rows, calm to look at."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import (
    QAbstractItemModel,
    QAbstractTableModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    Qt,
)
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView

from bertviewer.plots.fonts import tabular, weighted
from bertviewer.ui.tips import plain_tip

Index = QModelIndex | QPersistentModelIndex


@dataclass(frozen=True, slots=True)
class Column:
    """A column's title, whether it holds numbers, which stand to the right, and what it means."""

    title: str
    is_number: bool = False
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """A row's cells, one text a column; ``hint`` is shown over all of them."""

    cells: tuple[str, ...]
    hint: str = ""
    is_bold: bool = False


class TableModel(QAbstractTableModel):
    """Rows of texts under fixed columns."""

    def __init__(self, columns: Sequence[Column], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._columns = tuple(columns)
        self._rows: tuple[Row, ...] = ()

    def set_rows(self, rows: Sequence[Row]) -> None:
        """Show other rows."""
        self.beginResetModel()
        self._rows = tuple(rows)
        self.endResetModel()

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
        if role == Qt.ItemDataRole.DisplayRole:
            return row.cells[index.column()]
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return alignment(self._columns[index.column()].is_number)
        if role == Qt.ItemDataRole.ToolTipRole:
            return plain_tip(row.hint) or None
        if role == Qt.ItemDataRole.FontRole and row.is_bold:
            return weighted(QGuiApplication.font())
        return None


def alignment(is_number: bool) -> Qt.AlignmentFlag:
    """Return where a cell's text stands: numbers to the right, words to the left."""
    side = Qt.AlignmentFlag.AlignRight if is_number else Qt.AlignmentFlag.AlignLeft
    return side | Qt.AlignmentFlag.AlignVCenter


def make_table(model: QAbstractItemModel, name: str, accessible_name: str) -> QTableView:
    """Return a read-only view: whole rows selected, no grid, columns as wide as needed."""
    table = QTableView()
    table.setObjectName(name)
    table.setAccessibleName(accessible_name)
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
    return table
