"""Changes of tensors between two models, as a grid of modules and tensor names."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile
from typing import Literal

import numpy as np
from msgspec import Struct, field

from bertviewer.charts.chart import GridChart
from bertviewer.charts.levels import log_levels
from bertviewer.charts.selection_key import SelectionKey, closest_keys
from bertviewer.charts.table import CellValue, Rows
from bertviewer.charts.translation import translate
from bertviewer.core.analysis.layers import layer_list
from bertviewer.core.comparison.comparison import Change, ComparedTensor, Comparison, State
from bertviewer.core.expressions.symbols import shape_text
from bertviewer.core.util.numbers import number_text
from bertviewer.core.util.text import printable

MAX_LABEL = 40
"""Maximum length of a label, for paths of tensors."""

ChangeMeasure = Literal["relative", "max", "rms", "cosine"]
_MEASURES: Mapping[ChangeMeasure, tuple[str, Callable[[Change], float | None]]] = {
    "relative": ("‖Δ‖ / ‖left‖", lambda change: change.relative),
    "max": ("max |Δ|", lambda change: change.max_abs),
    "rms": ("RMS Δ", lambda change: change.rms),
    "cosine": ("1 − cosine", lambda c: None if c.cosine is None else 1 - c.cosine),
}
CHANGE_MEASURES: tuple[ChangeMeasure, ...] = tuple(_MEASURES)

_STATES: Mapping[State, tuple[str, str]] = {
    "same": ("=", "identical"),
    "other shape": ("≠", "different shape"),
    "only left": ("L", "only on the left"),
    "only right": ("R", "only on the right"),
    "not compared": ("?", "not compared"),
    "changed": ("–", "changed, not measurable"),
}
"""Signs and texts of tensors without a value."""


class CellNote(Struct, frozen=True):
    """The content of a cell.

    Attributes:
        name: the tensor, as ``encoder.layer.0.output.dense.weight``.
        text: its tooltip with exact numbers.
        sign: the letter that is drawn without a value, or "".
        word: the text that is exported without a value.
        key: what the cell selects.
    """

    name: str
    text: str
    sign: str = ""
    word: str = ""
    key: SelectionKey = field(default_factory=SelectionKey)


class MarkedGrid(GridChart, frozen=True, eq=False):
    """A grid with a note for each cell; cells without one are empty.

    Attributes:
        notes: the notes by row and column.
        signs: the letters and their meanings.
        is_log: the colours follow the logarithms of the values, between positive levels.
        scale_title: the title of the colour bar.
    """

    notes: Mapping[tuple[int, int], CellNote] = field(default_factory=dict)
    signs: tuple[tuple[str, str], ...] = ()
    is_log: bool = False
    scale_title: str = ""

    @property
    def end(self) -> float | None:
        """The end of the colours, if there are values above it."""
        found = self.values[np.isfinite(self.values)]
        if self.levels is None or not found.size or found.max() <= self.levels[1]:
            return None
        return self.levels[1]

    @property
    def has_values(self) -> bool:
        """Whether there is any value."""
        return any(not note.sign for note in self.notes.values())

    def key(self, row: int, column: int) -> SelectionKey:
        """Return what a cell selects."""
        note = self.notes.get((row, column))
        return SelectionKey() if note is None else note.key

    def chosen(self, selection: SelectionKey) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the row and columns of the selected cells; only the row if all of it is."""
        cells = list(self.notes)
        keys = [note.key for note in self.notes.values()]
        found = [cells[number] for number in closest_keys(keys, selection)]
        rows = tuple({row for row, _ in found})
        if len(rows) != 1:
            return (), ()
        is_whole = len(found) == sum(row == rows[0] for row, _ in cells) > 1
        return rows, () if is_whole else tuple(column for _, column in found)

    def text(self, row: int, column: int) -> str:
        """Return the tooltip of a cell."""
        note = self.notes.get((row, column))
        return "" if note is None else note.text

    def table(self) -> Rows:
        """Return the values, with words for cells without one."""

        def cell(row: int, column: int, value: CellValue) -> CellValue:
            note = self.notes.get((row, column))
            return None if note is None else note.word if note.sign else value

        header, rows = GridChart.table(self)
        return header, [
            (name, *(cell(row, column, value) for column, value in enumerate(values)))
            for row, (name, *values) in enumerate(rows)
        ]


def change_grid(
    comparison: Comparison, measure: ChangeMeasure = "relative", *, has_keys: bool = True
) -> MarkedGrid:
    """Return the changes of all tensors; without keys cells select nothing."""
    places = tensor_cells([tensor.name for tensor in comparison.tensors])
    values = np.full((len(places.rows), len(places.columns)), np.nan)
    notes, seen = {}, set()
    for tensor in comparison.tensors:
        value = None
        if tensor.state != "same" and tensor.change is not None:
            value = _MEASURES[measure][1](tensor.change)
        cell, (sign, text) = places.cells[tensor.name], _STATES[tensor.state]
        if value is not None and np.isfinite(value):
            values[cell], sign = value, ""
        else:
            value = None
            seen.add(tensor.state)
        word = translate("charts", text)
        key = SelectionKey(tensor.name.rpartition(".")[0] if has_keys else None)
        tip = _tooltip(tensor, value, word, measure)
        notes[cell] = CellNote(tensor.name, tip, sign, word, key)
    whole, title = translate("charts", "model"), measure_title(measure)
    return MarkedGrid(
        values=values,
        rows=tuple(_end(label) or whole for label in places.row_labels),
        columns=tuple(map(_end, places.column_labels)),
        x_title=translate("charts", "Tensor"),
        y_title=translate("charts", "Module"),
        value_title=title,
        scale_title=translate("charts", "{0} (log scale)").format(title),
        is_top_down=True,
        levels=log_levels(values),
        row_names=tuple(printable(row) or whole for row in places.rows),
        column_names=tuple(map(printable, places.columns)),
        notes=notes,
        signs=tuple(
            (sign, translate("charts", text))
            for state, (sign, text) in _STATES.items()
            if state in seen
        ),
        is_log=True,
    )


