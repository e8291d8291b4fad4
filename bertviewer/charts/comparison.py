"""Comparison of two runs: overlaid charts, charts side by side, and the difference B − A.

B is the last run. It precedes A, the baseline, in all signatures, because A is optional.
"""

from collections.abc import Sequence
from math import isfinite
from typing import Any, Literal, TypeVar

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
from bertviewer.charts.levels import ANY, levels_of
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.charts.translation import translate
from bertviewer.core.util.numbers import number_text

ComparisonMode = Literal["overlay", "difference"]
"""Overlaid or side by side, or B − A."""
Pairs = Sequence[tuple[int, int]]
"""Indices in A and B of the same things."""
Grid = TypeVar("Grid", GridChart, HeadsChart)


class Alignment(Struct, frozen=True):
    """Pairs of the same tokens, rows and columns of two runs.

    ``None`` pairs those of the same index.
    """

    tokens: Pairs = ()
    rows: Pairs | None = None
    columns: Pairs | None = None

    @property
    def in_a(self) -> dict[int, int]:
        """Positions in A of the tokens of B."""
        return {b: a for a, b in self.tokens}

    @property
    def in_b(self) -> dict[int, int]:
        """Positions in B of the tokens of A."""
        return dict(self.tokens)


def compared_charts(
    b: Chart, a: Chart | None, comparison: ComparisonMode, partners: Alignment
) -> list[Chart]:
    """Return the charts to display: B's, one of both runs, or B's and A's side by side."""
    is_overlay = comparison == "overlay"
    match b, a:
        case LineChart(), LineChart():
            return [line_overlay(b, a) if is_overlay else line_difference(b, a)]
        case HistogramChart(), HistogramChart():
            return [histogram_overlay(b, a) if is_overlay else histogram_difference(b, a)]
        case GridChart(), GridChart() if type(a) is type(b):
            if is_overlay:
                return list(shared_levels(b, a))
            return [grid_difference(b, a, partners.columns, partners.rows)]
        case HeadsChart(), HeadsChart():
            if is_overlay:
                return list(shared_levels(b, a))
            return [heads_difference(b, a, partners.rows, partners.columns)]
        case _:
            return [b]


def line_overlay(b: LineChart, a: LineChart) -> LineChart:
    """Return B's lines, and A's dashed in the colours of B's lines with the same labels.

    Positions of A beyond B's follow. Only B's lines keep bands and extremes, because overlapping
    bands are hard to tell apart. A's points select modules, not tokens, which differ from B's.
    """
    colors = {line.label: b.color(n) for n, line in enumerate(b.lines)}
    lines = [replace(_named("B", line), color=b.color(n)) for n, line in enumerate(b.lines)]
    lines += [
        replace(
            _without_band(_named("A", line)),
            keys=tuple(SelectionKey(path=key.path) for key in line.keys),
            style="dashed",
            color=colors.setdefault(line.label, len(colors)),
        )
        for line in a.lines
    ]
    further = slice(len(b.ticks), None)
    return replace(
        b,
        lines=tuple(lines),
        ticks=(*b.ticks, *a.ticks[further]),
        tick_names=(*b.names, *a.names[further]),
    )


def _named(run: str, line: Line) -> Line:
    """Return a line whose label names its run."""
    label, name = f"{run} · {line.label}", line.name and f"{run} · {line.name}"
    return replace(line, label=label, name=name, run=run, thing=line.label)


def _without_band(line: Line) -> Line:
    return replace(line, low=None, high=None, min=None, max=None, reach="")


def line_difference(b: LineChart, a: LineChart) -> LineChart:
    """Return B − A for each line of both, where both have a value at a position of one label."""
    partners = {line.label: line for line in a.lines}
    same = {x for x, ticks in enumerate(zip(b.ticks, a.ticks, strict=False)) if len({*ticks}) == 1}

    def values(line: Line) -> tuple[float | None, ...]:
        others = {x: n for x, n in enumerate(partners[line.label].values) if x in same}
        pairs = ((value, others.get(x)) for x, value in enumerate(line.values))
        return tuple(None if b is None or a is None else b - a for b, a in pairs)

    lines = tuple(
        replace(
            _without_band(line),
            values=values(line),
            color=b.color(n),
            measure=_minus_a(line.measure) if line.measure else "",
        )
        for n, line in enumerate(b.lines)
        if line.label in partners
    )
    values_of_both = (n for chart in (b, a) for line in chart.lines for n in line.values)
    # Without bands, lines of means are only about the means.
    measures = {line.measure for line in lines}
    title = (measures.pop() if len(measures) == 1 else "") or _minus_a(b.y_title)
    return replace(
        b,
        lines=lines,
        y_title=title,
        is_log=False,
        bounds=ANY,
        is_signed=True,
        scale=max([b.scale, *(abs(n) for n in values_of_both if n is not None and isfinite(n))]),
    )


