"""Run A beside run B: charts over one another, and what B has more than A."""

from collections.abc import Sequence
from dataclasses import replace
from math import inf
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from bertviewer.charts.chart import Bars, GridChart, HeadsChart, HistogramChart, Line, LineChart
from bertviewer.charts.levels import levels_of
from bertviewer.charts.place import Place
from bertviewer.charts.translation import Translate, english

Pairs = Sequence[tuple[int, int]]
"""Index in A, index in B of what is the same in both."""
Grid = TypeVar("Grid", GridChart, HeadsChart)


def overlaid(a: LineChart, b: LineChart) -> LineChart:
    """Return B's lines, and over them A's, dashed, in the colours of B's lines of the same label.

    Positions are B's; A's further ones follow. Only B's lines keep their bands and extremes: two
    bands are hard to tell apart. Of A's places the modules stay; its tokens are not B's.
    """
    numbers = {line.label: b.color(n) for n, line in enumerate(b.lines)}
    lines = [replace(_of("B", line), color=b.color(n)) for n, line in enumerate(b.lines)]
    for line in a.lines:
        color = numbers.setdefault(line.label, len(numbers))
        places = tuple(Place(path=place.path) for place in line.places)
        of_a = replace(_of("A", line), places=places, style="dashed", color=color, reach="")
        lines.append(replace(of_a, low=None, high=None, min=None, max=None))
    further = slice(len(b.ticks), None)
    names = (*b.names, *a.names[further])
    return replace(b, lines=tuple(lines), ticks=(*b.ticks, *a.ticks[further]), tick_names=names)


def _of(run: str, line: Line) -> Line:
    """Return a line that says which run it is of."""
    label, name = f"{run} · {line.label}", line.name and f"{run} · {line.name}"
    return replace(line, label=label, name=name, run=run, thing=line.label)


def line_difference(a: LineChart, b: LineChart, translate: Translate = english) -> LineChart:
    """Return B − A for each line whose label both have, where both have a value at the same x.

    The same x is the same position with the same tick.
    """
    partners = {line.label: line for line in a.lines}
    lines = tuple(
        replace(
            line,
            values=tuple(
                _difference(partners[line.label].values, line.values, x)
                if a.ticks[x : x + 1] == b.ticks[x : x + 1]
                else None
                for x in range(len(line.values))
            ),
            color=b.color(n),
            low=None,
            high=None,
            min=None,
            max=None,
            measure=_less_a(line.measure, translate) if line.measure else "",
            reach="",
        )
        for n, line in enumerate(b.lines)
        if line.label in partners
    )
    # Of a mean in its band, the difference of the means is all that is left.
    measures = {line.measure for line in lines}
    title = measures.pop() if len(measures) == 1 else ""
    title = title or _less_a(b.y_title, translate)
    return replace(b, lines=lines, y_title=title, is_log=False, bounds=(-inf, inf))


def levelled(a: Grid, b: Grid) -> tuple[Grid, Grid]:
    """Return both grids with one range of colours, to stand side by side.

    It holds the ranges that both have, or else all of their values. What the values are begins
    with the run's name, as "A · Norm": a picture or a table of one of them has to tell which it is.
    """
    if a.levels and b.levels:
        levels = min(a.levels[0], b.levels[0]), max(a.levels[1], b.levels[1])
    else:
        values = np.concatenate([a.values.ravel(), b.values.ravel()])
        levels = levels_of(values, a.is_signed or b.is_signed)
    titles = (f"{run} · {grid.value_title}" for run, grid in (("A", a), ("B", b)))
    of_a, of_b = (title.removesuffix(" · ") for title in titles)
    return (
        replace(a, levels=levels, value_title=of_a),
        replace(b, levels=levels, value_title=of_b),
    )


def common_title(a: Grid, b: Grid) -> str | None:
    """Return what the values of two levelled grids are, ``None`` if that is not the same."""
    of_a, of_b = a.value_title.removeprefix("A · "), b.value_title.removeprefix("B · ")
    return of_b if of_a == of_b else None


