"""A grid in which a cell may stand for something of its own, and say a word in place of a value.

Where tensors stand in a table of layers and kinds: a row and a column for each name.

How far each tensor of two models moved, as a grid: layer × kind of tensor.
"""

from collections.abc import Mapping, Sequence
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
"""Letters of a label: paths of tensors need more than words of a sentence."""


class CellNote(Struct, frozen=True):
    """What a cell is of.

    Attributes:
        name: what it is called, as ``encoder.layer.0.output.dense.weight``.
        text: what is told of it, exact figures and all.
        sign: the letter that is drawn where there is no value; "" for a value.
        word: what stands in a table where there is no value.
        key: what is selected with it.
    """

    name: str
    text: str
    sign: str = ""
    word: str = ""
    key: SelectionKey = field(default_factory=SelectionKey)


class MarkedGrid(GridChart, frozen=True, eq=False):
    """A grid with a note for each cell that there is; ``signs`` says what the letters mean.

    Colours follow the logarithms of the values, between levels that are above 0, where it
    ``is_log``; ``scale_title`` stands beside them. Cells without a note are empty.
    """

    notes: Mapping[tuple[int, int], CellNote] = field(default_factory=dict)
    signs: tuple[tuple[str, str], ...] = ()
    is_log: bool = False
    scale_title: str = ""

    @property
    def end(self) -> float | None:
        """Where the colours end, if there are values above."""
        found = self.values[np.isfinite(self.values)]
        is_above = self.levels is not None and found.size and found.max() > self.levels[1]
        return self.levels[1] if is_above and self.levels is not None else None

    @property
    def has_values(self) -> bool:
        """Whether there is any value."""
        return any(not note.sign for note in self.notes.values())

    def key(self, row: int, column: int) -> SelectionKey:
        """Return what a cell stands for."""
        note = self.notes.get((row, column))
        return SelectionKey() if note is None else note.key

    def chosen(self, selection: SelectionKey) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the row and the columns of the cells that a selection means, if of one row."""
        cells = list(self.notes)
        found = [
            cells[n] for n in closest_keys([self.notes[cell].key for cell in cells], selection)
        ]
        rows = tuple(dict.fromkeys(row for row, _ in found))
        if len(rows) != 1:
            return (), ()
        whole = sum(row == rows[0] for row, _ in cells)
        # All of a row is the row.
        return rows, () if len(found) == whole > 1 else tuple(column for _, column in found)

    def text(self, row: int, column: int) -> str:
        """Return what is told of a cell."""
        note = self.notes.get((row, column))
        return "" if note is None else note.text

    def table(self) -> Rows:
        """Return a row for each row, with words where a cell has no value."""
        header, rows = GridChart.table(self)
        found: list[tuple[CellValue, ...]] = []
        for number, (name, *cells) in enumerate(rows):
            written: list[CellValue] = []
            for column, value in enumerate(cells):
                note = self.notes.get((number, column))
                written.append(None if note is None else note.word if note.sign else value)
            found.append((name, *written))
        return header, found


class TensorCells(Struct, frozen=True):
    """Rows are layers, and modules beside them; columns are what tensors are called in there.

    Attributes:
        rows: the paths of the modules.
        columns: names within them, as ``attention.self.query.weight``.
        row_labels, column_labels: both as short as they can be told apart.
        cells: row and column of each name.
    """

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    row_labels: tuple[str, ...]
    column_labels: tuple[str, ...]
    cells: dict[str, tuple[int, int]]


def tensor_cells(names: Sequence[str]) -> TensorCells:
    """Return where each tensor stands; rows and columns are in the order of the names.

    A layer is what the first number in a name counts; layers of one stack stand together.
    """
    stacks = list(dict.fromkeys(filter(None, map(layer_list, names))))
    split = {name: _split(name, stacks) for name in names}
    firsts: dict[str, int] = {}
    for row, _ in split.values():
        firsts.setdefault(_group(row), len(firsts))
    rows = sorted(
        {row for row, _ in split.values()}, key=lambda row: (firsts[_group(row)], _number(row))
    )
    columns = list(dict.fromkeys(column for _, column in split.values()))
    row_at = {row: number for number, row in enumerate(rows)}
    column_at = {column: number for number, column in enumerate(columns)}
    return TensorCells(
        tuple(rows),
        tuple(columns),
        tuple(label.replace(".", " ") for label in _shortened(rows, layers=True)),
        tuple(_shortened(columns)),
        {name: (row_at[row], column_at[column]) for name, (row, column) in split.items()},
    )


def _split(name: str, stacks: Sequence[str]) -> tuple[str, str]:
    """Return the module whose row it is, and what the tensor is called in there."""
    parts = name.split(".")
    if stack := layer_list(name):
        length = stack.count(".") + 2
    else:
        # A module beside the layers: one step below what it has in common with them.
        length = 1 + max((_common(parts, other.split(".")) for other in stacks), default=0)
    length = min(length, len(parts) - 1)
    return ".".join(parts[:length]), ".".join(parts[length:])


def _common(parts: Sequence[str], others: Sequence[str]) -> int:
    pairs = zip(parts, others, strict=False)
    return next((n for n, (one, other) in enumerate(pairs) if one != other), len(others))


def _group(row: str) -> str:
    """Return what stands together: the layers of a stack, a module for itself."""
    head, _, number = row.rpartition(".")
    return head if number.isdecimal() else row


def _number(row: str) -> int:
    number = row.rpartition(".")[2]
    return int(number) if number.isdecimal() else 0


def _shortened(names: Sequence[str], *, layers: bool = False) -> list[str]:
    """Return the shortest end of each name that no other one has; of tensors two steps at least."""
    parts = [name.split(".") for name in names]
    counts: dict[tuple[str, ...], int] = {}
    for steps in parts:
        for length in range(1, len(steps) + 1):
            end = tuple(steps[-length:])
            counts[end] = counts.get(end, 0) + 1
    found = []
    for steps in parts:
        least = 1 if layers and not steps[-1].isdecimal() else 2
        lengths = range(min(least, len(steps)), len(steps) + 1)
        ends = (tuple(steps[-length:]) for length in lengths)
        found.append(".".join(next((end for end in ends if counts[end] == 1), steps)))
    return found


ChangeMeasure = Literal["relative", "max", "rms", "cosine"]
CHANGE_MEASURES: tuple[ChangeMeasure, ...] = ("relative", "max", "rms", "cosine")
TITLES: Mapping[ChangeMeasure, str] = {
    "relative": "‖Δ‖ / ‖left‖",
    "max": "max |Δ|",
    "rms": "RMS Δ",
    "cosine": "1 − cosine",
}
SIGNS: Mapping[State, str] = {
    "same": "=",
    "other shape": "≠",
    "only left": "L",
    "only right": "R",
    "not compared": "?",
    "changed": "–",
}
"""What is drawn where there is no value; of what changed where the measure is not defined."""
_WORDS: Mapping[State, str] = {
    "same": "identical",
    "other shape": "different shape",
    "only left": "only on the left",
    "only right": "only on the right",
    "not compared": "not compared",
    "changed": "changed, not measurable",
}


def change_grid(
    comparison: Comparison, measure: ChangeMeasure = "relative", *, has_keys: bool = True
) -> MarkedGrid:
    """Return the changes; without keys nothing is selected with a cell."""
    places = tensor_cells([tensor.name for tensor in comparison.tensors])
    values = np.full((len(places.rows), len(places.columns)), np.nan)
    notes, seen = {}, set()
    for tensor in comparison.tensors:
        cell = places.cells[tensor.name]
        state = tensor.state
        value = None if state == "same" or tensor.change is None else of(tensor.change, measure)
        sign = "" if value is not None and np.isfinite(value) else SIGNS[state]
        if sign:
            seen.add(state)
        elif value is not None:
            values[cell] = value
        word = translate("charts", _WORDS[state])
        path = tensor.name.rpartition(".")[0]
        key = SelectionKey(path) if has_keys else SelectionKey()
        text = _told(tensor, value if not sign else None, word, measure)
        notes[cell] = CellNote(tensor.name, text, sign, word, key)
    signs = [(SIGNS[state], translate("charts", _WORDS[state])) for state in SIGNS if state in seen]
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
        signs=tuple(signs),
        is_log=True,
    )


def measure_title(measure: ChangeMeasure) -> str:
    """Return what a measure is called."""
    return translate("charts", TITLES[measure])


def of(change: Change, measure: ChangeMeasure) -> float | None:
    """Return one measure of a change."""
    if measure == "cosine":
        return None if change.cosine is None else 1 - change.cosine
    return {"relative": change.relative, "max": change.max_abs, "rms": change.rms}[measure]


def _told(tensor: ComparedTensor, value: float | None, word: str, measure: ChangeMeasure) -> str:
    """Return a tensor's name, what became of it, and all figures that there are."""
    lines = [printable(tensor.name)]
    shapes = [shape_text(side.shape) for side in (tensor.left, tensor.right) if side is not None]
    lines.append(" → ".join(dict.fromkeys(shapes)))
    if value is None:
        lines.append(word)
    if tensor.change is not None and tensor.state == "changed":
        measures = (measure, *(each for each in CHANGE_MEASURES if each != measure))
        for each in measures:
            figure = of(tensor.change, each)
            if figure is not None:
                lines.append(f"{measure_title(each)} = {number_text(figure)}")
        changed = tensor.change.count - tensor.change.equal
        text = translate("charts", "{0} of {1} elements changed")
        lines.append(text.format(f"{changed:,}", f"{tensor.change.count:,}"))
    return "\n".join(lines)


def _end(label: str) -> str:
    """Return a label cut at its beginning: of paths the ends say most."""
    label = printable(label)
    return label if len(label) <= MAX_LABEL else f"…{label[1 - MAX_LABEL :]}"
