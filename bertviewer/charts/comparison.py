"""Run A beside run B: charts over one another, and what B has more than A."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from bertviewer.charts.chart import Chart, GridChart, HeadsChart, HistogramChart, Line, LineChart
from bertviewer.charts.histograms import histogram_difference, histograms_overlaid
from bertviewer.charts.levels import levels_of
from bertviewer.charts.place import Place
from bertviewer.charts.translation import Translate, english

ComparisonMode = Literal["overlay", "difference"]
"""How two runs are shown: over or beside one another, or what B has more than A."""
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


def _difference(a: Sequence[float | None], b: Sequence[float | None], x: int) -> float | None:
    mine, other = (values[x] if x < len(values) else None for values in (a, b))
    return None if mine is None or other is None else other - mine


@dataclass(frozen=True, slots=True)
class Partners:
    """Which of A's tokens is which of B's, and likewise the rows and the columns of a grid.

    ``None`` stands for rows or columns that have their partner at the same index.
    """

    tokens: Pairs = ()
    rows: Pairs | None = None
    columns: Pairs | None = None


def arranged(
    b: Chart,
    a: Chart | None,
    comparison: ComparisonMode,
    partners: Partners,
    translate: Translate = english,
) -> list[Chart]:
    """Return what is shown: B's chart, or one of both runs, or A's and B's side by side."""
    if a is None or type(a) is not type(b):
        return [b]
    is_overlay = comparison == "overlay"
    if isinstance(b, LineChart) and isinstance(a, LineChart):
        return [overlaid(a, b) if is_overlay else line_difference(a, b, translate)]
    if isinstance(b, HistogramChart) and isinstance(a, HistogramChart):
        of_both = histograms_overlaid if is_overlay else histogram_difference
        return [of_both(a, b, translate)]
    if isinstance(b, GridChart) and isinstance(a, GridChart):
        if is_overlay:
            return list(levelled(a, b))
        columns = _same(a.columns, b.columns) if partners.columns is None else partners.columns
        return [grid_difference(a, b, columns, partners.rows, translate)]
    if isinstance(b, HeadsChart) and isinstance(a, HeadsChart):
        if is_overlay:
            return list(levelled(a, b))
        queries = _same(a.queries, b.queries) if partners.rows is None else partners.rows
        keys = _same(a.keys, b.keys) if partners.columns is None else partners.columns
        return [heads_difference(a, b, queries, keys, translate)]
    return [b]


def _same(a: Sequence[str], b: Sequence[str]) -> list[tuple[int, int]]:
    return [(n, n) for n in range(min(len(a), len(b)))]
