"""View of a tensor's values in a table, with the exact value of a cell."""

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QStringListModel, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QAbstractItemView, QCompleter, QLineEdit
from typing_extensions import override

from bertviewer.charts.tensor_charts import exact_text, position_text
from bertviewer.core.tensors.axes import NO_TOKENS, Axis
from bertviewer.core.tensors.matrix import TensorPart
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.numbers import count_text
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.tensors.page import TensorPage
from bertviewer.ui.tensors.values_model import MAX_LINES, UniformHeader, ValuesModel
from bertviewer.ui.widgets.labels import ElidedLabel, plain_tooltip
from bertviewer.ui.widgets.layouts import hbox, named, vbox
from bertviewer.ui.widgets.table_export import Cells, add_copy_actions
from bertviewer.ui.widgets.tables import make_table

FIELD_WIDTH = 170  # pixels of the field for a row
NAME_WIDTH = 84  # pixels of a token next to its number
SAMPLE = "−00.000000"
PADDING = 18  # pixels around a number
MAX_COPIED = 1_000_000  # cells
MAX_WIDTH = 150  # pixels of a column's title
MEASURED_TITLES = 256  # columns whose titles are measured
MAX_OFFERED = 12  # completions
MAX_DIGITS = 9  # of a row: a Qt signal has 32 bits
GAP = "   "  # between a token and its row in the list of completions


class _Completer(QCompleter):
    """Completes to the token, without its row."""

    @override
    def pathFromIndex(self, index: QModelIndex | QPersistentModelIndex) -> str:
        return str(index.data()).rpartition(GAP)[0]


class RowField(QLineEdit):
    """Field to go to a row by its number or token; ``chosen`` has the row, ``missed`` the text."""

    chosen = Signal(int)
    missed = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("goToRow")
        self.setClearButtonEnabled(True)
        self._tokens = NO_TOKENS
        self._offered: tuple[int, ...] = ()
        self._list = QStringListModel(self)
        completer = _Completer(self._list, self)
        # The list has only matches: the index of tokens finds them faster than Qt would.
        completer.setFilterMode(Qt.MatchFlag.MatchContains)
        completer.setCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
        completer.setMaxVisibleItems(MAX_OFFERED)
        completer.activated[QModelIndex].connect(self._on_activated)  # type: ignore[index]
        self.setCompleter(completer)
        popup = completer.popup()
        assert popup is not None
        self._popup = popup
        self.textEdited.connect(self._complete)
        self.set_axis(Axis())

    def set_axis(self, axis: Axis) -> None:
        """Accept the rows of an axis, and their tokens."""
        self._tokens = axis.names
        self._offered = ()
        self._list.setStringList([])
        text = self.tr("Go to feature") if axis.kind == "feature" else self.tr("Go to row")
        if len(axis.names):
            text = self.tr("Go to row or token")
        self.setPlaceholderText(text)
        self.setAccessibleName(text)
        self.setToolTip(text)

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() not in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            super().keyPressEvent(event)
        elif self._popup.isVisible() and self._popup.currentIndex().isValid():
            event.ignore()  # for the popup
        else:
            self._go()

    def _complete(self, text: str) -> None:
        self._offered = self._tokens.starting(text.strip(), MAX_OFFERED)
        names = self._tokens.names
        self._list.setStringList([f"{names[row]}{GAP}{row}" for row in self._offered])

    def _on_activated(self, index: QModelIndex) -> None:
        if 0 <= index.row() < len(self._offered):
            row = self._offered[index.row()]
            self.setText(self._tokens.names[row])
            self.chosen.emit(row)

    def _go(self) -> None:
        text = self.text().strip()
        if not text:
            return
        is_row = text.isascii() and text.isdecimal() and len(text) <= MAX_DIGITS
        row = int(text) if is_row else self._tokens.find(text)
        if row is None:
            self.missed.emit(text)
        else:
            self.chosen.emit(row)
        self._popup.hide()


