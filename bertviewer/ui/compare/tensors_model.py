"""The tensors of two models as a table that can be sorted and filtered."""

import math
from collections.abc import Collection
from typing import Any

from PySide6.QtCore import QObject, QSortFilterProxyModel, Qt

from bertviewer.charts.levels import log_levels, log_share
from bertviewer.charts.table import CellValue, Rows
from bertviewer.core.comparison.comparison import STATES, ComparedTensor, Comparison, State
from bertviewer.core.expressions.symbols import shape_text
from bertviewer.core.schema.modules import TensorInfo
from bertviewer.core.util.numbers import number_text, with_minus
from bertviewer.ui.settings.translation import QT_TRANSLATE_NOOP, translate
from bertviewer.ui.widgets.labels import plain_tooltip
from bertviewer.ui.widgets.table_export import PATH_ROLE
from bertviewer.ui.widgets.tables import SHARE_ROLE, Column, Index, Row, TableModel

NAME, STATE, LEFT, RIGHT, RELATIVE, MAX, RMS, COSINE, CHANGED = range(9)
SORT_ROLE = Qt.ItemDataRole.UserRole + 20

STATE_NAMES: dict[State, str] = {
    "changed": QT_TRANSLATE_NOOP("comparing", "changed"),
    "other shape": QT_TRANSLATE_NOOP("comparing", "other shape"),
    "only left": QT_TRANSLATE_NOOP("comparing", "only left"),
    "only right": QT_TRANSLATE_NOOP("comparing", "only right"),
    "not compared": QT_TRANSLATE_NOOP("comparing", "not compared"),
    "same": QT_TRANSLATE_NOOP("comparing", "same"),
}

_AS_LEFT = QT_TRANSLATE_NOOP("comparing", "same")


def state_name(state: State) -> str:
    """Return a state in the user's language."""
    return translate("comparing", STATE_NAMES[state])


