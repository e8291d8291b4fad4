"""Sums over many batches, by the C module and by NumPy with the same bits."""

import numpy as np
import pytest

from bertviewer.core.statistics import row_statistics
from bertviewer.core.statistics.accumulators import FeatureSums, HeadSums, OutlierSums, arrays_of
from bertviewer.core.statistics.row_statistics import is_compiled

COMPILED = "bertviewer.core.statistics.accumulators.compiled"
RANDOM = np.random.default_rng(7)


@pytest.fixture(params=["C", "NumPy"])
def _each_implementation(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "NumPy":
        monkeypatch.setattr(COMPILED, None)
    elif not is_compiled():
        pytest.skip("installed without a C compiler")


each_implementation = pytest.mark.usefixtures("_each_implementation")


def extreme_values() -> np.ndarray:
    values = RANDOM.normal(size=(50, 37)).astype(np.float32) * 3
    values[3, 5], values[4, 6], values[5, 7] = np.nan, np.inf, -np.inf
    values[6], values[7, 0], values[8, 0] = 0.0, -0.0, 1e-42
    values[9, 0], values[9, 1] = 3e38, -3e38
    return values


@each_implementation
def test_sums_of_features() -> None:
    values = extreme_values()
    rows = RANDOM.permutation(50)[:45].astype(np.int64)
    starts = np.array([0, 2, 2, 45], np.int64)
    found = FeatureSums.empty(3, 37)
    found.add(values, rows, starts)
    for one in range(3):
        own = values[rows[starts[one] : starts[one + 1]]].astype(np.float64)
        finite = np.where(np.isfinite(own), own, 0)
        assert found.totals[one] == pytest.approx(finite.sum(axis=0), rel=1e-12, abs=1e-300)
        assert found.squares[one] == pytest.approx((finite**2).sum(axis=0), rel=1e-12)
        assert found.left_out[one].tolist() == (~np.isfinite(own)).sum(axis=0).tolist()
        counts = len(own), (own == 0).sum(), np.isnan(own).sum(), np.isinf(own).sum()
        assert found.counts[one].tolist() == list(counts)
        assert found.histogram[one].sum() == np.isfinite(own).sum()
    assert found.mins[1].tolist() == [np.inf] * 37


def test_c_and_numpy_give_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    if not is_compiled():
        pytest.skip("installed without a C compiler")
    values, rows = extreme_values(), np.arange(50, dtype=np.int64)
    both = []
    for compiled in (row_statistics.compiled, None):
        monkeypatch.setattr(COMPILED, compiled)
        found = FeatureSums.empty(2, 37)
        for _ in range(2):
            found.add(values, rows, np.array([0, 7, 50], np.int64))
        both.append({name: array.tobytes() for name, array in arrays_of(found).items()})
    assert both[0] == both[1]


@each_implementation
def test_sums_of_heads_leave_out_padding_and_nan() -> None:
    weights = RANDOM.dirichlet(np.ones(11), size=(2, 3, 11)).astype(np.float32)
    weights[0, 1, 4, 2] = np.nan
    lengths = np.array([11, 6], np.int64)
    weights[1, :, :, 6:] = 99.0
    is_cls, is_sep = np.zeros((2, 11), np.float32), np.zeros((2, 11), np.float32)
    is_cls[:, 0] = is_sep[[0, 1], lengths - 1] = 1
    sums = HeadSums.empty(3)
    sums.add(weights, lengths, is_cls, is_sep)
    queries, entropy, distance, cls, sep = sums.sums.T
    assert queries.tolist() == [17, 16, 17]
    maps = [weights[0, 0].astype(float), weights[1, 0, :6, :6].astype(float)]
    apart = [np.abs(np.subtract.outer(np.arange(len(p)), np.arange(len(p)))) for p in maps]
    wanted = [
        sum(-(p * np.log(p)).sum() for p in maps),
        sum((p * a).sum() for p, a in zip(maps, apart, strict=True)),
        sum(p[:, 0].sum() for p in maps),
        sum(p[:, -1].sum() for p in maps),
    ]
    assert [entropy[0], distance[0], cls[0], sep[0]] == pytest.approx(wanted, rel=1e-6)


@each_implementation
def test_outliers_are_relative_to_their_sentence() -> None:
    states = RANDOM.normal(size=(2, 20, 40)).astype(np.float32)
    states[0, 3, 7], states[0, 4, 7], states[1, 15, 9] = 60.0, -70.0, 1e9
    states[0, 0, 0] = np.nan
    found = OutlierSums.empty(40)
    found.add(states, np.array([20, 10], np.int64))  # the last one is padding
    assert np.flatnonzero(found.tokens).tolist() == [7]
    assert (found.tokens[7], found.sentences[7]) == (2, 1)
    assert -30 < found.farthest[7] < -6