class ValuesPage(TensorPage):
    """Table of the values, a field to go to a row, and the value of a cell with all digits."""

    needs_torch = False

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace)
        self._model = ValuesModel(self)
        self._table = table = make_table(
            self._model, "valuesTable", self.tr("Values"), copies=False
        )
        self._set_up_table()
        self._row_field = RowField()
        self._row_field.setFixedWidth(FIELD_WIDTH)
        self._status = named(ElidedLabel(), "cellValue")
        self._status.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        line = hbox(self._row_field, (self._status, 1), margins=(8, 3, 8, 3), spacing=10)
        vbox(line, (table, 1), parent=self, spacing=0)
        add_copy_actions(table, ("copyCells", "copyCsv", "copyMarkdown"), self._selected_cells)
        table.entered.connect(self._show_cell)
        table.selectionModel().currentChanged.connect(self._show_cell)
        self._model.modelReset.connect(self._status.clear)
        self._model.failed.connect(self._status.setText)
        self._row_field.chosen.connect(self.go_to)
        self._row_field.missed.connect(self._on_missed)

    @override
    def refresh(self) -> None:
        """Show the part; the scroll position is kept if the shape is the same."""
        part, before = self.part, self._model.part
        if part is None or part is before:
            return
        is_same_shape = before is not None and before.shape == part.shape
        bars = self._table.verticalScrollBar(), self._table.horizontalScrollBar()
        positions = [bar.value() if is_same_shape else 0 for bar in bars]
        if before is None or before.down.names is not part.down.names:
            self._row_field.set_axis(part.down)
        self._model.show_part(part)
        self._table.horizontalHeader().setDefaultSectionSize(self._column_width(part))
        header = self._table.verticalHeader()
        header.setFixedWidth(self._header_width(part))
        header.geometriesChanged.emit()  # updates viewport and scroll bars before scrolling
        for bar, position in zip(bars, positions, strict=True):
            bar.setValue(position)
        if max(part.shape) > MAX_LINES:
            text = self.tr(
                "Only the first {0} rows and columns are shown; save to a file to get all"
            )
            self._status.setText(text.format(f"{MAX_LINES:,}"))

    @override
    def clear(self) -> None:
        self.part = None
        self._model.show_part(None)

    def go_to(self, line: int) -> None:
        """Select and scroll to a line, by its index in the tensor."""
        part = self._model.part
        if part is None:
            return
        first = part.first_line
        if 0 <= line - first < self._model.rowCount():
            self._go(line - first, max(0, self._table.currentIndex().column()))
            return
        text = self.tr("No row {0}: rows range from {1} to {2}")
        self._status.setText(text.format(line, first, first + part.shape[0] - 1))

    def go_to_cell(self, row: int, column: int) -> None:
        """Select and scroll to an element of the part's matrix."""
        if self._model.part is not None:
            self._go(*self._model.part.position(row, column))

    def _go(self, line: int, column: int) -> None:
        index = self._model.index(line, min(column, self._model.columnCount() - 1))
        self._table.setCurrentIndex(index)
        self._table.scrollTo(index, QAbstractItemView.ScrollHint.PositionAtCenter)
        part = self._model.part
        if part is not None and part.interleaved:
            # Show all columns of the element, the first one in any case.
            last = self._model.index(line, column + len(part.interleaved) - 1)
            for each in (last, index):
                self._table.scrollTo(each, QAbstractItemView.ScrollHint.EnsureVisible)

    def _selected_cells(self, _is_all: bool) -> Cells | None:
        """Return the selected values with all digits; show why if they cannot be copied."""
        selection = self._table.selectionModel().selection()
        part = self._model.part
        if part is None or selection.isEmpty():
            return None
        area = selection.first()
        rows = area.top(), area.bottom() + 1
        columns = area.left(), area.right() + 1
        count = (rows[1] - rows[0]) * (columns[1] - columns[0])
        if count > MAX_COPIED:
            text = self.tr("{0} cells are too many to copy. Save them to a file instead.")
            self._status.setText(text.format(f"{count:,}"))
            return None
        try:
            block = part.block(rows, columns).tolist()
        except UserError as error:
            self._status.setText(str(error))
            return None
        copied = self.tr("Copied 1 value"), self.tr("Copied {0} values")
        self._status.setText(count_text(count, *copied))
        titles = tuple(part.column_title(column) for column in range(*columns))
        return Cells(titles, block, first=part.first_line + rows[0])

    def _set_up_table(self) -> None:
        table = self._table
        table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectItems)
        table.setSelectionMode(QAbstractItemView.SelectionMode.ContiguousSelection)
        table.setMouseTracking(True)
        table.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        table.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        horizontal, vertical = (UniformHeader(each, table) for each in Qt.Orientation)
        vertical.setDefaultSectionSize(table.verticalHeader().defaultSectionSize())
        vertical.setHighlightSections(True)
        table.setHorizontalHeader(horizontal)
        table.setVerticalHeader(vertical)

    def _header_width(self, part: TensorPart) -> int:
        """Return the width of the largest row number, and of a token if there are any."""
        last = str(part.first_line + part.shape[0])
        number = self._table.fontMetrics().horizontalAdvance(last)
        return number + PADDING + (NAME_WIDTH if len(part.down.names) else 0)

    def _column_width(self, part: TensorPart) -> int:
        """Return the width of a number, or of the column's title if it has words."""
        has_words = bool(part.interleaved) or len(part.across.names) > 0
        titles = range(min(part.shape[1], MEASURED_TITLES) if has_words else 0)
        metrics = self._table.horizontalHeader().fontMetrics()
        widths = [metrics.horizontalAdvance(part.column_title(n)) for n in titles]
        number = self._table.fontMetrics().horizontalAdvance(SAMPLE)
        return min(MAX_WIDTH, max(number, *widths, 0)) + PADDING

    def _show_cell(self, index: QModelIndex) -> None:
        """Show the value of a cell, and of the other columns of its element."""
        part = self._model.part
        if part is None or not index.isValid():
            return
        value = self._model.value(index.row(), index.column())
        if value is None:
            return
        row, column = part.cell(index.row(), index.column())
        element = part.matrix.index(row, column)
        name = position_text(element, (part.rows, part.columns)) or part.row_name(row)
        where = f"{name}  [{', '.join(map(str, element))}]".strip()
        text = f"{where} = {exact_text(value)}"
        if titles := part.interleaved:
            first = index.column() - index.column() % len(titles)
            values = (self._model.value(index.row(), first + n) for n in range(len(titles)))
            pairs = zip(titles, values, strict=True)
            each = (f"{title} {exact_text(one)}" for title, one in pairs if one is not None)
            text = f"{where}:  {'  ·  '.join(each)}"
        self._status.setText(text)
        self._status.setToolTip(plain_tooltip(text))

    def _on_missed(self, text: str) -> None:
        part = self._model.part
        has_tokens = part is not None and len(part.down.names) > 0
        reason = self.tr("No token starts with {0}") if has_tokens else self.tr("No row {0}")
        self._status.setText(reason.format(text))
