"""Charts as plain data: lines, grids, grids of attention heads, and histograms.

Each chart has ``table()``, which returns its data as a header and rows, and selection keys for
its points.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Literal

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from bertviewer.charts.levels import ANY, Levels, Mask, Values, constant_of, levels_of
from bertviewer.charts.selection_key import SelectionKey, closest_keys
from bertviewer.charts.table import CellValue, Rows, column_header, corner_header, unmasked_rows
from bertviewer.core.util.numbers import number_text
from bertviewer.core.util.text import without_isolates


class Line(Struct, frozen=True):
    """One value per x coordinate, with gaps where a value is ``None``.

    Attributes:
        label: the name in the legend.
        values: the y coordinates.
        keys: what each point selects, or empty.
        low, high: the edges of a band around the line.
        min, max: thin lines below and above.
        style: dashed lines are references.
        color: the number of the colour; ``None`` is the line's index in the chart.
        measure: what the values are, if the y title does not say it: "mean".
        reach: what the band reaches to either side: "std".
        name: a longer label, "" for the same.
        run, thing: the two parts of a label that names a run.
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
        """Return the existing columns with their names: values, band, min and max."""
        edges = [f"{self.measure} {sign} {self.reach}" for sign in "−+"]
        low, high = edges if self.reach else ("low", "high")
        optional = ((low, self.low), (high, self.high), ("min", self.min), ("max", self.max))
        found = ((name, part) for name, part in optional if part is not None)
        return (self.measure, self.values), *found


class LineChart(Struct, frozen=True):
    """Lines over the positions 0, 1, …; a line may be shorter than the axis.

    Attributes:
        lines: the lines.
        x_title, y_title: the titles of the axes.
        ticks: the labels of the positions.
        is_log: the y axis is logarithmic, for values from 1 on.
        tick_names: longer labels of the positions, or empty.
        bounds: the range that values of this kind can have: (−1, 1) for cosines.
        is_whole: the values are counts.
        is_signed: the axis is symmetric about 0, for differences.
        scale: the size of what the values are about: of the elements of which they are means.
    """

    lines: tuple[Line, ...]
    x_title: str
    y_title: str
    ticks: tuple[str, ...]
    is_log: bool = False
    tick_names: tuple[str, ...] = ()
    bounds: Levels = ANY
    is_whole: bool = False
    is_signed: bool = False
    scale: float = 0.0

    @property
    def constant(self) -> float | None:
        """The value of all points but for rounding, ``None`` if they differ.

        A sentence says the same as such a chart.
        """
        parts = (part for line in self.lines for _, part in line.columns())
        values = [value for part in parts for value in part if value is not None]
        return constant_of(np.array(values, dtype=np.float64), self.scale)

    @property
    def names(self) -> tuple[str, ...]:
        """Longer labels of the positions."""
        return self.tick_names or self.ticks

    def color(self, index: int) -> int:
        """Return the number of a line's colour."""
        color = self.lines[index].color
        return index if color is None else color

    def table(self) -> Rows:
        """Return a row for each x, with columns for each line and its band."""
        columns = [
            (column_header(line.name or line.label, name or self.y_title), values)
            for line in self.lines
            for name, values in line.columns()
        ]
        rows: list[tuple[CellValue, ...]] = []
        for x, tick in enumerate(self.names):
            cells = (values[x] if x < len(values) else None for _, values in columns)
            rows.append((without_isolates(tick), *cells))
        return (self.x_title, *(name for name, _ in columns)), rows


