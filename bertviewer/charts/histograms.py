"""How the output of a module is spread, as a chart."""

from collections.abc import Iterable

from bertviewer.charts.chart import Bars, HistogramChart
from bertviewer.charts.translation import Translate, english
from bertviewer.core.activations.statistics import Statistics
from bertviewer.core.analysis.histogram_data import Histogram, Range


def common_range(statistics: Iterable[Statistics]) -> Range | None:
    """Return the range of all finite values of several runs, ``None`` if there are none."""
    known = list(statistics)
    lows = [one.min for one in known if one.min is not None]
    highs = [one.max for one in known if one.max is not None]
    return (min(lows), max(highs)) if lows and highs else None


def histogram_chart(
    found: Histogram,
    statistics: Statistics,
    is_log: bool = False,
    translate: Translate = english,
) -> HistogramChart:
    """Return a histogram with the mean and the standard deviation of the same values."""
    elements = translate("charts", "Elements")
    bars = Bars(
        elements,
        tuple(found.counts.tolist()),
        found.nan_count,
        found.inf_count,
        statistics.mean,
        statistics.std,
    )
    return HistogramChart(
        tuple(found.edges.tolist()),
        (bars,),
        translate("charts", "Value"),
        elements,
        is_log,
    )