def shared_levels(b: Grid, a: Grid) -> tuple[Grid, Grid]:
    """Return both grids with one range of colours.

    It contains the ranges of both, or else all of their values. The titles of the values begin
    with the name of the run, for exported images and tables.
    """
    is_signed = a.is_signed or b.is_signed
    if a.levels and b.levels:
        levels = min(a.levels[0], b.levels[0]), max(a.levels[1], b.levels[1])
    else:
        values = np.concatenate([np.ravel(np.asarray(one.values)) for one in (a, b)])
        levels = levels_of(values, is_signed)
    titles = (f"{run} · {grid.value_title}" for run, grid in (("B", b), ("A", a)))
    of_b, of_a = (title.removesuffix(" · ") for title in titles)
    shared: dict[str, Any] = {"levels": levels, "is_signed": is_signed}
    if isinstance(a, GridChart) and isinstance(b, GridChart):
        ends = {one.levels: one.end_label for one in (a, b)}
        shared["end_label"] = ends.get(levels, "")
    return replace(b, value_title=of_b, **shared), replace(a, value_title=of_a, **shared)


def common_title(b: Grid, a: Grid) -> str | None:
    """Return the title of the values of two grids with shared levels, ``None`` if they differ."""
    of_a, of_b = a.value_title.removeprefix("A · "), b.value_title.removeprefix("B · ")
    return of_b if of_a == of_b else None


def grid_difference(
    b: GridChart, a: GridChart, columns: Pairs | None = None, rows: Pairs | None = None
) -> GridChart:
    """Return B − A in the rows and columns of B, NaN without a partner in A.

    ``None`` pairs columns or rows of the same index.
    """
    rows, columns = _pairs(rows, b.rows, a.rows), _pairs(columns, b.columns, a.columns)
    values, scale = np.full(b.values.shape, np.nan), 0.0
    if rows and columns:
        (rows_a, rows_b), (columns_a, columns_b) = (
            np.array(pairs, dtype=np.intp).T for pairs in (rows, columns)
        )
        # In double precision, because close values may be in single precision.
        of_a = a.values[np.ix_(rows_a, columns_a)].astype(np.float64)
        with np.errstate(invalid="ignore", over="ignore"):
            values[np.ix_(rows_b, columns_b)] = b.values[np.ix_(rows_b, columns_b)] - of_a
        scale = levels_of(of_a, is_signed=True)[1]
    return replace(
        b,
        values=values,
        value_title=_minus_a(b.value_title),
        is_signed=True,
        levels=levels_of(values, is_signed=True, scale=scale),
        end_label="",
    )


def heads_difference(
    b: HeadsChart, a: HeadsChart, queries: Pairs | None = None, keys: Pairs | None = None
) -> HeadsChart:
    """Return B − A of each head for B's tokens, NaN without a partner in A.

    ``None`` pairs tokens of the same index. Each head has its own range, which its caption has:
    one head that changed much would make all others pale.
    """
    queries, keys = _pairs(queries, b.queries, a.queries), _pairs(keys, b.keys, a.keys)
    values = HeadDifferences(np.asarray(b.values), np.asarray(a.values), queries, keys)
    levels = values.levels()
    return replace(
        b,
        values=values,
        captions=tuple(f"±{number_text(high, 2)}" for _, high in levels),
        value_title=_minus_a(b.value_title),
        is_signed=True,
        levels=(-1.0, 1.0),
        head_levels=levels,
    )


def histogram_overlay(b: HistogramChart, a: HistogramChart) -> HistogramChart:
    """Return the bars of B and A.

    If the runs differ in length, as shares of all values, because the counts of the longer one
    would dwarf the others; on a logarithmic axis as counts.

    Raises:
        ValueError: the bins differ, or one chart has not exactly one series.
    """
    of_b, of_a, title = *_single_series(b, a), b.y_title
    if of_b.total != of_a.total and not b.is_log:
        of_b, of_a, title = _shares(of_b), _shares(of_a), translate("charts", "Fraction of values")
    return replace(b, series=(replace(of_b, label="B"), replace(of_a, label="A")), y_title=title)


def histogram_difference(b: HistogramChart, a: HistogramChart) -> HistogramChart:
    """Return the difference of the shares of all values in each bin.

    Raises:
        ValueError: the bins differ, or one chart has not exactly one series.
    """
    of_b, of_a = map(_shares, _single_series(b, a))
    bars = Bars(
        "B − A",
        tuple(x - y for x, y in zip(of_b.counts, of_a.counts, strict=True)),
        of_b.nan_count - of_a.nan_count,
        of_b.inf_count - of_a.inf_count,
    )
    title = _minus_a(translate("charts", "Fraction of values"))
    return replace(b, series=(bars,), y_title=title, is_log=False)


def _single_series(b: HistogramChart, a: HistogramChart) -> tuple[Bars, Bars]:
    if a.edges != b.edges:
        raise ValueError("the histograms have different bins")
    ((of_b,), (of_a,)) = b.series, a.series
    return of_b, of_a


def _shares(bars: Bars) -> Bars:
    total = bars.total or 1
    return replace(
        bars,
        counts=tuple(count / total for count in bars.counts),
        nan_count=bars.nan_count / total,
        inf_count=bars.inf_count / total,
    )


def _minus_a(title: str) -> str:
    return translate("charts", "{0}, B − A").format(title) if title else "B − A"


def _pairs(pairs: Pairs | None, b: Sequence[str], a: Sequence[str]) -> Pairs:
    """Return the pairs; without any those of the same index."""
    return [(n, n) for n in range(min(len(b), len(a)))] if pairs is None else pairs
