"""Table of figures with bars and shades, which can be copied and saved."""

import re
from math import ceil

from PySide6.QtCore import QModelIndex, QSignalBlocker, Qt, Signal
from PySide6.QtGui import QAction, QPainter, QPalette, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QApplication,
    QHeaderView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)
from typing_extensions import override

from bertviewer.charts.selection_key import SelectionKey
from bertviewer.charts.table import DataTable, TableCell
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.views.chart_menu import choose_data
from bertviewer.ui.widgets.labels import plain_tooltip
from bertviewer.ui.widgets.layouts import named, vbox
from bertviewer.ui.widgets.table_export import Cells, add_copy_actions
from bertviewer.ui.widgets.tables import (
    SHARE_ROLE,
    Column,
    Index,
    Row,
    ShareBarDelegate,
    TableModel,
    make_table,
)

DEEPEST = 0.5
"""Opacity of the colour of a share of 1; text must remain legible on it."""
BAR, NARROW_BAR = 96, 76  # pixels; narrow where there are several columns of bars
MAX_EXTRA_BAR = 200  # pixels that a bar gets in addition if there is room
MIN_TEXT, MIN_SHADE = 130, 64  # pixels of a text, alone and on a shade, unless it is shorter
PADDING, BAR_PADDING = 14, 20  # pixels around a text, and around one on a bar


