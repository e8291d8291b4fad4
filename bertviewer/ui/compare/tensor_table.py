"""Table of the compared tensors, filtered by state and name."""

from collections.abc import Collection, Sequence
from typing import Any

from PySide6.QtCore import QEvent, QModelIndex, QObject, Qt, Signal
from PySide6.QtWidgets import QHeaderView, QLineEdit, QPushButton, QTableView, QToolButton, QWidget
from typing_extensions import override

from bertviewer.charts.levels import log_levels, log_share
from bertviewer.charts.table import CellValue
from bertviewer.core.comparison.comparison import STATES, ComparedTensor, Comparison, State
from bertviewer.core.expressions.symbols import shape_text
from bertviewer.core.schema.modules import TensorInfo
from bertviewer.core.util.numbers import number_text, with_minus
from bertviewer.ui.settings.translation import QT_TRANSLATE_NOOP, translate
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.views.chart_menu import choose_data
from bertviewer.ui.widgets.buttons import tool_button
from bertviewer.ui.widgets.layouts import Gap, hbox, named, vbox
from bertviewer.ui.widgets.tables import (
    Column,
    Row,
    ShareBarDelegate,
    TableModel,
    connect_links,
    make_table,
)

NAME, STATE, LEFT, RIGHT, RELATIVE, MAX, RMS, COSINE, CHANGED = range(9)
PADDING, BAR, MIN_WIDTH = 4, 110, 50  # pixels: around a text, of a bar, of any column
MIN_NAME = 200  # pixels of the names' column; in a narrower table, it scrolls

STATE_NAMES: dict[State, str] = {
    "changed": QT_TRANSLATE_NOOP("comparing", "changed"),
    "other shape": QT_TRANSLATE_NOOP("comparing", "other shape"),
    "only left": QT_TRANSLATE_NOOP("comparing", "only left"),
    "only right": QT_TRANSLATE_NOOP("comparing", "only right"),
    "not compared": QT_TRANSLATE_NOOP("comparing", "not compared"),
    "same": QT_TRANSLATE_NOOP("comparing", "same"),
}


class ComparedTensorsModel(TableModel):
    """One row per tensor in some states whose name contains a text."""

    def __init__(self, comparison: Comparison, parent: QObject | None = None) -> None:
        def number(title: str, hint: str) -> Column:
            return Column(title, is_number=True, hint=hint)

        ratio = self.tr(
            "Norm of the difference divided by the norm of the left tensor (bars: log scale)"
        )
        columns = (
            Column(self.tr("Tensor")),
            Column(self.tr("State")),
            Column(self.tr("Left")),
            Column(self.tr("Right")),
            number(self.tr("‖Δ‖ / ‖left‖"), ratio),
            number(self.tr("Max |Δ|"), self.tr("Largest absolute change of any element")),
            number(self.tr("RMS Δ"), self.tr("Root mean square of the changes")),
            number(self.tr("Cosine"), self.tr("Cosine similarity of the flattened tensors")),
            number(self.tr("Changed"), self.tr("Number of changed elements")),
        )
        super().__init__(columns, parent)
        self._tensors = comparison.tensors
        changes = [tensor.change for tensor in self._tensors if tensor.change is not None]
        # A logarithmic scale: one tiny tensor may change a thousand times more than the others.
        levels = log_levels([change.relative or 0.0 for change in changes])
        self._all = [_row(tensor, levels) for tensor in self._tensors]
        self._shown: list[int] = []
        self.filter(STATES, "")

    def filter(self, states: Collection[State], part: str) -> None:
        """Show the tensors in these states with ``part`` in their names, in upper or lower case."""
        part = part.strip().casefold()
        self._shown = [
            number
            for number, tensor in enumerate(self._tensors)
            if tensor.state in states and part in tensor.name.casefold()
        ]
        self.set_rows([self._all[number] for number in self._shown])

    def position_of(self, name: str) -> int | None:
        """Return the position of a tensor's row, ``None`` if it is filtered out."""
        rows = range(self.rowCount())
        return next((position for position in rows if self.row(position).path == name), None)

    @override
    def _sort_keys(self, numbers: Sequence[int], column: int) -> Sequence[Any]:
        if column == NAME:
            return numbers  # the order in the models
        tensors = [self._tensors[self._shown[number]] for number in numbers]
        if column == STATE:
            return [STATES.index(tensor.state) for tensor in tensors]
        if column in (LEFT, RIGHT):
            sides = [tensor.left if column == LEFT else tensor.right for tensor in tensors]
            return [None if side is None else side.numel for side in sides]
        return [_values(tensor)[column] for tensor in tensors]


