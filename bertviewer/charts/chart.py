"""What the heads of one run attend to more than those of another, head by head when wanted.

What a histogram shows: counts over bins, of one series or of two.

What a chart shows, as plain data: lines and grids, and what each of their points stands for.

Every chart has ``table()``, its data as a header and rows: that is its CSV.
"""

from collections.abc import Iterator, Sequence
from math import inf
from typing import Any, Literal

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from bertviewer.charts.levels import Levels, Mask, Values, levels_of
from bertviewer.charts.selection_key import SelectionKey, closest_keys
from bertviewer.charts.table import CellValue, Rows, column_header, corner_header, unmasked_rows
from bertviewer.core.util.numbers import number_text
from bertviewer.core.util.text import without_isolates


class _Room(Struct, frozen=True, eq=False):
    """Memory for the difference of a head, for its partners, and for their rows alone."""

    found: NDArray[np.float32]
    columns: NDArray[np.float32]
    rows: NDArray[np.float32]


class HeadDifferences:
    """B − A of heads [A, S, S'], each computed when it is asked for: all at once take long.

    ``rows`` and ``columns`` are pairs of an index in A and its partner in B; what has none is NaN.
    """

    def __init__(
        self,
        b: Values,
        a: Values,
        rows: Sequence[tuple[int, int]],
        columns: Sequence[tuple[int, int]],
    ) -> None:
        # Single precision is what attention has.
        self._b, self._a = b, np.asarray(a, dtype=np.float32)
        self._has_pairs = bool(rows) and bool(columns)
        self._rows = _partners(rows, b.shape[1])
        self._columns = _partners(columns, b.shape[2])
        self._are_same = a.shape[1:] == b.shape[1:] and all(
            bool((found == np.arange(len(found))).all()) for found in (self._rows, self._columns)
        )
        self.shape: tuple[int, int, int] = b.shape[0], b.shape[1], b.shape[2]
        self.size = b.size

    def __len__(self) -> int:
        return len(self._b)

    def __iter__(self) -> Iterator[Values]:
        return (self[head] for head in range(len(self)))

    def __getitem__(self, head: int) -> Values:
        return self._computed(head, self._room())

    def levels(self) -> tuple[Levels, ...]:
        """Return the range of each head, about 0."""
        room = self._room()
        return tuple(
            levels_of(self._computed(head, room), is_signed=True) for head in range(len(self))
        )

    def _room(self) -> _Room:
        """Return the memory to compute in, which is slow to come by: it serves all heads."""
        found, columns = (np.empty(self.shape[1:], dtype=np.float32) for _ in range(2))
        return _Room(found, columns, np.empty((self.shape[1], self._a.shape[2]), dtype=np.float32))

    def _computed(self, head: int, room: _Room) -> Values:
        own, found = self._b[head], room.found
        if head >= len(self._a) or not self._has_pairs:
            found[...] = np.nan
            return found
        mine = self._a[head]
        if not self._are_same:
            # In place, and without a look at each index, it takes a seventh of the time.
            np.take(mine, self._rows, axis=0, out=room.rows, mode="clip")
            mine = np.take(room.rows, self._columns, axis=1, out=room.columns, mode="clip")
        # What is not finite gives what is not finite.
        with np.errstate(invalid="ignore", over="ignore"):
            np.subtract(own, mine, out=found, casting="same_kind")
        if not self._are_same:
            found[self._rows < 0] = np.nan
            found[:, self._columns < 0] = np.nan
        return found

    def __array__(self, *arguments: Any, **options: Any) -> NDArray[Any]:
        """Return all of them; numpy calls it."""
        return np.asarray(np.stack(list(self)), *arguments, **options)


def _partners(pairs: Sequence[tuple[int, int]], count: int) -> NDArray[np.intp]:
    """Return the partner in A of each of B's ``count`` indices, -1 where there is none."""
    found = np.full(count, -1, dtype=np.intp)
    for mine, other in pairs:
        found[other] = mine
    return found


class Bars(Struct, frozen=True):
    """How many values lie in each bin; parts of one, or differences of them, where so made.

    Attributes:
        label: its name in the legend.
        counts: one for each bin.
        nan_count, inf_count: values that are NaN or infinite, in no bin.
        mean, std: mean and standard deviation of the finite values, to be marked.
    """

    label: str
    counts: tuple[float, ...]
    nan_count: float = 0
    inf_count: float = 0
    mean: float | None = None
    std: float | None = None

    @property
    def total(self) -> float:
        """All values, those in no bin too."""
        return sum(self.counts) + self.nan_count + self.inf_count


