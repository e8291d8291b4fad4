"""Histograms of what modules gave, on one range for two runs, with mean and deviation."""

import numpy as np
import pytest

from bertviewer.charts.comparison import histogram_difference, histograms_overlaid
from bertviewer.charts.histograms import common_range, histogram_chart
from bertviewer.core.activations.statistics import Statistics
from bertviewer.core.analysis.histogram_data import histogram


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
    both = histograms_overlaid(a, b)
    assert [bars.mean for bars in both.series] == [1.5, 1.5]
    assert both.is_log
    difference = histogram_difference(a, b)
    assert difference.series[0].mean is None
    assert not difference.is_log
