"""Histograms of one tensor are NumPy's; those of a corpus have bins for all of float32."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from bertviewer.core.statistics.histograms import (
    FLOAT_BINS,
    counts_between,
    distance,
    float_bins,
    float_edges,
    histogram,
    in_order,
    quantiles,
)

RANDOM = np.random.default_rng(7)


@pytest.mark.parametrize(
    "values",
    [
        np.array([[1.0, np.nan, 3.0], [np.inf, -np.inf, np.nan]], dtype=np.float32),
        np.array([3, 3, 7, 100]),
        np.array([True, False, True]),
    ],
)
def test_finite_values_are_counted_as_by_numpy(values: np.ndarray) -> None:
    finite = values[np.isfinite(values)].astype(np.float64)
    found = histogram(values)
    counts, edges = np.histogram(finite, 64)
    assert found.counts.tolist() == counts.tolist()
    assert found.edges == pytest.approx(edges)
    assert found.nan_count == np.isnan(values).sum()
    assert found.inf_count == np.isinf(values).sum()
    assert (found.count, found.outside) == (values.size, 0)


@pytest.mark.parametrize("value", [0.0, -2.5, 1e20, -3e38, 1e-40])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_equal_values(value: float, dtype: Any) -> None:
    found = histogram(np.full(7, value, dtype=dtype))
    assert found.counts.max() == found.counts.sum() == 7
    assert found.edges[0] < value < found.edges[-1]
    if abs(value) < 1e5:
        assert found.edges == pytest.approx(np.histogram(np.full(7, value), 64)[1])


@pytest.mark.parametrize(
    "values", [np.empty(0, dtype=np.float32), np.array([np.nan, np.inf]), np.empty((1, 0, 4))]
)
def test_nothing_to_count(values: np.ndarray) -> None:
    found = histogram(values)
    assert found.counts.sum() == 0
    assert found.edges[[0, -1]].tolist() == [0.0, 1.0]
    assert len(found.edges) == 65
    assert found.nan_count + found.inf_count == found.count == values.size


@settings(max_examples=60)
@given(
    arrays.arrays(np.float32, st.integers(0, 20), elements=st.floats(width=32)),
    arrays.arrays(np.float64, st.integers(0, 20), elements=st.floats()),
)
def test_any_values(single: np.ndarray, double: np.ndarray) -> None:
    for found in (histogram(single), histogram(double)):
        assert np.isfinite(found.edges).all()
        assert (np.diff(found.edges) > 0).all()
        assert found.outside == 0


def test_float_bins_are_in_ascending_order() -> None:
    order, ends = float_edges()
    assert len(ends) == len(order) + 1
    assert (np.diff(ends) > 0).all()
    values = np.sort(RANDOM.normal(size=1000) * 10.0 ** RANDOM.integers(-44, 38, 1000))
    values = np.append(values, [-3e38, 3e38, 1e-42]).astype(np.float32)
    place_of_bin = np.zeros(FLOAT_BINS, np.int64)
    place_of_bin[order] = np.arange(len(order))
    places = place_of_bin[float_bins(values)]
    assert (ends[places] <= values).all()
    assert (values <= ends[places + 1]).all()


@pytest.mark.parametrize("zeros", [0.0, 0.4])
def test_quantiles_are_numpys_up_to_the_width_of_a_bin(zeros: float) -> None:
    values = RANDOM.normal(1.0, 2.0, 20_000).astype(np.float32)
    values[RANDOM.random(len(values)) < zeros] = 0
    counts = np.bincount(float_bins(values), minlength=FLOAT_BINS)
    count = int((values == 0).sum())
    shares = np.array([0.0, 0.01, 0.2, 0.5, 0.9, 0.99, 1.0])
    found = quantiles(counts, shares, values.min(), values.max(), count)
    wanted = np.quantile(values, shares)
    assert (np.abs(found - wanted) <= 0.25 * np.abs(wanted) + 1e-3).all()
    assert (found[0], found[-1]) == (values.min(), values.max())
    assert in_order(counts).sum() == len(values)
    between = counts_between(counts, np.array([-np.inf, -8.0, 0.0, 8.0, np.inf]), count)
    assert between.sum() == pytest.approx(len(values))
    assert between[2] == pytest.approx(((values > 0) & (values <= 8)).sum(), abs=1)


def test_distances_of_histograms() -> None:
    left, right = np.zeros(FLOAT_BINS, np.int64), np.zeros(FLOAT_BINS, np.int64)
    left[3], right[4] = 10, 99
    assert distance(left, 5 * left) == 0
    assert distance(left, right) == distance(left, 0 * left) == 1
    assert 0 < distance(left, left + right) < 1