class HistogramChart(Struct, frozen=True):
    """One or two series of counts over the same bins: bin i is from edge i to edge i + 1.

    ``is_log`` draws them on a logarithmic axis. ``is_density`` is for bins of uneven width: bars
    are as high as their share of all counts is dense, so that their areas are the shares.
    """

    edges: tuple[float, ...]
    series: tuple[Bars, ...]
    x_title: str = ""
    y_title: str = ""
    is_log: bool = False
    is_density: bool = False

    def heights(self, bars: Bars) -> tuple[float, ...]:
        """Return how high the bars are."""
        if not self.is_density:
            return bars.counts
        total = sum(bars.counts) or 1
        return tuple(
            count / total / (high - low)
            for count, low, high in zip(bars.counts, self.edges[:-1], self.edges[1:], strict=True)
        )

    def table(self) -> Rows:
        """Return a row for each bin, and one for NaN and one for Inf where there are any."""
        bins = zip(self.edges[:-1], self.edges[1:], strict=True)
        rows: list[tuple[CellValue, ...]] = [
            (low, high, *(bars.counts[index] for bars in self.series))
            for index, (low, high) in enumerate(bins)
        ]
        for name, counts in (
            ("NaN", [bars.nan_count for bars in self.series]),
            ("Inf", [bars.inf_count for bars in self.series]),
        ):
            if any(counts):
                rows.append((name, None, *counts))
        edges = (column_header(self.x_title, edge) for edge in ("from", "to"))
        # A table has the counts themselves.
        measure = "" if self.is_density else self.y_title
        return (*edges, *(column_header(b.label, measure) for b in self.series)), rows


class Line(Struct, frozen=True):
    """A value and a selection key for each x, with gaps where a value is ``None``.

    Attributes:
        label: its name in the legend.
        values: its points.
        keys: what each point stands for, as many as there are values, or none at all.
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
    keys: tuple[SelectionKey, ...] = ()
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

    def table(self) -> Rows:
        """Return a row for each x, with a column for each line and each edge of a band."""
        columns = [
            (column_header(line.name or line.label, name or self.y_title), values)
            for line in self.lines
            for name, values in line.columns()
        ]
        rows: list[tuple[CellValue, ...]] = [
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
        row_keys, column_keys: what each of them stands for, or none at all.
        x_title, y_title, value_title: what the columns, the rows and the values are.
        is_signed: colours are symmetric about 0.
        is_root: colours follow the square roots of the values, with their signs.
        is_top_down: row 0 is at the top, as in a matrix; otherwise at the bottom.
        levels: the range of the colours; ``None`` is that of the values.
        row_names, column_names: both where there is room for words; () is the labels.
        split: from this column on the rows stand for ``split_keys``, as where the tokens of a
            decoder follow those of an encoder.
        split_keys: what each row stands for from there on.
        row_starts, column_starts: those at which a further text begins, which lines set off.
        subject: which layer, head or part of the model it is of, in words, where titles do not say.
        masked: [rows, columns], the cells that a mask hides: nothing was measured there.
            ``masked_word`` is what they say.
        joint: what stands between the names of a cell's row and column.
    """

    values: Values
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    row_keys: tuple[SelectionKey, ...] = ()
    column_keys: tuple[SelectionKey, ...] = ()
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
    split_keys: tuple[SelectionKey, ...] = ()
    subject: str = ""
    row_starts: tuple[int, ...] = ()
    column_starts: tuple[int, ...] = ()
    masked: Mask | None = None
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

    def key(self, row: int, column: int) -> SelectionKey:
        """Return what a cell stands for: its row's key, completed by its column's."""
        is_split = self.split is not None and column >= self.split
        keys = self.split_keys if is_split else self.row_keys
        key = keys[row] if keys else SelectionKey()
        return key.merged(self.column_keys[column]) if self.column_keys else key

    def chosen(self, selection: SelectionKey) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the rows and the columns that a selection means."""
        rows = closest_keys(self.row_keys, selection) or closest_keys(self.split_keys, selection)
        if len(rows) > 1:
            rows = ()  # the rows of a layer that is called again and again: it is each of them
        return rows, closest_keys(self.column_keys, selection)

    def text(self, row: int, column: int) -> str:
        """Return a cell's row, column and exact value in words."""
        names = self.named_rows[row], self.named_columns[column]
        is_masked = self.masked is not None and self.masked[row, column]
        value = self.masked_word if is_masked else number_text(self.values[row, column])
        return f"{self.joint.join(names)}: {value}"

    def table(self) -> Rows:
        """Return the names of the rows, and a column for each column; masked cells are empty."""
        names = map(without_isolates, self.named_rows)
        cells = unmasked_rows(self.values, self.masked)
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
    masked: Mask | None = None
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

    def _masked(self, head: int) -> Mask | None:
        return None if self.masked is None else self.masked[head]

    def table(self) -> Rows:
        """Return a row for each query token of each head, with a column for each key token."""
        rows = [
            (head, without_isolates(query), *values)
            for head, grid in enumerate(self.values)
            for query, values in zip(
                self.queries, unmasked_rows(grid, self._masked(head)), strict=True
            )
        ]
        corner = corner_header("Query", "Key", self.value_title, self.subject)
        return ("Head", corner, *map(without_isolates, self.keys)), rows


Chart = LineChart | GridChart | HeadsChart | HistogramChart
