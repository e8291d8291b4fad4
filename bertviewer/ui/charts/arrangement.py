"""Which charts are shown where there is a run A beside run B."""

from collections.abc import Sequence
from dataclasses import dataclass

from bertviewer.charts.chart import Chart, GridChart, HeadsChart, HistogramChart, LineChart
from bertviewer.charts.comparison import (
    Pairs,
    grid_difference,
    heads_difference,
    histogram_difference,
    histograms_overlaid,
    levelled,
    line_difference,
    overlaid,
)
from bertviewer.ui.runs import Comparison
from bertviewer.ui.translation import translate


@dataclass(frozen=True, slots=True)
class Partners:
    """Which of A's tokens is which of B's, and likewise the rows and the columns of a grid.

    ``None`` stands for rows or columns that have their partner at the same index.
    """

    tokens: Pairs = ()
    rows: Pairs | None = None
    columns: Pairs | None = None


def arranged(b: Chart, a: Chart | None, comparison: Comparison, partners: Partners) -> list[Chart]:
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
