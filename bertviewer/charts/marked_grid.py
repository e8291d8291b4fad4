"""A grid in which a cell may stand for something of its own, and say a word in place of a value."""

from collections.abc import Mapping

import numpy as np
from msgspec import Struct, field

from bertviewer.charts.chart import GridChart
from bertviewer.charts.place import Place, closest
from bertviewer.charts.table import Cell, Table

LONGEST_LABEL = 40
"""Letters of a label: paths of tensors need more than words of a sentence."""


class CellNote(Struct, frozen=True):
    """What a cell is of.

    Attributes:
        name: what it is called, as ``encoder.layer.0.output.dense.weight``.
        text: what is told of it, exact figures and all.
        sign: the letter that is drawn where there is no value; "" for a value.
        word: what stands in a table where there is no value.
        place: what is selected with it.
    """

    name: str
    text: str
    sign: str = ""
    word: str = ""
    place: Place = field(default_factory=Place)


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

    def place(self, row: int, column: int) -> Place:
        """Return what a cell stands for."""
        note = self.notes.get((row, column))
        return Place() if note is None else note.place

    def chosen(self, selection: Place) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the row and the columns of the cells that a selection means, if of one row."""
        cells = list(self.notes)
        found = [cells[n] for n in closest([self.notes[cell].place for cell in cells], selection)]
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

    def table(self) -> Table:
        """Return a row for each row, with words where a cell has no value."""
        header, rows = GridChart.table(self)
        found: list[tuple[Cell, ...]] = []
        for number, (name, *cells) in enumerate(rows):
            written: list[Cell] = []
            for column, value in enumerate(cells):
                note = self.notes.get((number, column))
                written.append(None if note is None else note.word if note.sign else value)
            found.append((name, *written))
        return header, found
