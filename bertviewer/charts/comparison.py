"""How the output of a module is spread, as a chart, and how that of two runs differs.

Run A beside run B: charts over one another, and what B has more than A.

B, the last run, comes before A here as in all that compares the two: there may be no A.
"""

from collections.abc import Sequence
from math import inf
from typing import Literal, TypeVar

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from bertviewer.charts.chart import (
    Bars,
    Chart,
    GridChart,
    HeadDifferences,
    HeadsChart,
    HistogramChart,
    Line,
    LineChart,
)
from bertviewer.charts.levels import levels_of
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.charts.translation import translate
from bertviewer.core.util.numbers import number_text


def histogram_overlay(b: HistogramChart, a: HistogramChart) -> HistogramChart:
    """Return B's bars with A's over them.

    Where the runs differ in length, they are parts of each one's values: the longer run's counts
    would dwarf the other's. On a logarithmic axis both are seen, and stay counts.

    Raises:
        ValueError: if their bins differ, or one of them has not exactly one series.
    """
    own, mine = _single(b, a)
    title = b.y_title
    if own.total != mine.total and not b.is_log:
        own, mine, title = _parts(own), _parts(mine), _parts_title()
    series = replace(own, label="B"), replace(mine, label="A")
    return replace(b, series=series, y_title=title)


def histogram_difference(b: HistogramChart, a: HistogramChart) -> HistogramChart:
    """Return B's part of all its values in each bin, less A's: runs differ in length.

    Raises:
        ValueError: if their bins differ, or one of them has not exactly one series.
    """
    own, mine = map(_parts, _single(b, a))
    bars = Bars(
        "B − A",
        tuple(x - y for x, y in zip(own.counts, mine.counts, strict=True)),
        own.nan_count - mine.nan_count,
        own.inf_count - mine.inf_count,
    )
    title = translate("charts", "{0}, B − A").format(_parts_title())
    return replace(b, series=(bars,), y_title=title, is_log=False)


def _parts(bars: Bars) -> Bars:
    """Return counts as parts of all values."""
    whole = bars.total or 1
    return replace(
        bars,
        counts=tuple(count / whole for count in bars.counts),
        nan_count=bars.nan_count / whole,
        inf_count=bars.inf_count / whole,
    )


def _parts_title() -> str:
    return translate("charts", "Fraction of values")


def _single(b: HistogramChart, a: HistogramChart) -> tuple[Bars, Bars]:
    if a.edges != b.edges:
        raise ValueError("the histograms have different bins")
    ((own,), (mine,)) = b.series, a.series
    return own, mine


ComparisonMode = Literal["overlay", "difference"]
"""How two runs are shown: over or beside one another, or what B has more than A."""
Pairs = Sequence[tuple[int, int]]
"""Index in A, index in B of what is the same in both."""
Grid = TypeVar("Grid", GridChart, HeadsChart)


def line_overlay(b: LineChart, a: LineChart) -> LineChart:
    """Return B's lines, and over them A's, dashed, in the colours of B's lines of the same label.

    Positions are B's; A's further ones follow. Only B's lines keep their bands and extremes: two
    bands are hard to tell apart. Of A's places the modules stay; its tokens are not B's.
    """
    numbers = {line.label: b.color(n) for n, line in enumerate(b.lines)}
    lines = [replace(_of("B", line), color=b.color(n)) for n, line in enumerate(b.lines)]
    for line in a.lines:
        color = numbers.setdefault(line.label, len(numbers))
        places = tuple(SelectionKey(path=place.path) for place in line.keys)
        of_a = replace(_of("A", line), keys=places, style="dashed", color=color, reach="")
        lines.append(replace(of_a, low=None, high=None, min=None, max=None))
    further = slice(len(b.ticks), None)
    names = (*b.names, *a.names[further])
    return replace(b, lines=tuple(lines), ticks=(*b.ticks, *a.ticks[further]), tick_names=names)


def _of(run: str, line: Line) -> Line:
    """Return a line that says which run it is of."""
    label, name = f"{run} · {line.label}", line.name and f"{run} · {line.name}"
    return replace(line, label=label, name=name, run=run, thing=line.label)


def line_difference(b: LineChart, a: LineChart) -> LineChart:
    """Return B − A for each line whose label both have, where both have a value at the same x.

    The same x is the same position with the same tick.
    """
    partners = {line.label: line for line in a.lines}
    lines = tuple(
        replace(
            line,
            values=tuple(
                _difference(line.values, partners[line.label].values, x)
                if a.ticks[x : x + 1] == b.ticks[x : x + 1]
                else None
                for x in range(len(line.values))
            ),
            color=b.color(n),
            low=None,
            high=None,
            min=None,
            max=None,
            measure=_less_a(line.measure) if line.measure else "",
            reach="",
        )
        for n, line in enumerate(b.lines)
        if line.label in partners
    )
    # Of a mean in its band, the difference of the means is all that is left.
    measures = {line.measure for line in lines}
    title = measures.pop() if len(measures) == 1 else ""
    title = title or _less_a(b.y_title)
    return replace(b, lines=lines, y_title=title, is_log=False, bounds=(-inf, inf))