def measure_title(measure: ChangeMeasure) -> str:
    """Return the title of a measure."""
    return translate("charts", _MEASURES[measure][0])


def _tooltip(tensor: ComparedTensor, value: float | None, word: str, measure: ChangeMeasure) -> str:
    """Return a tensor's name, shapes, state and all its measures, the displayed one first."""
    shapes = [shape_text(side.shape) for side in (tensor.left, tensor.right) if side is not None]
    lines = [printable(tensor.name), " → ".join(dict.fromkeys(shapes))]
    if value is None:
        lines.append(word)
    change = tensor.change
    if change is not None and tensor.state == "changed":
        for each in dict.fromkeys((measure, *CHANGE_MEASURES)):
            figure = _MEASURES[each][1](change)
            if figure is not None:
                lines.append(f"{measure_title(each)} = {number_text(figure)}")
        text = translate("charts", "{0} of {1} elements changed")
        lines.append(text.format(f"{change.count - change.equal:,}", f"{change.count:,}"))
    return "\n".join(lines)


def _end(label: str) -> str:
    """Return a label without its beginning if it is too long."""
    label = printable(label)
    return label if len(label) <= MAX_LABEL else f"…{label[1 - MAX_LABEL :]}"


class TensorCells(Struct, frozen=True):
    """Layers and other modules as rows, names of tensors in them as columns.

    Attributes:
        rows: the paths of the modules.
        columns: names such as ``attention.self.query.weight``.
        row_labels, column_labels: the shortest unique ends of both.
        cells: the row and column of each tensor.
    """

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    row_labels: tuple[str, ...]
    column_labels: tuple[str, ...]
    cells: dict[str, tuple[int, int]]


def tensor_cells(names: Sequence[str]) -> TensorCells:
    """Return the cell of each tensor; rows and columns are in the order of the names.

    A layer is what the first number in a name counts; layers of one stack are adjacent.
    """
    stacks = list(dict.fromkeys(filter(None, map(layer_list, names))))
    split = {name: _split(name, stacks) for name in names}
    order: dict[str, int] = {}
    for row, _ in split.values():
        order.setdefault(_stack(row)[0], len(order))

    def rank(row: str) -> tuple[int, int]:
        stack, number = _stack(row)
        return order[stack], number

    rows = sorted({row for row, _ in split.values()}, key=rank)
    columns = list(dict.fromkeys(column for _, column in split.values()))
    row_at = {row: number for number, row in enumerate(rows)}
    column_at = {column: number for number, column in enumerate(columns)}
    return TensorCells(
        tuple(rows),
        tuple(columns),
        tuple(label.replace(".", " ") for label in _unique_ends(rows, is_layer=True)),
        tuple(_unique_ends(columns)),
        {name: (row_at[row], column_at[column]) for name, (row, column) in split.items()},
    )


def _split(name: str, stacks: Sequence[str]) -> tuple[str, str]:
    """Return the module of a tensor's row, and the tensor's name in it."""
    parts = name.split(".")
    if stack := layer_list(name):
        length = stack.count(".") + 2
    else:
        # A module outside: one component longer than what it shares with a stack.
        length = 1 + max((_common(parts, other.split(".")) for other in stacks), default=0)
    length = min(length, len(parts) - 1)
    return ".".join(parts[:length]), ".".join(parts[length:])


def _common(parts: Sequence[str], others: Sequence[str]) -> int:
    pairs = zip(parts, others, strict=False)
    return len(list(takewhile(lambda pair: pair[0] == pair[1], pairs)))


def _stack(row: str) -> tuple[str, int]:
    """Return the stack and number of a layer; another module is its own stack."""
    head, _, number = row.rpartition(".")
    return (head, int(number)) if number.isdecimal() else (row, 0)


def _unique_ends(names: Sequence[str], *, is_layer: bool = False) -> list[str]:
    """Return the shortest unique end of each name, of tensors at least two components."""
    parts = [tuple(name.split(".")) for name in names]
    counts = Counter(steps[-length:] for steps in parts for length in range(1, len(steps) + 1))
    found = []
    for steps in parts:
        least = 1 if is_layer and not steps[-1].isdecimal() else 2
        ends = (steps[-length:] for length in range(min(least, len(steps)), len(steps) + 1))
        found.append(".".join(next((end for end in ends if counts[end] == 1), steps)))
    return found
