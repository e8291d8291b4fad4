"""Tables of statistics, and histograms of one run and two."""

import numpy as np
import pytest
from msgspec.structs import replace

from bertviewer.charts.chart import Bars, HistogramChart
from bertviewer.charts.comparison import histogram_difference, histogram_overlay
from bertviewer.charts.statistics import common_range, histogram_chart, statistics_table
from bertviewer.core.schema.activation_run import ModuleActivation
from bertviewer.core.schema.statistics import NO_ELEMENTS, Statistics
from bertviewer.core.statistics.histograms import histogram

MEASURED = Statistics(4, 0, 0, 1, 6.0, 5.0, 0.0, 3.0)


def given(statistics: Statistics, left_out: str = "") -> ModuleActivation:
    shape = 1, 2, 2
    return ModuleActivation("layer", "Layer", shape, shape, (statistics,), 0, None, left_out)


def rows_of(statistics: Statistics, left_out: str = "") -> list[str]:
    return [str(row[0].text) for row in statistics_table(given(statistics, left_out)).rows]


def test_what_was_not_measured_has_no_figures() -> None:
    assert rows_of(MEASURED)[-2:] == ["elements", "shape"]
    assert len(rows_of(MEASURED)) == 10
    assert rows_of(NO_ELEMENTS, "complex64") == ["shape"]


def test_data_tell_the_module_and_the_runs() -> None:
    one = given(MEASURED)
    assert statistics_table(one).table()[0] == ("Statistic: layer", "Value")
    names = "Statistic: layer", "B, Value", "A, Value", "B − A, Value"
    assert statistics_table(one, one).table()[0] == names


def statistics(low: float | None, high: float | None) -> Statistics:
    return Statistics(4, 0, 0, 0, 6.0, 5.0, low, high)


def test_the_range_holds_all_runs() -> None:
    assert common_range([statistics(-1.0, 2.0)]) == (-1.0, 2.0)
    assert common_range([statistics(-1.0, 2.0), statistics(0.0, 5.0)]) == (-1.0, 5.0)
    assert common_range([statistics(None, None), statistics(0.0, 5.0)]) == (0.0, 5.0)
    assert common_range([statistics(None, None)]) is None


def test_a_chart_has_counts_and_levels() -> None:
    values = np.array([0.0, 1.0, 2.0, 3.0, np.nan, np.inf])
    chart = histogram_chart(histogram(values, 3), statistics(0.0, 3.0), is_log=True)
    (bars,) = chart.series
    assert chart.edges == (0.0, 1.0, 2.0, 3.0)
    assert list(bars.counts) == [1, 1, 2]
    assert (bars.nan_count, bars.inf_count) == (1, 1)
    assert bars.mean == pytest.approx(1.5)
    assert bars.std == pytest.approx(np.std([0, 1, 2, 3]))
    assert chart.is_log


def test_two_runs_keep_their_means_and_a_difference_has_none() -> None:
    values = np.array([0.0, 1.0, 2.0, 3.0])
    a, b = (
        histogram_chart(histogram(part, 3, (0.0, 3.0)), statistics(0.0, 3.0), is_log=True)
        for part in (values, values[1:])
    )
    both = histogram_overlay(b, a)
    assert [bars.mean for bars in both.series] == [1.5, 1.5]
    assert both.is_log
    difference = histogram_difference(b, a)
    assert difference.series[0].mean is None
    assert not difference.is_log


EDGES = (0.0, 1.0, 2.0)
FEW = HistogramChart(EDGES, (Bars("x", (1, 3)),), "Value", "Elements")
MANY = HistogramChart(
    EDGES, (Bars("y", (30, 10), nan_count=40, inf_count=20),), "Value", "Elements"
)


def test_histograms_over_one_another() -> None:
    b, a = histogram_overlay(MANY, FEW).series
    # Parts of all values, NaN and Inf too: the runs differ in length.
    assert (b.label, b.counts, b.nan_count) == ("B", (0.3, 0.1), 0.4)
    assert (a.label, a.counts) == ("A", (0.25, 0.75))
    assert histogram_overlay(MANY, FEW).y_title == "Fraction of values"
    counted = histogram_overlay(replace(MANY, is_log=True), replace(FEW, is_log=True))
    assert [bars.counts for bars in counted.series] == [(30, 10), (1, 3)]
    assert counted.y_title == MANY.y_title
    same = replace(FEW, series=(replace(FEW.series[0], counts=(4, 0)),))
    assert [bars.counts for bars in histogram_overlay(same, FEW).series] == [(4, 0), (1, 3)]


def test_difference_of_histograms_is_of_their_parts() -> None:
    chart = histogram_difference(MANY, FEW)
    (bars,) = chart.series
    assert bars.counts == pytest.approx((0.3 - 0.25, 0.1 - 0.75))
    assert (bars.nan_count, bars.inf_count) == pytest.approx((0.4, 0.2))
    assert sum(bars.counts) + bars.nan_count + bars.inf_count == pytest.approx(0)
    assert chart.x_title == "Value"


def test_histograms_of_nothing() -> None:
    none = HistogramChart(EDGES, (Bars("x", (0, 0)),))
    assert histogram_difference(none, none).series[0].counts == (0, 0)


def test_other_bins_cannot_be_compared() -> None:
    other = HistogramChart((0.0, 1.5, 2.0), (Bars("x", (1, 3)),))
    for compare in (histogram_overlay, histogram_difference):
        with pytest.raises(ValueError, match="different bins"):
            compare(FEW, other)