class FigureView(QWidget):
    """Shows a ``DataTable``, which is ``shown``; ``chosen`` has the key of a selected row."""

    chosen = Signal(SelectionKey)

    def __init__(
        self, workspace: Workspace, name: str, accessible_name: str, min_text: int = MIN_TEXT
    ) -> None:
        """``min_text`` is the width of texts in pixels, unless they are shorter."""
        super().__init__()
        self._workspace = workspace
        self._min_text = min_text
        self._model = TableModel((), self)
        self.shown = DataTable((), ())
        self._table = table = make_table(self._model, name, accessible_name, copies=False)
        table.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        table.setAutoScroll(False)
        table.setTextElideMode(Qt.TextElideMode.ElideMiddle)  # paths differ at their ends
        table.horizontalHeader().setStretchLastSection(False)
        table.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        table.horizontalHeader().setMinimumSectionSize(20)
        self._needed: list[int] = []  # width of each column's title and texts
        # Views do not own their delegates.
        self._delegates = {
            "bar": ShareBarDelegate(self),
            "shade": _ShadeDelegate(self),
            "text": (plain := QStyledItemDelegate(self)),
            "number": plain,
        }
        add_copy_actions(
            table, ("copyCells", "copyAll", "copyAllCsv", "copyAllMarkdown"), self._cells
        )
        save = named(QAction(self.tr("Save data as CSV…"), table), "saveData")
        save.triggered.connect(self._save)
        table.addAction(save)
        vbox(table, parent=self)
        table.selectionModel().currentRowChanged.connect(self._on_current)

    def show_table(self, table: DataTable) -> None:
        """Show a table; the scroll position is kept if it has the same shape."""
        is_same_shape = (
            len(table.rows) == len(self.shown.rows) and table.columns == self.shown.columns
        )
        scrolled = self._table.verticalScrollBar().value()
        self.shown = table
        columns = [
            Column(column.title, column.kind in ("number", "bar"), plain_tooltip(column.name))
            for column in table.columns
        ]
        self._model.set_rows([_row(cells) for cells in table.rows], columns)
        for number, column in enumerate(table.columns):
            self._table.setItemDelegateForColumn(number, self._delegates[column.kind])
        self._needed = self._needed_widths()
        self._fit()
        self._table.verticalScrollBar().setValue(scrolled if is_same_shape else 0)

    def mark(self, row: int | None) -> None:
        """Select a row and scroll to it, or select none."""
        with QSignalBlocker(self._table.selectionModel()):
            if row is None or not 0 <= row < len(self.shown.rows):
                self._table.clearSelection()
                self._table.setCurrentIndex(QModelIndex())
            else:
                index = self._model.index(row, 0)
                self._table.setCurrentIndex(index)
                self._table.scrollTo(index)
        self._table.viewport().update()

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        """Distribute the width: numbers get what they need, then texts, then bars."""
        columns, header = self.shown.columns, self._table.horizontalHeader()
        has_shades = any(column.kind == "shade" for column in columns)
        bars = [number for number, column in enumerate(columns) if column.kind == "bar"]
        elastic, widths = [], {}
        for number, column in enumerate(columns):
            if column.kind == "shade" or (column.kind == "text" and not has_shades):
                elastic.append(number)
            elif column.kind == "bar":
                widths[number] = NARROW_BAR if len(bars) > 1 else BAR
            else:
                widths[number] = self._needed[number]
        rest = self._room() - sum(widths.values())
        if bars and not has_shades:
            # Shorten bars, but not their figures, so that all columns are visible.
            missing = sum(min(self._needed[n], self._min_text) for n in elastic) - rest
            for number in bars:
                shorter = widths[number] - ceil(max(0, missing) / len(bars))
                widths[number] = min(widths[number], max(self._needed[number], shorter))
            rest = self._room() - sum(widths.values())
            # Bars get half of what texts do not need.
            spare = (rest - sum(self._needed[n] for n in elastic)) // (2 * len(bars))
            extra = max(0, min(spare, MAX_EXTRA_BAR))
            for number in bars:
                widths[number] += extra
            rest -= extra * len(bars)
        for number in elastic:
            least = min(self._needed[number], MIN_SHADE if has_shades else self._min_text)
            widths[number] = max(least, rest // len(elastic))
        for number, width in widths.items():
            header.resizeSection(number, width)

    def _room(self) -> int:
        """Return the width of the table without a scroll bar, if it needs one."""
        table = self._table
        rows = len(self.shown.rows) * table.verticalHeader().defaultSectionSize()
        is_long = rows + table.horizontalHeader().sizeHint().height() > self.height()
        bar = table.verticalScrollBar().sizeHint().width() if is_long else 0
        return self.width() - bar

    def _needed_widths(self) -> list[int]:
        width = self._table.fontMetrics().horizontalAdvance
        return [
            max(
                width(column.title) + PADDING,
                max(map(width, {row[number].text for row in self.shown.rows}), default=0)
                + (BAR_PADDING if column.kind == "bar" else PADDING),
            )
            for number, column in enumerate(self.shown.columns)
        ]

    def _on_current(self, current: QModelIndex) -> None:
        if current.isValid() and self.shown.keys:
            self.chosen.emit(self.shown.keys[current.row()])

    def _cells(self, is_all: bool) -> Cells:
        titles, rows = self.shown.table()
        chosen = [] if is_all else self._table.selectionModel().selectedRows()
        return Cells(titles, [rows[index.row()] for index in chosen] or rows)

    def _save(self) -> None:
        name = re.sub(r"(?=[A-Z])", "-", self._table.objectName()).lower()
        choose_data(self, self.shown, f"{name}.csv", self._workspace)


def _row(cells: tuple[TableCell, ...]) -> Row:
    return Row(
        tuple(cell.text for cell in cells),
        tuple(cell.tip for cell in cells),
        tuple(cell.is_bold for cell in cells),
        share=tuple(cell.share for cell in cells),
    )


class _ShadeDelegate(QStyledItemDelegate):
    """Draws a cell on a shade as deep as its share; a selected row keeps its shades."""

    @override
    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        self.initStyleOption(option, index)
        option.state &= ~(QStyle.StateFlag.State_Selected | QStyle.StateFlag.State_HasFocus)
        # The view has already marked the row.
        painter.fillRect(option.rect, option.palette.color(QPalette.ColorRole.Base))
        shade = option.palette.color(QPalette.ColorRole.Accent)
        shade.setAlphaF(DEEPEST * min(1.0, max(0.0, index.data(SHARE_ROLE))))
        painter.fillRect(option.rect.adjusted(1, 1, -1, -1), shade)
        style = option.widget.style() if option.widget else QApplication.style()
        style.drawControl(QStyle.ControlElement.CE_ItemViewItem, option, painter, option.widget)
