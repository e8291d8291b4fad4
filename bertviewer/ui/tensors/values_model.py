"""Table model and header for the values of a tensor of any size, read on display."""

from collections import OrderedDict
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QObject, QSize, Qt, Signal
from PySide6.QtWidgets import QHeaderView, QWidget
from typing_extensions import override

from bertviewer.charts.labels import visible
from bertviewer.charts.tensor_charts import cell_text
from bertviewer.core.checkpoints.reading import Values
from bertviewer.core.tensors.matrix import TensorPart
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.text import isolated
from bertviewer.ui.widgets.tables import Index, alignment

ROWS, COLUMNS = 128, 256  # of a block that is read at once
MAX_BLOCKS = 64  # in the cache
FIGURE_SPACE = "\u2007"
MAX_LINES = 1_000_000
"""Rows and columns that are shown: Qt allocates a few bytes for each."""


class ValuesModel(QAbstractTableModel):
    """Values of a part, cached in blocks; ``failed``, once, if they cannot be read any more."""

    failed = Signal(str)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._part: TensorPart | None = None
        self._size = 0, 0  # rows and columns that are shown
        self._blocks: OrderedDict[tuple[int, int], Values] = OrderedDict()
        self._is_broken = False

    @property
    def part(self) -> TensorPart | None:
        """The part that is shown."""
        return self._part

    def show_part(self, part: TensorPart | None) -> None:
        """Show another tensor or slice, or nothing."""
        self.beginResetModel()
        self._part = part
        rows, columns = (0, 0) if part is None else part.shape
        self._size = min(MAX_LINES, rows), min(MAX_LINES, columns)
        self._blocks.clear()
        self._is_broken = False
        self.endResetModel()

    @override
    def rowCount(self, parent: Index | None = None) -> int:
        return 0 if parent is not None and parent.isValid() else self._size[0]

    @override
    def columnCount(self, parent: Index | None = None) -> int:
        return 0 if parent is not None and parent.isValid() else self._size[1]

    def value(self, row: int, column: int) -> Any:
        """Return a value as a Python number, ``None`` if it cannot be read."""
        if self._part is None or self._is_broken:
            return None
        key = row // ROWS, column // COLUMNS
        block = self._blocks.get(key)
        if block is None:
            block = self._read(self._part, *key)
            if block is None:
                return None
            self._blocks[key] = block
            if len(self._blocks) > MAX_BLOCKS:
                self._blocks.popitem(last=False)
        else:
            self._blocks.move_to_end(key)
        return block[row % ROWS, column % COLUMNS].item()

    @override
    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            value = self.value(index.row(), index.column())
            return None if value is None else cell_text(value)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return alignment(is_number=True)
        return None

    @override
    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        part = self._part
        if part is None:
            return None
        if role == Qt.ItemDataRole.TextAlignmentRole:
            has_names = orientation == Qt.Orientation.Vertical and len(part.down.names) > 0
            return alignment(is_number=not has_names)
        if role != Qt.ItemDataRole.DisplayRole:
            return None
        if orientation == Qt.Orientation.Horizontal:
            return visible(part.column_title(section))
        first, name = part.first_line, part.line_name(section)
        if not name:
            return str(first + section)
        # Spaces as wide as digits align the tokens.
        digits = len(str(first + self._size[0] - 1))
        return f"{str(first + section).rjust(digits, FIGURE_SPACE)}  {isolated(visible(name))}"

    def _read(self, part: TensorPart, down: int, across: int) -> Values | None:
        rows, columns = part.shape
        try:
            return part.block(
                (down * ROWS, min(rows, (down + 1) * ROWS)),
                (across * COLUMNS, min(columns, (across + 1) * COLUMNS)),
            )
        except UserError as error:
            # Reported once, not for each cell that Qt requests.
            self._is_broken = True
            self.failed.emit(str(error))
            return None


class UniformHeader(QHeaderView):
    """Header with sections of one size.

    Qt's own measures 200 sections whenever another tensor is shown, which would read its values.
    """

    def __init__(self, orientation: Qt.Orientation, parent: QWidget | None = None) -> None:
        super().__init__(orientation, parent)
        self.setSectionsClickable(True)
        self.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)

    @override
    def sizeHint(self) -> QSize:
        return self.sectionSizeFromContents(0) if self.count() else super().sizeHint()
