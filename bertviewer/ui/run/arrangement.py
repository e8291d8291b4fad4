"""Which charts are shown where there is a run A beside run B."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from bertviewer.plots.chart import Chart, GridChart, HeadsChart, HistogramChart, LineChart
from bertviewer.plots.comparison import (
    Pairs,
    grid_difference,
    histogram_difference,
    histograms_overlaid,
    levelled,
    line_difference,
    overlaid,
)

Comparison = Literal["overlay", "difference"]


@dataclass(frozen=True, slots=True)
class Partners:
    """Which of A's tokens is which of B's, and which axes of a grid are tokens."""

    tokens: Pairs = ()
    rows: bool = False
    columns: bool = True


def arranged(b: Chart, a: Chart | None, comparison: Comparison, partners: Partners) -> list[Chart]:
    """Return what is shown: B's chart, or one of both runs, or A's and B's side by side."""
    if a is None or type(a) is not type(b):
        return [b]
    is_overlay = comparison == "overlay"
    if isinstance(b, LineChart) and isinstance(a, LineChart):
        return [overlaid(a, b) if is_overlay else line_difference(a, b)]
    if isinstance(b, HistogramChart) and isinstance(a, HistogramChart):
        return [histograms_overlaid(a, b) if is_overlay else histogram_difference(a, b)]
    if isinstance(b, GridChart) and isinstance(a, GridChart):
        if is_overlay:
            return list(levelled(a, b))
        columns = partners.tokens if partners.columns else _same(a.columns, b.columns)
        return [grid_difference(a, b, columns, partners.tokens if partners.rows else None)]
    if isinstance(b, HeadsChart) and isinstance(a, HeadsChart) and is_overlay:
        return [a, b]
    return [b]


def _same(a: Sequence[str], b: Sequence[str]) -> list[tuple[int, int]]:
    return [(n, n) for n in range(min(len(a), len(b)))]
