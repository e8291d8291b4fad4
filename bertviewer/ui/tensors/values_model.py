"""The values of a tensor as a table of any size: what is in sight is read, and no more."""

from collections import OrderedDict
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QObject, Qt, Signal

from bertviewer.charts.labels import visible
from bertviewer.charts.tensor_charts import cell_text
from bertviewer.core.checkpoints.reading import Values
from bertviewer.core.tensors.matrix import TensorPart
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.text import isolated
from bertviewer.ui.widgets.tables import Index, alignment

ROWS, COLUMNS = 128, 256
"""The size of a piece that is read at once."""
MOST_PIECES = 64
FIGURE_SPACE = "\u2007"
MOST = 1_000_000
"""Qt keeps a few bytes for each row and column, so there is an end to them."""


class ValuesModel(QAbstractTableModel):
    """Shows a part; ``failed`` tells, once, why its values cannot be read any more."""

    failed = Signal(str)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._part: TensorPart | None = None
        self._size = 0, 0  # of the part, as far as it is shown
        self._pieces: OrderedDict[tuple[int, int], Values] = OrderedDict()
        self._is_broken = False

    @property
    def part(self) -> TensorPart | None:
        """What is shown."""
        return self._part

    def show_part(self, part: TensorPart | None) -> None:
        """Show another tensor or slice."""
        self.beginResetModel()
        self._part = part
        self._size = (
            (0, 0) if part is None else (min(MOST, part.shape[0]), min(MOST, part.shape[1]))
        )
        self._pieces.clear()
        self._is_broken = False
        self.endResetModel()

    def rowCount(self, parent: Index | None = None) -> int:
        """Return the number of rows; Qt calls it."""
        return 0 if parent is not None and parent.isValid() else self._size[0]

    def columnCount(self, parent: Index | None = None) -> int:
        """Return the number of columns; Qt calls it."""
        return 0 if parent is not None and parent.isValid() else self._size[1]

    def value(self, row: int, column: int) -> Any:
        """Return a value as a plain number, ``None`` if it cannot be read."""
        if self._part is None or self._is_broken:
            return None
        place = row // ROWS, column // COLUMNS
        piece = self._pieces.get(place)
        if piece is None:
            piece = self._read(self._part, *place)
            if piece is None:
                return None
            self._pieces[place] = piece
            if len(self._pieces) > MOST_PIECES:
                self._pieces.popitem(last=False)
        else:
            self._pieces.move_to_end(place)
        return piece[row % ROWS, column % COLUMNS].item()

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return what a cell shows; Qt calls it."""
        if not index.isValid():
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            value = self.value(index.row(), index.column())
            return None if value is None else cell_text(value)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return alignment(is_number=True)
        return None

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        """Return the index of a row or column in the tensor, and a row's token; Qt calls it."""
        part = self._part
        if part is None:
            return None
        if role == Qt.ItemDataRole.TextAlignmentRole:
            has_words = orientation == Qt.Orientation.Vertical and len(part.down.names) > 0
            return alignment(is_number=not has_words)
        if role != Qt.ItemDataRole.DisplayRole:
            return None
        if orientation == Qt.Orientation.Horizontal:
            return visible(part.column_title(section))
        first, name = part.first_line, part.line_name(section)
        if not name:
            return str(first + section)
        # With spaces as wide as digits, numbers and tokens stand below one another.
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
            # Told once, and not for each of the cells that Qt asks for.
            self._is_broken = True
            self.failed.emit(str(error))
            return None
