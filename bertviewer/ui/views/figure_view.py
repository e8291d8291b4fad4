"""A table of figures on the screen: bars and shades, and its data to take along."""

import re
from math import ceil

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, Qt, Signal
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

from bertviewer.charts.selection_key import SelectionKey
from bertviewer.charts.table import DataTable
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.views.chart_menu import choose_data
from bertviewer.ui.views.figure_rows import FigureRows
from bertviewer.ui.widgets.layouts import named, vbox
from bertviewer.ui.widgets.table_export import Cells, add_copy_actions
from bertviewer.ui.widgets.tables import SHARE_ROLE, ShareBarDelegate, make_table

DEEPEST = 0.5
"""How much of the shade's colour a share of 1 has: text stays readable on it."""
BAR, NARROW_BAR = 96, 76  # pixels; narrow where there are several columns of bars
MOST_BAR = 200  # more pixels, where there is room
WORDS = 130  # pixels that words have at least, if they need them and nothing else is said
SHADE = 64  # pixels that words on a shade have at least, if they need them: there are many
PADDING, BAR_PADDING = 14, 20  # pixels around a text, and around one on a bar


class FigureView(QWidget):
    """Shows a ``FigureTable``; ``chosen`` carries the place of a row that a person goes to."""

    chosen = Signal(SelectionKey)

    def __init__(
        self, workspace: Workspace, name: str, accessible_name: str, words: int = WORDS
    ) -> None:
        """Words have so many pixels at least, if they need them."""
        super().__init__()
        self._workspace = workspace
        self._words = words
        self._rows = FigureRows(self)
        self._table = table = make_table(self._rows, name, accessible_name, copies=False)
        table.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        table.setAutoScroll(False)
        table.setTextElideMode(Qt.TextElideMode.ElideMiddle)  # paths differ at their ends
        table.horizontalHeader().setStretchLastSection(False)
        table.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        table.horizontalHeader().setMinimumSectionSize(20)
        self._needed: list[int] = []
        # Views keep delegates, and do not own them.
        self._bars, self._shades = ShareBarDelegate(self), _ShadeDelegate(self)
        self._plain = QStyledItemDelegate(self)
        names = ("copyCells", "copyAll", "copyAllCsv", "copyAllMarkdown")
        add_copy_actions(table, names, self._cells)
        save = named(QAction(self.tr("Save data as CSV…"), table), "saveData")
        save.triggered.connect(self._save)
        table.addAction(save)
        vbox(table, parent=self)
        table.selectionModel().currentRowChanged.connect(self._on_current)

    @property
    def shown(self) -> DataTable:
        """The table that is shown."""
        return self._rows.shown

    def show_table(self, table: DataTable) -> None:
        """Show a table; one of the same shape stays where it is scrolled to."""
        is_alike = len(table.rows) == len(self.shown.rows) and table.columns == self.shown.columns
        scrolled = self._table.verticalScrollBar().value()
        self._rows.show_table(table)
        self._set_delegates()
        self._needed = self._needs()
        self._fit()
        self._table.verticalScrollBar().setValue(scrolled if is_alike else 0)

    def mark(self, row: int | None) -> None:
        """Select a row, or none, and bring it into sight."""
        model = self._table.selectionModel()
        model.blockSignals(True)
        if row is None or not 0 <= row < len(self.shown.rows):
            self._table.clearSelection()
            self._table.setCurrentIndex(QModelIndex())
        else:
            index = self._rows.index(row, 0)
            self._table.setCurrentIndex(index)
            self._table.scrollTo(index)
        model.blockSignals(False)
        self._table.viewport().update()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Give the columns the room that there is now; Qt calls it."""
        super().resizeEvent(event)
        self._fit()

    def _set_delegates(self) -> None:
        for number, column in enumerate(self.shown.columns):
            delegate = {"bar": self._bars, "shade": self._shades}.get(column.kind, self._plain)
            self._table.setItemDelegateForColumn(number, delegate)

    def _fit(self) -> None:
        """Make columns of numbers as wide as needed; words share the rest, but not too little."""
        columns, header = self.shown.columns, self._table.horizontalHeader()
        has_shades = any(column.kind == "shade" for column in columns)
        bars = sum(column.kind == "bar" for column in columns)
        wide, widths = [], {}
        for number, column in enumerate(columns):
            if column.kind == "shade" or (column.kind == "text" and not has_shades):
                wide.append(number)
            elif column.kind == "bar":
                widths[number] = NARROW_BAR if bars > 1 else BAR
            else:
                widths[number] = self._needed[number]
        rest = self._room() - sum(widths.values())
        if bars and not has_shades:
            self._shorten_bars(widths, sum(min(self._needed[n], self._words) for n in wide) - rest)
            rest = self._room() - sum(widths.values())
            # Words first: what they do not need makes the bars longer.
            spare = (rest - sum(self._needed[number] for number in wide)) // (2 * bars)
            longer = max(0, min(spare, MOST_BAR))
            for number, column in enumerate(columns):
                widths[number] = widths.get(number, 0) + longer * (column.kind == "bar")
            rest -= longer * bars
        for number in wide:
            least = min(self._needed[number], SHADE if has_shades else self._words)
            widths[number] = max(least, rest // len(wide))
        for number, width in widths.items():
            header.resizeSection(number, width)

    def _shorten_bars(self, widths: dict[int, int], missing: int) -> None:
        """Take missing pixels from the bars, not from their figures: all are to be in sight."""
        bars = [n for n, column in enumerate(self.shown.columns) if column.kind == "bar"]
        for number in bars:
            shorter = widths[number] - ceil(max(0, missing) / len(bars))
            widths[number] = min(widths[number], max(self._needed[number], shorter))

    def _room(self) -> int:
        """Return the width of the table beside the scroll bar, where its rows need one."""
        table = self._table
        rows = len(self.shown.rows) * table.verticalHeader().defaultSectionSize()
        is_long = rows + table.horizontalHeader().sizeHint().height() > self.height()
        bar = table.verticalScrollBar().sizeHint().width() if is_long else 0
        return self.width() - bar

    def _needs(self) -> list[int]:
        """Return how wide each column has to be for its title and all of its texts."""
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
        # Called as it is in the program: predictionTable.
        name = re.sub(r"(?=[A-Z])", "-", self._table.objectName()).lower()
        choose_data(self, self.shown, f"{name}.csv", self._workspace)


class _ShadeDelegate(QStyledItemDelegate):
    """Draws a cell on a shade as deep as its share; a selected row keeps its shades."""

    def paint(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        index: QModelIndex | QPersistentModelIndex,
    ) -> None:
        """Draw one cell; Qt calls it."""
        self.initStyleOption(option, index)
        option.state &= ~(QStyle.StateFlag.State_Selected | QStyle.StateFlag.State_HasFocus)
        # The view has marked the whole row by now.
        painter.fillRect(option.rect, option.palette.color(QPalette.ColorRole.Base))
        shade = option.palette.color(QPalette.ColorRole.Accent)
        shade.setAlphaF(DEEPEST * min(1.0, max(0.0, index.data(SHARE_ROLE))))
        painter.fillRect(option.rect.adjusted(1, 1, -1, -1), shade)
        style = option.widget.style() if option.widget else QApplication.style()
        style.drawControl(QStyle.ControlElement.CE_ItemViewItem, option, painter, option.widget)
