"""Tables of statistics, and histograms of one run."""

import numpy as np
import pytest

from bertviewer.charts.statistics import common_range, histogram_chart, statistics_table
from bertviewer.core.schema.activation_run import ModuleActivation
from bertviewer.core.schema.statistics import NO_ELEMENTS, Statistics
from bertviewer.core.statistics.histograms import histogram
from tests.charts.described import Golden, described

MEASURED = Statistics(4, 0, 0, 1, 6.0, 5.0, 0.0, 3.0)


def activation(statistics: Statistics, skip_reason: str = "") -> ModuleActivation:
    shape = 1, 2, 2
    return ModuleActivation("layer", "Layer", shape, shape, (statistics,), 0, None, skip_reason)


def statistics(low: float | None, high: float | None) -> Statistics:
    return Statistics(4, 0, 0, 0, 6.0, 5.0, low, high)


def test_tables(golden: Golden) -> None:
    one = activation(MEASURED)
    tables = {
        "a run": statistics_table(one),
        "two runs": statistics_table(one, activation(statistics(-1.0, 2.0))),
        "not measured": statistics_table(activation(NO_ELEMENTS, "complex64")),
    }
    golden("charts/statistics.txt", described(tables))


def test_the_range_of_several_runs() -> None:
    empty, wide = statistics(None, None), statistics(0.0, 5.0)
    assert common_range([statistics(-1.0, 2.0)]) == (-1.0, 2.0)
    assert common_range([statistics(-1.0, 2.0), wide]) == (-1.0, 5.0)
    assert common_range([empty, wide]) == (0.0, 5.0)
    assert common_range([empty]) is None


def test_a_histogram_has_counts_and_moments() -> None:
    values = np.array([0.0, 1.0, 2.0, 3.0, np.nan, np.inf])
    chart = histogram_chart(histogram(values, 3), statistics(0.0, 3.0), is_log=True)
    (bars,) = chart.series
    assert chart.edges == (0.0, 1.0, 2.0, 3.0)
    assert list(bars.counts) == [1, 1, 2]
    assert (bars.nan_count, bars.inf_count) == (1, 1)
    assert bars.mean == pytest.approx(1.5)
    assert bars.std == pytest.approx(np.std([0, 1, 2, 3]))
    assert chart.is_log
