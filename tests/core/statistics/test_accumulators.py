"""Sums by the C module and by numpy, and histograms."""

import numpy as np
import pytest

from bertviewer.core.statistics import row_statistics
from bertviewer.core.statistics.accumulators import FeatureSums, HeadSums, OutlierSums, arrays_of
from bertviewer.core.statistics.histograms import (
    FLOAT_BINS,
    distance,
    float_bins,
    float_edges,
    in_order,
    quantiles,
)
from bertviewer.core.statistics.row_statistics import is_compiled

COMPILED = "bertviewer.core.statistics.accumulators.compiled"
CHANCE = np.random.default_rng(7)


@pytest.fixture(params=["C", "numpy"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "C" and not is_compiled():
        pytest.skip("there was no compiler")
    if request.param == "numpy":
        monkeypatch.setattr(COMPILED, None)
    return str(request.param)


def odd_values() -> np.ndarray:
    values = CHANCE.normal(size=(50, 37)).astype(np.float32) * 3
    values[3, 5], values[4, 6], values[5, 7] = np.nan, np.inf, -np.inf
    values[6], values[7, 0], values[8, 0] = 0.0, -0.0, 1e-42
    values[9, 0], values[9, 1] = 3e38, -3e38
    return values


def test_rows(way: str) -> None:
    values = odd_values()
    rows = CHANCE.permutation(50)[:45].astype(np.int64)
    starts = np.array([0, 2, 2, 45], np.int64)
    found = FeatureSums.empty(3, 37)
    found.add(values, rows, starts)
    for one in range(3):
        own = values[rows[starts[one] : starts[one + 1]]].astype(np.float64)
        finite = np.where(np.isfinite(own), own, 0)
        assert found.totals[one] == pytest.approx(finite.sum(axis=0), rel=1e-12, abs=1e-300)
        assert found.squares[one] == pytest.approx((finite**2).sum(axis=0), rel=1e-12)
        assert found.left_out[one].tolist() == (~np.isfinite(own)).sum(axis=0).tolist()
        assert found.counts[one].tolist() == [
            len(own), (own == 0).sum(), np.isnan(own).sum(), np.isinf(own).sum()
        ]  # fmt: skip
        assert found.histogram[one].sum() == np.isfinite(own).sum()
    assert found.mins[1].tolist() == [np.inf] * 37


def test_c_and_numpy_give_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    if not is_compiled():
        pytest.skip("there was no compiler")
    values, rows = odd_values(), np.arange(50, dtype=np.int64)
    starts = np.array([0, 7, 50], np.int64)
    both = []
    for compiled in (row_statistics.compiled, None):
        monkeypatch.setattr(COMPILED, compiled)
        found = FeatureSums.empty(2, 37)
        found.add(values, rows, starts)
        found.add(values, rows, starts)
        both.append({name: array.tobytes() for name, array in arrays_of(found).items()})
    assert both[0] == both[1]


def test_heads_leave_out_padding_and_what_is_no_number(way: str) -> None:
    shares = CHANCE.dirichlet(np.ones(11), size=(2, 3, 11)).astype(np.float32)
    shares[0, 1, 4, 2] = np.nan
    lengths = np.array([11, 6], np.int64)
    shares[1, :, :, 6:] = 99.0
    is_cls, is_sep = np.zeros((2, 11), np.float32), np.zeros((2, 11), np.float32)
    is_cls[:, 0] = is_sep[[0, 1], lengths - 1] = 1
    found = HeadSums.empty(3)
    found.add(shares, lengths, is_cls, is_sep)
    queries, entropy, distance_, cls, sep = found.sums.T
    assert queries.tolist() == [17, 16, 17]
    p = [shares[0, 0].astype(float), shares[1, 0, :6, :6].astype(float)]
    assert entropy[0] == pytest.approx(sum(-(x * np.log(x)).sum() for x in p), rel=1e-6)
    apart = [np.abs(np.subtract.outer(np.arange(len(x)), np.arange(len(x)))) for x in p]
    wanted = sum((x * a).sum() for x, a in zip(p, apart, strict=True))
    assert distance_[0] == pytest.approx(wanted, rel=1e-6)
    assert cls[0] == pytest.approx(sum(x[:, 0].sum() for x in p), rel=1e-6)
    assert sep[0] == pytest.approx(sum(x[:, -1].sum() for x in p), rel=1e-6)


def test_outliers_are_those_of_their_sentence(way: str) -> None:
    states = CHANCE.normal(size=(2, 20, 40)).astype(np.float32)
    states[0, 3, 7], states[0, 4, 7], states[1, 15, 9] = 60.0, -70.0, 1e9
    states[0, 0, 0] = np.nan
    found = OutlierSums.empty(40)
    found.add(states, np.array([20, 10], np.int64))  # the last is padding
    assert np.flatnonzero(found.tokens).tolist() == [7]
    assert (found.tokens[7], found.sentences[7]) == (2, 1)
    assert -30 < found.farthest[7] < -6


def test_bins_are_in_order() -> None:
    order, ends = float_edges()
    assert len(ends) == len(order) + 1
    assert (np.diff(ends) > 0).all()
    values = np.sort(odd_values()[np.isfinite(odd_values())])
    places = {bin_: place for place, bin_ in enumerate(order.tolist())}
    found = np.array([places[int(bin_)] for bin_ in float_bins(values)])
    assert (np.diff(found[values != 0]) >= 0).all()
    not_zero = values != 0
    assert (ends[found[not_zero]] <= values[not_zero]).all()
    assert (values[not_zero] <= ends[found[not_zero] + 1]).all()


@pytest.mark.parametrize("zeros", [0.0, 0.4])
def test_quantiles(zeros: float) -> None:
    values = CHANCE.normal(1.0, 2.0, 20_000).astype(np.float32)
    values[CHANCE.random(len(values)) < zeros] = 0
    counts = np.bincount(float_bins(values), minlength=FLOAT_BINS)
    shares = np.array([0.0, 0.01, 0.2, 0.5, 0.9, 0.99, 1.0])
    found = quantiles(counts, shares, values.min(), values.max(), int((values == 0).sum()))
    wanted = np.quantile(values, shares)
    # No more than the width of a bin: a quarter.
    assert (np.abs(found - wanted) <= 0.25 * np.abs(wanted) + 1e-3).all()
    assert found[0], found[-1] == (values.min(), values.max())
    assert in_order(counts).sum() == len(values)


def test_distances() -> None:
    left, right = np.zeros(FLOAT_BINS, np.int64), np.zeros(FLOAT_BINS, np.int64)
    left[3], right[4] = 10, 99
    assert distance(left, 5 * left) == 0
    assert distance(left, right) == 1
    assert 0 < distance(left, left + right) < 1
