"""What a chart shows, as plain data: lines and grids, and what each of their points stands for.

Every chart has ``table()``, its data as a header and rows: that is its CSV.
"""

from math import inf
from typing import Literal

import numpy as np
from msgspec import Struct

from bertviewer.charts.head_differences import HeadDifferences
from bertviewer.charts.histogram_chart import HistogramChart
from bertviewer.charts.levels import Levels, Masked, Values
from bertviewer.charts.place import Place, closest
from bertviewer.charts.table import Cell, Table, column_header, corner_header, without
from bertviewer.core.util.numbers import number_text
from bertviewer.core.util.text import without_isolates


class Line(Struct, frozen=True):
    """A value and a place for each x, with gaps where a value is ``None``.

    Attributes:
        label: its name in the legend.
        values: its points.
        places: what each point stands for, as many as there are values, or none at all.
        low, high: the edges of a band around the line.
        min, max: thin lines below and above.
        style: a dashed line is one to compare with.
        color: the number of its colour; lines of the same thing share one. ``None`` is its place
            among the chart's lines.
        measure: what its values are where the chart's y title does not say it, as "mean".
        reach: how far the band reaches to either side, in words, as "std".
        name: its label where there is room for words; "" is the label.
        run, thing: which run it is of, and what, where its label tells both.
    """

    label: str
    values: tuple[float | None, ...]
    places: tuple[Place, ...] = ()
    low: tuple[float | None, ...] | None = None
    high: tuple[float | None, ...] | None = None
    min: tuple[float | None, ...] | None = None
    max: tuple[float | None, ...] | None = None
    style: Literal["solid", "dashed"] = "solid"
    color: int | None = None
    measure: str = ""
    reach: str = ""
    name: str = ""
    run: str = ""
    thing: str = ""

    def columns(self) -> tuple[tuple[str, tuple[float | None, ...]], ...]:
        """Return what there is of the line, each with its name: values, band, min and max."""
        edges = [f"{self.measure} {sign} {self.reach}" for sign in "−+"]
        low, high = edges if self.reach else ("low", "high")
        optional = ((low, self.low), (high, self.high), ("min", self.min), ("max", self.max))
        found = ((name, part) for name, part in optional if part is not None)
        return (self.measure, self.values), *found


class LineChart(Struct, frozen=True):
    """Lines over the positions 0, 1, … of which ``ticks`` has the labels.

    A line may be shorter than the axis. ``is_log`` draws values from 1 on a logarithmic axis.
    ``tick_names`` are the positions where there is room for words; () is the labels. ``bounds`` are
    the least and the most that a value can be, whatever it is here: of a cosine −1 and 1. Values
    that are counts are ``is_whole``.
    """

    lines: tuple[Line, ...]
    x_title: str
    y_title: str
    ticks: tuple[str, ...]
    is_log: bool = False
    tick_names: tuple[str, ...] = ()
    bounds: tuple[float, float] = (-inf, inf)
    is_whole: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The positions in words."""
        return self.tick_names or self.ticks

    def color(self, index: int) -> int:
        """Return the number of a line's colour."""
        color = self.lines[index].color
        return index if color is None else color

    def table(self) -> Table:
        """Return a row for each x, with a column for each line and each edge of a band."""
        columns = [
            (column_header(line.name or line.label, name or self.y_title), values)
            for line in self.lines
            for name, values in line.columns()
        ]
        rows: list[tuple[Cell, ...]] = [
            (
                without_isolates(tick),
                *(values[x] if x < len(values) else None for _, values in columns),
            )
            for x, tick in enumerate(self.names)
        ]
        return (self.x_title, *(name for name, _ in columns)), rows