class GridChart(Struct, frozen=True, eq=False):
    """Values as coloured cells; non-finite ones stay empty.

    Attributes:
        values: [rows, columns].
        rows, columns: the labels of both.
        row_keys, column_keys: what each of them selects, or empty.
        x_title, y_title, value_title: the titles of the columns, the rows and the values.
        is_signed: the colours are symmetric about 0.
        is_root: the colours follow the square roots of the values, with their signs.
        is_top_down: row 0 is at the top, as in a matrix; otherwise at the bottom.
        levels: the range of the colours; ``None`` for that of the values.
        row_names, column_names: longer labels of both, or empty.
        split: from this column on, rows select ``split_keys``: where the tokens of a decoder follow
            those of an encoder.
        split_keys: what rows select there.
        row_starts, column_starts: the rows and columns where further texts begin.
        subject: the layer, head or part, if the titles do not say it.
        masked: [rows, columns], masked cells, whose values are not measured.
        masked_word: their text.
        end_label: that of the upper level if it is not a number: "ln 10".
        joint: what separates the names of a cell's row and column.
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
    end_label: str = ""
    joint: str = ", "

    @property
    def constant(self) -> float | None:
        """The value of all cells but for rounding, ``None`` if they differ: see ``LineChart``."""
        return constant_of(self.measured, max(map(abs, self.levels or (0.0,))))

    @property
    def measured(self) -> Values:
        """The values, NaN where masked."""
        return self.values if self.masked is None else np.where(self.masked, np.nan, self.values)

    @property
    def named_rows(self) -> tuple[str, ...]:
        """Longer labels of the rows."""
        return self.row_names or self.rows

    @property
    def named_columns(self) -> tuple[str, ...]:
        """Longer labels of the columns."""
        return self.column_names or self.columns

    def key(self, row: int, column: int) -> SelectionKey:
        """Return what a cell selects: its row's key, completed by its column's."""
        is_split = self.split is not None and column >= self.split
        keys = self.split_keys if is_split else self.row_keys
        key = keys[row] if keys else SelectionKey()
        return key.merged(self.column_keys[column]) if self.column_keys else key

    def chosen(self, selection: SelectionKey) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the rows and columns of a selection."""
        rows = closest_keys(self.row_keys, selection) or closest_keys(self.split_keys, selection)
        if len(rows) > 1:
            rows = ()  # all calls of a shared layer
        return rows, closest_keys(self.column_keys, selection)

    def text(self, row: int, column: int) -> str:
        """Return a cell's row, column and exact value."""
        names = self.named_rows[row], self.named_columns[column]
        is_masked = self.masked is not None and self.masked[row, column]
        value = self.masked_word if is_masked else number_text(self.values[row, column])
        return f"{self.joint.join(names)}: {value}"

    def table(self) -> Rows:
        """Return the names of the rows and their values; masked cells are empty."""
        names = map(without_isolates, self.named_rows)
        cells = unmasked_rows(self.values, self.masked)
        rows = [(name, *values) for name, values in zip(names, cells, strict=True)]
        corner = corner_header(self.y_title, self.x_title, self.value_title, self.subject)
        return (corner, *map(without_isolates, self.named_columns)), rows


class HeadDifferences:
    """B − A of attention heads [A, S, S'], each computed on access, which keeps the window fluent.

    ``rows`` and ``columns`` pair indices in A with those in B; cells without a partner are NaN.
    """

    def __init__(
        self,
        b: Values,
        a: Values,
        rows: Sequence[tuple[int, int]],
        columns: Sequence[tuple[int, int]],
    ) -> None:
        # Attention is in single precision.
        self._b, self._a = b, np.asarray(a, dtype=np.float32)
        self._has_pairs = bool(rows) and bool(columns)
        self._rows = _partners(rows, b.shape[1])
        self._columns = _partners(columns, b.shape[2])
        self._are_same = a.shape[1:] == b.shape[1:] and all(
            np.array_equal(found, np.arange(len(found))) for found in (self._rows, self._columns)
        )
        self.shape: tuple[int, int, int] = b.shape[0], b.shape[1], b.shape[2]
        self.size = b.size

    def __len__(self) -> int:
        return len(self._b)

    def __iter__(self) -> Iterator[Values]:
        return (self[head] for head in range(len(self)))

    def __getitem__(self, head: int) -> Values:
        b = self._b[head]
        if head >= len(self._a) or not self._has_pairs:
            return np.full(b.shape, np.nan, dtype=np.float32)
        a = self._a[head]
        if not self._are_same:
            # Clipping needs no check of indices, which is seven times as fast.
            a = a.take(self._rows, axis=0, mode="clip").take(self._columns, axis=1, mode="clip")
        with np.errstate(invalid="ignore", over="ignore"):
            found: Values = np.subtract(b, a, dtype=np.float32, casting="same_kind")
        if not self._are_same:
            found[self._rows < 0] = np.nan
            found[:, self._columns < 0] = np.nan
        return found

    def levels(self) -> tuple[Levels, ...]:
        """Return the range of each head, symmetric about 0 and wider than the rounding of 1."""
        return tuple(levels_of(values, is_signed=True, scale=1.0) for values in self)

    def __array__(self, *arguments: Any, **options: Any) -> NDArray[Any]:
        """Return all heads as one array, for numpy."""
        return np.asarray(np.stack(list(self)), *arguments, **options)


