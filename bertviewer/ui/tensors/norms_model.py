"""The norms of rows or columns as a table that can be sorted, however many there are."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QAbstractTableModel, QObject, Qt

from bertviewer.charts.table import CellValue, Rows
from bertviewer.charts.tensor_charts import cell_text
from bertviewer.core.tensors.matrix import TensorPart
from bertviewer.core.tensors.scan import Norms
from bertviewer.ui.widgets.tables import SHARE_ROLE, Index, alignment

NUMBER, NAME, NORM = range(3)


class NormsModel(QAbstractTableModel):
    """Number, token and norm; it sorts numbers and not the rows of a table."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._part: TensorPart | None = None
        self._norms: Norms = np.zeros(0)
        self._order: NDArray[np.intp] = np.zeros(0, dtype=np.intp)
        self._first, self._largest = 0, 1.0
        self._is_rows = True
        self._sorted = NUMBER, Qt.SortOrder.AscendingOrder

    def show_norms(self, part: TensorPart, norms: Norms, is_rows: bool) -> None:
        """Show other norms, sorted as those before."""
        self.beginResetModel()
        self._part, self._norms, self._is_rows = part, norms, is_rows
        span = part.matrix.row_span if is_rows else part.matrix.column_span
        self._first = span[0]
        finite = norms[np.isfinite(norms)]
        self._largest = float(finite.max()) if finite.size and finite.max() else 1.0
        self._arrange()
        self.endResetModel()

    def forget(self) -> None:
        """Show nothing, and keep nothing of a tensor."""
        self.beginResetModel()
        self._part, self._norms = None, np.zeros(0)
        self._arrange()
        self.endResetModel()

    @property
    def has_names(self) -> bool:
        """Whether the rows stand for tokens."""
        return self._is_rows and self._part is not None and len(self._part.rows.names) > 0

    def number(self, row: int) -> int:
        """Return the tensor's row or column that a line is of."""
        return self._first + int(self._order[row])

    def table(self) -> Rows:
        """Return all norms as they are sorted, to take along."""
        rows: list[tuple[CellValue, ...]] = [
            (self.number(row), *([self._name(row)] if self.has_names else []), self._norm(row))
            for row in range(self.rowCount())
        ]
        names = (self.tr("token"),) if self.has_names else ()
        return (self._what(), *names, self.tr("norm")), rows

    def rowCount(self, parent: Index | None = None) -> int:
        """Return the number of lines; Qt calls it."""
        return 0 if parent is not None and parent.isValid() else len(self._order)

    def columnCount(self, parent: Index | None = None) -> int:
        """Return the number of columns; Qt calls it."""
        return 0 if parent is not None and parent.isValid() else 3

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        """Return a column's title; Qt calls it."""
        if orientation != Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return alignment(section != NAME)
        if role == Qt.ItemDataRole.DisplayRole:
            return (self._what(), self.tr("Token"), self.tr("Norm"))[section]
        return None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return what a cell shows; Qt calls it."""
        if not index.isValid():
            return None
        row, column = index.row(), index.column()
        if role == Qt.ItemDataRole.DisplayRole:
            return (str(self.number(row)), self._name(row), cell_text(self._norm(row)))[column]
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return alignment(column != NAME)
        if role == SHARE_ROLE:
            norm = self._norm(row)
            return norm / self._largest if np.isfinite(norm) else 0.0
        if role == Qt.ItemDataRole.ToolTipRole and column == NORM:
            return repr(self._norm(row))
        return None

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        """Sort by number, token or norm; Qt calls it."""
        self.layoutAboutToBeChanged.emit()
        # What is selected stays so, wherever it goes.
        selected = self.persistentIndexList()
        norms = [int(self._order[index.row()]) for index in selected]
        self._sorted = column, order
        self._arrange()
        places = np.argsort(self._order)
        moved = [
            self.index(int(places[norm]), index.column())
            for norm, index in zip(norms, selected, strict=True)
        ]
        self.changePersistentIndexList(selected, moved)
        self.layoutChanged.emit()

    def _arrange(self) -> None:
        column, order = self._sorted
        found: NDArray[np.intp] = np.arange(len(self._norms))
        if column == NORM:
            found = np.argsort(self._norms, kind="stable")
        elif column == NAME and self.has_names:
            assert self._part is not None
            names = self._part.row_name
            found = np.array(sorted(range(len(self._norms)), key=names), dtype=np.intp)
        self._order = found if order == Qt.SortOrder.AscendingOrder else found[::-1]

    def _norm(self, row: int) -> float:
        return float(self._norms[self._order[row]])

    def _name(self, row: int) -> str:
        if not self.has_names or self._part is None:
            return ""
        return self._part.row_name(int(self._order[row]))

    def _what(self) -> str:
        return self.tr("Row") if self._is_rows else self.tr("Column")