class TensorsModel(TableModel):
    """One row a tensor, and how far it moved."""

    def __init__(self, comparison: Comparison, parent: QObject | None = None) -> None:
        super().__init__((), parent)
        self._columns = (
            Column(self.tr("Tensor")),
            Column(self.tr("State")),
            Column(self.tr("Left")),
            Column(self.tr("Right")),
            Column(
                self.tr("‖Δ‖ / ‖left‖"),
                is_number=True,
                hint=self.tr(
                    "Norm of the difference divided by the norm of the left tensor (bars: "
                    "log scale)"
                ),
            ),
            Column(
                self.tr("Max |Δ|"),
                is_number=True,
                hint=self.tr("Largest absolute change of any element"),
            ),
            Column(
                self.tr("RMS Δ"), is_number=True, hint=self.tr("Root mean square of the changes")
            ),
            Column(
                self.tr("Cosine"),
                is_number=True,
                hint=self.tr("Cosine similarity of the flattened tensors"),
            ),
            Column(self.tr("Changed"), is_number=True, hint=self.tr("Number of changed elements")),
        )
        self._tensors = comparison.tensors
        changes = [tensor.change for tensor in self._tensors if tensor.change is not None]
        self._levels = log_levels([change.relative or 0.0 for change in changes])
        places = range(len(self._columns))
        self.set_rows([Row(tuple(_text(each, n) for n in places)) for each in self._tensors])

    def tensor(self, row: int) -> ComparedTensor:
        """Return the tensor of a row."""
        return self._tensors[row]

    def number_of(self, name: str) -> int:
        """Return the row of a tensor."""
        return next(n for n, tensor in enumerate(self._tensors) if tensor.name == name)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return what a cell shows, or what it is sorted by; Qt calls it."""
        if role == PATH_ROLE and index.isValid():
            return self._tensors[index.row()].name
        if not index.isValid() or role not in (SORT_ROLE, SHARE_ROLE, Qt.ItemDataRole.ToolTipRole):
            return super().data(index, role)
        tensor, column = self._tensors[index.row()], index.column()
        if role == SORT_ROLE:
            return index.row() if column == NAME else _sorted_by(tensor, column)
        if role == SHARE_ROLE:
            relative = tensor.change.relative if tensor.change else None
            # Between the least and the largest: one tiny tensor may move a thousand times further.
            return log_share(relative or 0.0, self._levels)
        if column == STATE and tensor.state == "not compared":
            return self.tr("The values are not in both checkpoints")
        value = cell(tensor, column)
        return None if value is None else plain_tooltip(str(value))


class ShownTensors(QSortFilterProxyModel):
    """The tensors in some states whose name holds a text."""

    def __init__(self, model: TensorsModel, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._model = model
        self._states: frozenset[State] = frozenset(STATES)
        self._part = ""
        self.setSourceModel(model)
        self.setSortRole(SORT_ROLE)

    def row_of(self, name: str) -> int | None:
        """Return the row of a tensor as it is shown, ``None`` if it is not."""
        index = self.mapFromSource(self._model.index(self._model.number_of(name), NAME))
        return index.row() if index.isValid() else None

    def state_of(self, name: str) -> State:
        """Return what became of a tensor."""
        return self._model.tensor(self._model.number_of(name)).state

    def show_states(self, states: Collection[State]) -> None:
        """Show tensors in these states only."""
        self._states = frozenset(states)
        self.invalidate()

    def show_names(self, part: str) -> None:
        """Show tensors with this text in their names only; case does not matter."""
        self._part = part.strip().casefold()
        self.invalidate()

    def tensor(self, row: int) -> ComparedTensor:
        """Return the tensor of a row as it is shown."""
        return self._model.tensor(self.mapToSource(self.index(row, 0)).row())

    def table(self) -> Rows:
        """Return what is shown, with all digits, to take along."""
        titles = tuple(self._model.headerData(n, Qt.Orientation.Horizontal) for n in range(9))
        rows: list[tuple[CellValue, ...]] = []
        for row in range(self.rowCount()):
            tensor = self.tensor(row)
            rows.append(tuple(_plain(cell(tensor, column)) for column in range(9)))
        return titles, rows

    def filterAcceptsRow(self, row: int, parent: Index) -> bool:
        """Tell whether a tensor is shown; Qt calls it."""
        tensor = self._model.tensor(row)
        return tensor.state in self._states and self._part in tensor.name.casefold()


def cell(tensor: ComparedTensor, column: int) -> str | float | None:
    """Return what stands in a column, with all digits; ``None`` for nothing."""
    change = tensor.change
    if column in (NAME, STATE):
        return tensor.name if column == NAME else state_name(tensor.state)
    if column in (LEFT, RIGHT):
        return _form(tensor.left if column == LEFT else tensor.right)
    if change is None:
        return None
    return {
        RELATIVE: change.relative,
        MAX: change.max_abs,
        RMS: change.rms,
        COSINE: change.cosine,
        CHANGED: change.count - change.equal,
    }[column]


def _plain(value: str | float | None) -> CellValue:
    return "" if value is None else value


def _form(tensor: TensorInfo | None) -> str | None:
    return None if tensor is None else f"{shape_text(tensor.shape)} {tensor.dtype}"


def _text(tensor: ComparedTensor, column: int) -> str:
    value = cell(tensor, column)
    if value is None:
        return ""
    if column == RIGHT and value == cell(tensor, LEFT):
        # What is said twice takes the room that names need.
        return translate("comparing", _AS_LEFT)
    if isinstance(value, str):
        return value
    if column == CHANGED:
        return f"{value:,}"
    # A cosine next to 1 says nothing in four digits.
    return with_minus(f"{value:.7f}") if column == COSINE else number_text(value, 4)


def _sorted_by(tensor: ComparedTensor, column: int) -> str | float:
    value = cell(tensor, column)
    if column == STATE:
        return STATES.index(tensor.state)
    if column in (LEFT, RIGHT):
        shape = tensor.left if column == LEFT else tensor.right
        return -1 if shape is None else shape.numel
    return -math.inf if value is None else value
