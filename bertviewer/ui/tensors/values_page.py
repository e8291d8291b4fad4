"""A tensor's values in a table: what is under the mouse is told with all its digits."""

from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
)

from bertviewer.charts.tensor_charts import exact_text, position_text
from bertviewer.core.tensors.matrix import TensorPart
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.numbers import count_text
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.tensors.go_to import GoTo
from bertviewer.ui.tensors.page import TensorPage
from bertviewer.ui.tensors.uniform_header import EvenHeader
from bertviewer.ui.tensors.values_model import MOST, ValuesModel
from bertviewer.ui.widgets.elided_label import ElidedLabel
from bertviewer.ui.widgets.layouts import in_column, in_row, named
from bertviewer.ui.widgets.table_export import Cells, offer_copies
from bertviewer.ui.widgets.tables import make_table
from bertviewer.ui.widgets.tooltips import plain_tip

GO_TO = 170  # pixels
NAME = 84  # pixels that a token has beside its number
SAMPLE = "−00.000000"
PADDING = 18  # pixels beside a number
MOST_COPIED = 1_000_000
WIDEST = 150  # pixels of a title above a column
FEW = 256
"""Titles above columns that are measured: those in sight are among them, or are like these."""


class ValuesPage(TensorPage):
    """The table, a field to go to a row, and the exact value of a cell."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace)
        self._model = ValuesModel(self)
        self._table = table = make_table(
            self._model, "valuesTable", self.tr("Values"), copies=False
        )
        self._dress_table()
        self._go_to = GoTo()
        self._go_to.setFixedWidth(GO_TO)
        self._described = named(ElidedLabel(), "cellValue")
        self._described.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        line = in_row(self._go_to, (self._described, 1), margins=(8, 3, 8, 3), spacing=10)
        in_column(line, (table, 1), on=self, spacing=0)
        offer_copies(table, ("copyCells", "copyCsv", "copyMarkdown"), self._chosen)
        table.entered.connect(self._tell)
        table.selectionModel().currentChanged.connect(self._tell)
        self._model.modelReset.connect(self._described.clear)
        self._model.failed.connect(self._described.setText)
        self._go_to.chosen.connect(self.go_to)
        self._go_to.missed.connect(self._on_missed)

    def refresh(self) -> None:
        """Show the part; one of the same size stays where it is scrolled to."""
        part, before = self.part, self._model.part
        if part is None or part is before:
            return
        is_alike = before is not None and before.shape == part.shape
        down, right = self._table.verticalScrollBar(), self._table.horizontalScrollBar()
        scrolled = down.value(), right.value()
        if before is None or before.down.names is not part.down.names:
            self._go_to.set_axis(part.down)
        self._model.show_part(part)
        self._table.horizontalHeader().setDefaultSectionSize(self._column_width(part))
        header, width = self._table.verticalHeader(), self._header_width(part)
        if header.minimumWidth() != width:
            header.setFixedWidth(width)
            header.geometriesChanged.emit()  # so that the table makes room for it
        down.setValue(scrolled[0] if is_alike else 0)
        right.setValue(scrolled[1] if is_alike else 0)
        if max(part.shape) > MOST:
            self._described.setText(
                self.tr(
                    "Only the first {0} rows and columns are shown; save to a file to get all"
                ).format(f"{MOST:,}")
            )

    def forget(self) -> None:
        """Show nothing."""
        super().forget()
        self._model.show_part(None)

    def go_to(self, line: int) -> None:
        """Select a line, by its index in the tensor, and bring it into sight."""
        part = self._model.part
        if part is None:
            return
        place = line - part.first_line
        if not 0 <= place < self._model.rowCount():
            first = part.first_line
            self._described.setText(
                self.tr("No row {0}: rows range from {1} to {2}").format(
                    line, first, first + part.shape[0] - 1
                )
            )
            return
        self._go(place, max(0, self._table.currentIndex().column()))

    def go_to_cell(self, row: int, column: int) -> None:
        """Select a cell of the matrix that is shown, and bring it into sight."""
        if self._model.part is not None:
            self._go(*self._model.part.position(row, column))

    def _go(self, line: int, column: int) -> None:
        index = self._model.index(line, min(column, self._model.columnCount() - 1))
        self._table.setCurrentIndex(index)
        self._table.scrollTo(index, QAbstractItemView.ScrollHint.PositionAtCenter)
        part = self._model.part
        if part is not None and part.interleaved:
            # All that is read of an element, its first number at last.
            last = self._model.index(line, column + len(part.interleaved) - 1)
            for each in (last, index):
                self._table.scrollTo(each, QAbstractItemView.ScrollHint.EnsureVisible)

    def _chosen(self, _is_all: bool) -> Cells | None:
        """Return the selected cells, all digits of their values; say why they cannot be had."""
        ranges = self._table.selectionModel().selection()
        part = self._model.part
        if part is None or ranges.isEmpty():
            return None
        chosen = ranges.first()
        rows = chosen.top(), chosen.bottom() + 1
        columns = chosen.left(), chosen.right() + 1
        count = (rows[1] - rows[0]) * (columns[1] - columns[0])
        if count > MOST_COPIED:
            self._described.setText(
                self.tr("{0} cells are too many to copy. Save them to a file instead.").format(
                    f"{count:,}"
                )
            )
            return None
        try:
            block = part.block(rows, columns).tolist()
        except UserError as error:
            self._described.setText(str(error))
            return None
        told = count_text(count, self.tr("Copied 1 value"), self.tr("Copied {0} values"))
        self._described.setText(told)
        titles = tuple(part.column_title(column) for column in range(*columns))
        return Cells(titles, block, first=part.first_line + rows[0])

    def _dress_table(self) -> None:
        table = self._table
        table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectItems)
        table.setSelectionMode(QAbstractItemView.SelectionMode.ContiguousSelection)
        table.setMouseTracking(True)
        table.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        table.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        across, down = (EvenHeader(each, table) for each in Qt.Orientation)
        down.setDefaultSectionSize(table.verticalHeader().defaultSectionSize())
        table.setHorizontalHeader(across)
        table.setVerticalHeader(down)
        # Of one width, whatever they hold: to ask for it would read the whole tensor.
        across.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        down.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        down.setHighlightSections(True)

    def _header_width(self, part: TensorPart) -> int:
        """Return room for the largest number, and for tokens where there are any."""
        last = str(part.first_line + part.shape[0])
        number = self._table.fontMetrics().horizontalAdvance(last)
        return number + PADDING + (NAME if len(part.down.names) else 0)

    def _column_width(self, part: TensorPart) -> int:
        """Return room for a number, and for the title above it where that has words."""
        has_words = bool(part.interleaved) or len(part.across.names) > 0
        few = min(part.shape[1], FEW) if has_words else 0
        metrics = self._table.horizontalHeader().fontMetrics()
        widths = [metrics.horizontalAdvance(part.column_title(n)) for n in range(few)]
        number = self._table.fontMetrics().horizontalAdvance(SAMPLE)
        return min(WIDEST, max(number, *widths, 0)) + PADDING

    def _tell(self, index: QModelIndex) -> None:
        part = self._model.part
        if part is None or not index.isValid():
            return
        value = self._model.value(index.row(), index.column())
        if value is None:
            return
        row, column = part.cell(index.row(), index.column())
        place = part.matrix.index(row, column)
        known = position_text(place, (part.rows, part.columns)) or part.row_name(row)
        where = f"{known}  [{', '.join(map(str, place))}]".strip()
        if not part.interleaved:
            self._describe(f"{where} = {exact_text(value)}")
            return
        first = index.column() - index.column() % len(part.interleaved)
        found = (self._model.value(index.row(), first + n) for n in range(len(part.interleaved)))
        each = zip(part.interleaved, found, strict=True)
        told = "  ·  ".join(f"{title} {exact_text(one)}" for title, one in each if one is not None)
        self._describe(f"{where}:  {told}")

    def _describe(self, text: str) -> None:
        """Tell of a cell; all of it under the mouse, where there is little room."""
        self._described.setText(text)
        self._described.setToolTip(plain_tip(text))

    def _on_missed(self, text: str) -> None:
        part = self._model.part
        has_tokens = part is not None and len(part.down.names) > 0
        words = self.tr("No token starts with {0}") if has_tokens else self.tr("No row {0}")
        self._described.setText(words.format(text))