def _partners(pairs: Sequence[tuple[int, int]], count: int) -> NDArray[np.intp]:
    """Return the index in A for each of B's ``count`` indices, -1 without a partner."""
    found = np.full(count, -1, dtype=np.intp)
    for a, b in pairs:
        found[b] = a
    return found


class HeadsChart(Struct, frozen=True, eq=False):
    """A small grid for each attention head: what each query token takes from each key token.

    Attributes:
        values: [A, S, S'], the weight of key token j for query token i.
        captions: a few words about each head.
        queries, keys: the tokens.
        value_title: what the values are.
        is_signed: the colours are symmetric about 0.
        is_root: the colours follow the square roots of the values, with their signs.
        levels: the range of the colours; ``None`` for that of the values and 0.
        subject: the layer.
        query_starts, key_starts: the tokens where further texts begin.
        cell_text: the text of a cell, with the places of head, query, key and value.
        masked: [A, S, S'], masked cells.
        masked_word: their text.
        head_levels: a range for each head, of which ``levels`` are parts.
        query_labels, key_labels: short labels of the tokens, or empty.
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
    query_labels: tuple[str, ...] = ()
    key_labels: tuple[str, ...] = ()

    def measured(self, head: int) -> Values:
        """Return the values of a head, NaN where masked or not finite."""
        values, masked = self.values[head], self._masked(head)
        hidden = ~np.isfinite(values)
        if masked is not None:
            hidden |= masked
        return np.where(hidden, np.nan, values) if hidden.any() else values

    def text(self, head: int, query: int, key: int) -> str:
        """Return a cell's head, tokens and exact value."""
        is_masked = self.masked is not None and self.masked[head, query, key]
        value = self.masked_word if is_masked else number_text(self.values[head][query, key])
        return self.cell_text.format(head, self.queries[query], self.keys[key], value)

    def _masked(self, head: int) -> Mask | None:
        return None if self.masked is None else self.masked[head]

    def table(self) -> Rows:
        """Return a row for each query token of each head, with a column for each key token."""
        rows: list[tuple[CellValue, ...]] = []
        for head, grid in enumerate(self.values):
            cells = unmasked_rows(grid, self._masked(head))
            for query, values in zip(self.queries, cells, strict=True):
                rows.append((head, without_isolates(query), *values))
        corner = corner_header("Query", "Key", self.value_title, self.subject)
        return ("Head", corner, *map(without_isolates, self.keys)), rows


class Bars(Struct, frozen=True):
    """The bars of a series: counts, shares of all values, or differences of shares.

    Attributes:
        label: the name in the legend.
        counts: one for each bin.
        nan_count, inf_count: NaN and infinite values, which are in no bin.
        mean, std: of the finite values, drawn as marks.
    """

    label: str
    counts: tuple[float, ...]
    nan_count: float = 0
    inf_count: float = 0
    mean: float | None = None
    std: float | None = None

    @property
    def total(self) -> float:
        """The number of all values."""
        return sum(self.counts) + self.nan_count + self.inf_count


class HistogramChart(Struct, frozen=True):
    """One or two series over the same bins; bin i is from edge i to edge i + 1.

    ``is_log`` draws them on a logarithmic axis. ``is_density`` is for bins of different widths:
    the areas of bars are shares of all values.
    """

    edges: tuple[float, ...]
    series: tuple[Bars, ...]
    x_title: str = ""
    y_title: str = ""
    is_log: bool = False
    is_density: bool = False

    def heights(self, bars: Bars) -> tuple[float, ...]:
        """Return the heights of bars."""
        if not self.is_density:
            return bars.counts
        total = sum(bars.counts) or 1
        return tuple(
            count / total / (high - low)
            for count, low, high in zip(bars.counts, self.edges[:-1], self.edges[1:], strict=True)
        )

    def table(self) -> Rows:
        """Return a row with the counts of each bin, and rows for NaN and Inf if there are any."""
        rows: list[tuple[CellValue, ...]] = list(
            zip(
                self.edges[:-1], self.edges[1:], *(bars.counts for bars in self.series), strict=True
            )
        )
        others = {
            "NaN": [bars.nan_count for bars in self.series],
            "Inf": [bars.inf_count for bars in self.series],
        }
        rows += [(name, None, *counts) for name, counts in others.items() if any(counts)]
        edges = (column_header(self.x_title, edge) for edge in ("from", "to"))
        measure = "" if self.is_density else self.y_title
        return (*edges, *(column_header(b.label, measure) for b in self.series)), rows


Chart = LineChart | GridChart | HeadsChart | HistogramChart
