"""A table of figures as rows of a Qt table."""

from typing import Any

from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QGuiApplication

from bertviewer.charts.table import DataTable, TableCell
from bertviewer.plots.fonts import weighted
from bertviewer.ui.widgets.labels import plain_tooltip
from bertviewer.ui.widgets.tables import SHARE_ROLE, Column, Index, Row, TableModel


class FigureRows(TableModel):
    """Shows one table after the other; its columns change with it."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__((), parent)
        self.shown = DataTable((), ())

    def show_table(self, table: DataTable) -> None:
        """Show a table in place of the one before."""
        self.shown = table
        columns = [
            Column(column.title, column.kind in ("number", "bar"), plain_tooltip(column.name))
            for column in table.columns
        ]
        self.set_rows([Row(tuple(figure.text for figure in row)) for row in table.rows], columns)

    def figure(self, index: Index) -> TableCell:
        """Return the figure of a cell."""
        return self.shown.rows[index.row()][index.column()]

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return what a cell shows; Qt calls it."""
        if not index.isValid():
            return None
        figure = self.figure(index)
        if role == SHARE_ROLE:
            return figure.share
        if role == Qt.ItemDataRole.ToolTipRole:
            return plain_tooltip(figure.tip) or None
        if role == Qt.ItemDataRole.FontRole and figure.is_bold:
            return weighted(QGuiApplication.font())
        return super().data(index, role)
