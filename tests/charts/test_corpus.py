"""Charts of a corpus."""

import numpy as np
import pytest
from numpy.typing import NDArray

from bertviewer.charts.corpus import corpus_histogram, outlier_chart
from bertviewer.core.corpus.corpus import ClassSums, Corpus, Outliers
from bertviewer.core.statistics.histograms import FLOAT_BINS, float_bins


def sums_of(values: NDArray[np.float32]) -> ClassSums:
    wide = values.astype(np.float64)
    return ClassSums(
        *("layer", 0, "content", values.size, float(wide.sum()), float((wide * wide).sum())),
        *(float(values.min()), float(values.max()), int((values == 0).sum()), 0, 0),
        np.bincount(float_bins(values), minlength=FLOAT_BINS),
    )


@pytest.mark.parametrize("middle", [0.0, 0.3, -40.0])
def test_each_bar_counts_exactly(middle: float) -> None:
    values = np.random.default_rng(0).normal(middle, 1, 10_000).astype(np.float32)
    chart = corpus_histogram(sums_of(values))
    assert chart is not None
    (bars,) = chart.series
    wanted = np.histogram(values, chart.edges)[0]
    assert list(bars.counts) == wanted.tolist()
    assert chart.edges[0] <= np.quantile(values, 0.001)
    assert chart.edges[-1] >= np.quantile(values, 0.999)
    areas = np.array(chart.heights(bars)) * np.diff(chart.edges)
    assert areas.sum() == pytest.approx(1)
    header, rows = chart.table()
    assert header == ("Value, from", "Value, to", "Elements")
    assert [row[2] for row in rows] == wanted.tolist()


def test_equal_values_have_no_histogram() -> None:
    assert corpus_histogram(sums_of(np.full(9, 0.5, np.float32))) is None


def test_zeros_are_counted_once() -> None:
    values = np.array([0] * 50 + [1, 2, 3, -1] * 10, np.float32)
    chart = corpus_histogram(sums_of(values))
    assert chart is not None
    assert sum(chart.series[0].counts) == values.size


def test_outliers_by_state() -> None:
    counts = np.array([[0, 4, 1], [2, 0, 4]])
    outliers = Outliers(counts, counts, np.zeros((2, 3), np.float32))
    manifest = {"sentences": 4, "tokens": 9, "states": [["embeddings", 0], None]}
    chart = outlier_chart(Corpus(manifest, (), {}, {}, outliers), outliers, (1, 2))
    assert chart.values.tolist() == [[1.0, 0.25], [0.0, 1.0]]
    assert chart.rows == ("emb", "0")
    assert chart.columns == ("1", "2")
    assert [place.path for place in chart.row_keys] == ["embeddings", None]