class GridChart(Struct, frozen=True, eq=False):
    """Values as coloured cells; one that is not finite stays empty.

    Attributes:
        values: [rows, columns].
        rows, columns: the labels of both.
        row_places, column_places: what each of them stands for, or none at all.
        x_title, y_title, value_title: what the columns, the rows and the values are.
        is_signed: colours are symmetric about 0.
        is_root: colours follow the square roots of the values, with their signs.
        is_top_down: row 0 is at the top, as in a matrix; otherwise at the bottom.
        levels: the range of the colours; ``None`` is that of the values.
        row_names, column_names: both where there is room for words; () is the labels.
        split: from this column on the rows stand for ``split_places``, as where the tokens of a
            decoder follow those of an encoder.
        split_places: what each row stands for from there on.
        row_starts, column_starts: those at which a further text begins, which lines set off.
        subject: which layer, head or part of the model it is of, in words, where titles do not say.
        masked: [rows, columns], the cells that a mask hides: nothing was measured there.
            ``masked_word`` is what they say.
        joint: what stands between the names of a cell's row and column.
    """

    values: Values
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    row_places: tuple[Place, ...] = ()
    column_places: tuple[Place, ...] = ()
    x_title: str = ""
    y_title: str = ""
    value_title: str = ""
    is_signed: bool = False
    is_root: bool = False
    is_top_down: bool = False
    levels: Levels | None = None
    row_names: tuple[str, ...] = ()
    column_names: tuple[str, ...] = ()
    split: int | None = None
    split_places: tuple[Place, ...] = ()
    subject: str = ""
    row_starts: tuple[int, ...] = ()
    column_starts: tuple[int, ...] = ()
    masked: Masked | None = None
    masked_word: str = "masked"
    joint: str = ", "

    @property
    def measured(self) -> Values:
        """The values, NaN where a mask hides a cell."""
        return self.values if self.masked is None else np.where(self.masked, np.nan, self.values)

    @property
    def named_rows(self) -> tuple[str, ...]:
        """The rows in words."""
        return self.row_names or self.rows

    @property
    def named_columns(self) -> tuple[str, ...]:
        """The columns in words."""
        return self.column_names or self.columns

    def place(self, row: int, column: int) -> Place:
        """Return what a cell stands for: its row's place, completed by its column's."""
        is_split = self.split is not None and column >= self.split
        places = self.split_places if is_split else self.row_places
        place = places[row] if places else Place()
        return place.merged(self.column_places[column]) if self.column_places else place

    def chosen(self, selection: Place) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the rows and the columns that a selection means."""
        rows = closest(self.row_places, selection) or closest(self.split_places, selection)
        if len(rows) > 1:
            rows = ()  # the rows of a layer that is called again and again: it is each of them
        return rows, closest(self.column_places, selection)

    def text(self, row: int, column: int) -> str:
        """Return a cell's row, column and exact value in words."""
        names = self.named_rows[row], self.named_columns[column]
        is_masked = self.masked is not None and self.masked[row, column]
        value = self.masked_word if is_masked else number_text(self.values[row, column])
        return f"{self.joint.join(names)}: {value}"

    def table(self) -> Table:
        """Return the names of the rows, and a column for each column; masked cells are empty."""
        names = map(without_isolates, self.named_rows)
        cells = without(self.values, self.masked)
        rows = [(name, *values) for name, values in zip(names, cells, strict=True)]
        corner = corner_header(self.y_title, self.x_title, self.value_title, self.subject)
        return (corner, *map(without_isolates, self.named_columns)), rows


class HeadsChart(Struct, frozen=True, eq=False):
    """A grid of small grids: what each query token takes from each key token, head by head.

    Attributes:
        values: [A, S, S'], the share that query token i takes from key token j.
        captions: a few words about each head.
        queries, keys: the tokens in words.
        value_title: what the values are.
        is_signed: colours are symmetric about 0.
        is_root: colours follow the square roots of the values, with their signs.
        levels: the range of the colours; ``None`` is that of the values, and 0.
        subject: which layer it is of, in words.
        query_starts, key_starts: the tokens at which a further text begins, which lines set off.
        cell_text: what tells a cell: its head, its query, its key and its value, by number.
        masked: [A, S, S'], the cells that a mask hides; ``masked_word`` is what these say.
        head_levels: a range for each head in place of one for all; ``levels`` are in parts of it.
    """

    values: Values | HeadDifferences
    captions: tuple[str, ...]
    queries: tuple[str, ...]
    keys: tuple[str, ...]
    value_title: str = ""
    is_signed: bool = False
    is_root: bool = False
    levels: Levels | None = None
    subject: str = ""
    query_starts: tuple[int, ...] = ()
    key_starts: tuple[int, ...] = ()
    cell_text: str = "head {0}, query {1} → key {2}: {3}"
    masked: Masked | None = None
    masked_word: str = "masked"
    head_levels: tuple[Levels, ...] | None = None

    def measured(self, head: int) -> Values:
        """Return the values of a head, NaN where a mask hides a cell, or where there is none."""
        values, masked = self.values[head], self._masked(head)
        hidden = ~np.isfinite(values)
        if masked is not None:
            hidden |= masked
        return np.where(hidden, np.nan, values) if hidden.any() else values

    def text(self, head: int, query: int, key: int) -> str:
        """Return a cell's head, tokens and exact value in words."""
        is_masked = self.masked is not None and self.masked[head, query, key]
        value = self.masked_word if is_masked else number_text(self.values[head][query, key])
        return self.cell_text.format(head, self.queries[query], self.keys[key], value)

    def _masked(self, head: int) -> Masked | None:
        return None if self.masked is None else self.masked[head]

    def table(self) -> Table:
        """Return a row for each query token of each head, with a column for each key token."""
        rows = [
            (head, without_isolates(query), *values)
            for head, grid in enumerate(self.values)
            for query, values in zip(self.queries, without(grid, self._masked(head)), strict=True)
        ]
        corner = corner_header("Query", "Key", self.value_title, self.subject)
        return ("Head", corner, *map(without_isolates, self.keys)), rows


Chart = LineChart | GridChart | HeadsChart | HistogramChart