class TensorsPage(QWidget):
    """Filters and table; ``chosen`` has the path of the module of an activated row."""

    chosen = Signal(str)

    def __init__(self, comparison: Comparison, workspace: Workspace) -> None:
        super().__init__()
        self._comparison = comparison
        self._model = model = ComparedTensorsModel(comparison, self)
        self._states = {state: self._make_button(state) for state in STATES}
        title = self.tr("Filter tensors")
        self._name = named(QLineEdit(), "tensorFilter", accessible_name=title)
        self._name.setPlaceholderText(title)
        self._name.setClearButtonEnabled(True)
        self._name.textChanged.connect(self._filter)
        save = named(QPushButton(self.tr("Save as CSV…")), "saveComparison")
        save.setAutoDefault(False)
        save.clicked.connect(lambda: choose_data(self, model, "comparison.csv", workspace))
        self._model.filter(self._checked_states(), "")
        self._table = self._make_table()
        states = self._states.values()
        line = hbox(*states, Gap(8), (self._name, 1), save, margins=(0, 6, 0, 4), spacing=4)
        vbox(line, (self._table, 1), parent=self, spacing=0)
        self._table.viewport().installEventFilter(self)

    def select(self, name: str) -> None:
        """Select a tensor's row, and change the filters if they exclude it."""
        if self._model.position_of(name) is None:
            self._name.clear()
            state = next(each.state for each in self._comparison.tensors if each.name == name)
            self._states[state].setChecked(True)
        self._table.scrollTo(self._select(name), QTableView.ScrollHint.PositionAtCenter)

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize:
            header = self._table.horizontalHeader()
            others = header.length() - header.sectionSize(NAME)
            header.resizeSection(NAME, max(MIN_NAME, self._table.viewport().width() - others))
        return super().eventFilter(watched, event)

    def _make_button(self, state: State) -> QToolButton:
        count = self._comparison.counts[state]
        text = f"{translate('comparing', STATE_NAMES[state])} {count:,}"
        button = tool_button(f"state {state}", text, is_checkable=True)
        button.setVisible(count > 0)
        others = sum(self._comparison.counts.values()) - count
        # Unchanged tensors are shown at first only if there are no others.
        button.setChecked(count > 0 and (state != "same" or not others))
        button.toggled.connect(self._filter)
        return button

    def _make_table(self) -> QTableView:
        table = make_table(self._model, "comparedTensors", self.tr("Compared tensors"))
        self._bars = ShareBarDelegate(self)  # views do not own their delegates
        table.setItemDelegateForColumn(RELATIVE, self._bars)
        header = table.horizontalHeader()
        header.setSortIndicator(NAME, Qt.SortOrder.AscendingOrder)
        table.setSortingEnabled(True)
        header.setStretchLastSection(False)
        header.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        header.setResizeContentsPrecision(-1)  # all rows
        table.resizeColumnsToContents()
        for column in range(header.count()):
            table.setColumnWidth(column, table.columnWidth(column) + PADDING)
        table.setColumnWidth(RELATIVE, max(table.columnWidth(RELATIVE), BAR))
        if not any(tensor.change for tensor in self._comparison.tensors):
            for column in range(RELATIVE, CHANGED + 1):  # no values were compared
                table.setColumnHidden(column, True)
        header.setMinimumSectionSize(MIN_WIDTH)
        table.setTextElideMode(Qt.TextElideMode.ElideMiddle)  # names differ at their ends
        connect_links(table, lambda name: self.chosen.emit(name.rpartition(".")[0]))
        return table

    def _checked_states(self) -> list[State]:
        return [state for state, button in self._states.items() if button.isChecked()]

    def _filter(self) -> None:
        """Apply the filters; a selected row that is still shown stays selected."""
        current = self._table.currentIndex()
        name = self._model.row(current.row()).path if current.isValid() else None
        self._model.filter(self._checked_states(), self._name.text())
        if name is not None:
            self._select(name)

    def _select(self, name: str) -> QModelIndex:
        position = self._model.position_of(name)
        index = QModelIndex() if position is None else self._model.index(position, NAME)
        self._table.setCurrentIndex(index)
        return index


def _row(tensor: ComparedTensor, levels: tuple[float, float]) -> Row:
    values = _values(tensor)
    hints = ["" if value is None else str(value) for value in values]
    if tensor.state == "not compared":
        hints[STATE] = translate("comparing", "The values are not in both checkpoints")
    relative = (tensor.change.relative if tensor.change else None) or 0.0
    return Row(
        tuple(_text(column, values) for column in range(len(values))),
        tuple(hints),
        path=tensor.name,
        share=log_share(relative, levels),
        values=tuple("" if value is None else value for value in values),
    )


def _values(tensor: ComparedTensor) -> tuple[CellValue, ...]:
    """Return a row's cells with all digits, ``None`` for empty ones."""
    change = tensor.change
    changes: tuple[CellValue, ...] = (None,) * 5
    if change is not None:
        changed = change.count - change.equal
        changes = change.relative, change.max_abs, change.rms, change.cosine, changed
    state = translate("comparing", STATE_NAMES[tensor.state])
    return tensor.name, state, _shape(tensor.left), _shape(tensor.right), *changes


def _shape(tensor: TensorInfo | None) -> str | None:
    return None if tensor is None else f"{shape_text(tensor.shape)} {tensor.dtype}"


def _text(column: int, values: tuple[CellValue, ...]) -> str:
    value = values[column]
    if value is None:
        return ""
    if column == RIGHT and value == values[LEFT]:
        return translate("comparing", "same")
    if isinstance(value, str):
        return value
    if column == CHANGED:
        return f"{value:,}"
    # Four digits would round a cosine to 1.
    return with_minus(f"{value:.7f}") if column == COSINE else number_text(value, 4)