def shared_levels(b: Grid, a: Grid) -> tuple[Grid, Grid]:
    """Return both grids with one range of colours, to stand side by side.

    It holds the ranges that both have, or else all of their values. What the values are begins
    with the run's name, as "A · Norm": a picture or a table of one of them has to tell which it is.
    """
    if a.levels and b.levels:
        levels = min(a.levels[0], b.levels[0]), max(a.levels[1], b.levels[1])
    else:
        values = np.concatenate([np.ravel(np.asarray(one.values)) for one in (a, b)])
        levels = levels_of(values, a.is_signed or b.is_signed)
    titles = (f"{run} · {grid.value_title}" for run, grid in (("B", b), ("A", a)))
    of_b, of_a = (title.removesuffix(" · ") for title in titles)
    return (
        replace(b, levels=levels, value_title=of_b),
        replace(a, levels=levels, value_title=of_a),
    )


def common_title(b: Grid, a: Grid) -> str | None:
    """Return what the values of two levelled grids are, ``None`` if that is not the same."""
    of_a, of_b = a.value_title.removeprefix("A · "), b.value_title.removeprefix("B · ")
    return of_b if of_a == of_b else None


def grid_difference(
    b: GridChart, a: GridChart, columns: Pairs | None = None, rows: Pairs | None = None
) -> GridChart:
    """Return B − A in B's rows and columns; what has no partner in A is NaN.

    ``columns`` pairs A's columns with B's, ``rows`` the rows; of ``None`` the partners are at the
    same index.
    """
    rows, columns = _pairs(rows, b.rows, a.rows), _pairs(columns, b.columns, a.columns)
    values = np.full(b.values.shape, np.nan)
    if rows and columns:
        (rows_a, rows_b), (columns_a, columns_b) = (
            np.array(pairs, dtype=np.intp).T for pairs in (rows, columns)
        )
        # In double precision: the values may be single, and close to one another.
        mine = a.values[np.ix_(rows_a, columns_a)].astype(np.float64)
        # Of what is not finite, or too large for it, it is not finite itself.
        with np.errstate(invalid="ignore", over="ignore"):
            values[np.ix_(rows_b, columns_b)] = b.values[np.ix_(rows_b, columns_b)] - mine
    return replace(
        b, values=values, value_title=_less_a(b.value_title), is_signed=True, levels=None
    )


def heads_difference(
    b: HeadsChart, a: HeadsChart, queries: Pairs | None = None, keys: Pairs | None = None
) -> HeadsChart:
    """Return B − A head by head for B's tokens; what has no partner in A is NaN.

    ``queries`` pairs A's query tokens with B's, ``keys`` the key tokens, likewise. Each head has a
    range of its own, which its caption tells: one that changed much would leave all others pale.
    """
    queries, keys = _pairs(queries, b.queries, a.queries), _pairs(keys, b.keys, a.keys)
    values = HeadDifferences(np.asarray(b.values), np.asarray(a.values), queries, keys)
    levels = values.levels()
    return replace(
        b,
        values=values,
        captions=tuple(f"±{number_text(high, 2)}" for _, high in levels),
        value_title=_less_a(b.value_title),
        is_signed=True,
        levels=(-1.0, 1.0),
        head_levels=levels,
    )


def _less_a(title: str) -> str:
    return translate("charts", "{0}, B − A").format(title) if title else "B − A"


def _difference(b: Sequence[float | None], a: Sequence[float | None], x: int) -> float | None:
    own, mine = (values[x] if x < len(values) else None for values in (b, a))
    return None if own is None or mine is None else own - mine


class Alignment(Struct, frozen=True):
    """Which of A's tokens is which of B's, and likewise the rows and the columns of a grid.

    ``None`` stands for rows or columns that have their partner at the same index.
    """

    tokens: Pairs = ()
    rows: Pairs | None = None
    columns: Pairs | None = None

    @property
    def in_a(self) -> dict[int, int]:
        """The places of B's tokens in A, of those that A has."""
        return {b: a for a, b in self.tokens}

    @property
    def in_b(self) -> dict[int, int]:
        """The places of A's tokens in B, of those that B has."""
        return dict(self.tokens)


def compared_charts(
    b: Chart, a: Chart | None, comparison: ComparisonMode, partners: Alignment
) -> list[Chart]:
    """Return what is shown: B's chart, or one of both runs, or B's and A's side by side."""
    if a is None or type(a) is not type(b):
        return [b]
    is_overlay = comparison == "overlay"
    if isinstance(b, LineChart) and isinstance(a, LineChart):
        return [line_overlay(b, a) if is_overlay else line_difference(b, a)]
    if isinstance(b, HistogramChart) and isinstance(a, HistogramChart):
        of_both = histogram_overlay if is_overlay else histogram_difference
        return [of_both(b, a)]
    if isinstance(b, GridChart) and isinstance(a, GridChart):
        if is_overlay:
            return list(shared_levels(b, a))
        return [grid_difference(b, a, partners.columns, partners.rows)]
    if isinstance(b, HeadsChart) and isinstance(a, HeadsChart):
        if is_overlay:
            return list(shared_levels(b, a))
        return [heads_difference(b, a, partners.rows, partners.columns)]
    return [b]


def _pairs(pairs: Pairs | None, b: Sequence[str], a: Sequence[str]) -> Pairs:
    """Return the pairs, those of the same index where there are none given."""
    return [(n, n) for n in range(min(len(b), len(a)))] if pairs is None else pairs