def grid_difference(
    a: GridChart,
    b: GridChart,
    columns: Pairs,
    rows: Pairs | None = None,
    translate: Translate = english,
) -> GridChart:
    """Return B − A in B's rows and columns; what has no partner in A is NaN.

    ``columns`` pairs A's columns with B's, ``rows`` the rows; rows that are not tokens have
    their partner at the same index.
    """
    if rows is None:
        rows = [(n, n) for n in range(min(len(a.rows), len(b.rows)))]
    values = np.full(b.values.shape, np.nan)
    if rows and columns:
        (rows_a, rows_b), (columns_a, columns_b) = (
            np.array(pairs, dtype=np.intp).T for pairs in (rows, columns)
        )
        # In double precision: the values may be single, and close to one another.
        mine = a.values[np.ix_(rows_a, columns_a)].astype(np.float64)
        with _no_warnings():
            values[np.ix_(rows_b, columns_b)] = b.values[np.ix_(rows_b, columns_b)] - mine
    return replace(
        b, values=values, value_title=_less_a(b.value_title, translate), is_signed=True, levels=None
    )


def heads_difference(
    a: HeadsChart, b: HeadsChart, queries: Pairs, keys: Pairs, translate: Translate = english
) -> HeadsChart:
    """Return B − A head by head for B's tokens; what has no partner in A is NaN.

    ``queries`` pairs A's query tokens with B's, ``keys`` the key tokens. The captions are left out:
    they tell of one run's heads.
    """
    _, rows, columns = b.values.shape
    rows_of_a, columns_of_a = _partners(queries, rows), _partners(keys, columns)
    # Single precision is what attention has.
    values = np.full(b.values.shape, np.nan, dtype=np.float32)
    if queries and keys:
        # Head by head, because the memory that all of them take at once is slow to come by.
        for mine, own, difference in zip(a.values, b.values, values, strict=False):
            with _no_warnings():
                difference[...] = own - mine[rows_of_a][:, columns_of_a]
            difference[rows_of_a < 0] = np.nan
            difference[:, columns_of_a < 0] = np.nan
    return replace(
        b,
        values=values,
        captions=("",) * len(b.values),
        value_title=_less_a(b.value_title, translate),
        is_signed=True,
        levels=None,
    )


def _no_warnings() -> np.errstate:
    """Let a difference of what is not finite, or too large for one, be not finite itself."""
    return np.errstate(invalid="ignore", over="ignore")


def _less_a(title: str, translate: Translate) -> str:
    return translate("charts", "{0}, B − A").format(title) if title else "B − A"


def _partners(pairs: Pairs, count: int) -> NDArray[np.intp]:
    """Return the partner in A of each of B's ``count`` indices, -1 where there is none."""
    found = np.full(count, -1, dtype=np.intp)
    for mine, other in pairs:
        found[other] = mine
    return found


def histograms_overlaid(
    a: HistogramChart, b: HistogramChart, translate: Translate = english
) -> HistogramChart:
    """Return B's bars with A's over them.

    Where the runs differ in length, they are parts of each one's values: the longer run's counts
    would dwarf the other's. On a logarithmic axis both are seen, and stay counts.

    Raises:
        ValueError: if their bins differ, or one of them has not exactly one series.
    """
    mine, other = _single(a, b)
    title = b.y_title
    if mine.total != other.total and not b.is_log:
        mine, other, title = _parts(mine), _parts(other), _parts_title(translate)
    series = replace(other, label="B"), replace(mine, label="A")
    return replace(b, series=series, y_title=title)


def histogram_difference(
    a: HistogramChart, b: HistogramChart, translate: Translate = english
) -> HistogramChart:
    """Return B's part of all its values in each bin, less A's: runs differ in length.

    Raises:
        ValueError: if their bins differ, or one of them has not exactly one series.
    """
    mine, other = map(_parts, _single(a, b))
    bars = Bars(
        "B − A",
        tuple(y - x for x, y in zip(mine.counts, other.counts, strict=True)),
        other.nan_count - mine.nan_count,
        other.inf_count - mine.inf_count,
    )
    return replace(
        b, series=(bars,), y_title=_less_a(_parts_title(translate), translate), is_log=False
    )


def _parts(bars: Bars) -> Bars:
    """Return counts as parts of all values."""
    whole = bars.total or 1
    return replace(
        bars,
        counts=tuple(count / whole for count in bars.counts),
        nan_count=bars.nan_count / whole,
        inf_count=bars.inf_count / whole,
    )


def _parts_title(translate: Translate) -> str:
    return translate("charts", "Part of the values")


def _single(a: HistogramChart, b: HistogramChart) -> tuple[Bars, Bars]:
    if a.edges != b.edges:
        raise ValueError("the histograms have different bins")
    ((mine,), (other,)) = a.series, b.series
    return mine, other


def _difference(a: Sequence[float | None], b: Sequence[float | None], x: int) -> float | None:
    mine, other = (values[x] if x < len(values) else None for values in (a, b))
    return None if mine is None or other is None else other - mine
