"""How the output of a module is spread, as a chart, and how that of two runs differs."""

from collections.abc import Iterable

from msgspec.structs import replace

from bertviewer.charts.histogram_chart import Bars, HistogramChart
from bertviewer.charts.translation import translate
from bertviewer.core.schema.statistics import Statistics
from bertviewer.core.statistics.histograms import Histogram, Range


def common_range(statistics: Iterable[Statistics]) -> Range | None:
    """Return the range of all finite values of several runs, ``None`` if there are none."""
    known = list(statistics)
    lows = [one.min for one in known if one.min is not None]
    highs = [one.max for one in known if one.max is not None]
    return (min(lows), max(highs)) if lows and highs else None


def histogram_chart(
    found: Histogram, statistics: Statistics, is_log: bool = False
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


def histograms_overlaid(b: HistogramChart, a: HistogramChart) -> HistogramChart:
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
