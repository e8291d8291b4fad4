"""Statistics, norms and histograms of tensors."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray

from bertviewer.core.tensors import matrix as module
from bertviewer.core.tensors.matrix import Matrix
from bertviewer.core.tensors.scan import matrix_histogram, scan
from bertviewer.core.util.errors import Cancelled
from tests.core.tensors.made_up import in_memory, matrix

RANDOM = np.random.default_rng(3)


@pytest.fixture(autouse=True)
def _small_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TILE", 100)


@pytest.mark.parametrize("shape", [(37, 12), (3, 250), (1, 1), (90, 1)])
def test_a_survey_is_what_numpy_says(shape: tuple[int, int]) -> None:
    values = RANDOM.normal(0.3, 2, shape).astype(np.float32)
    found = scan(matrix(values))
    wide = values.astype(np.float64)
    statistics = found.statistics
    assert statistics.count == values.size
    assert statistics.mean == pytest.approx(wide.mean(), rel=1e-5)
    assert statistics.std == pytest.approx(wide.std(), rel=1e-5, abs=1e-7)
    assert (statistics.min, statistics.max) == (values.min(), values.max())
    assert_allclose(found.row_norms, np.linalg.norm(wide, axis=1), rtol=1e-12)
    assert_allclose(found.column_norms, np.linalg.norm(wide, axis=0), rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int64, np.bool_, np.float64])
def test_every_dtype_can_be_surveyed(dtype: type) -> None:
    values: NDArray[Any] = RANDOM.integers(0, 100, (20, 9)).astype(dtype)
    found = scan(matrix(values))
    assert found.statistics.mean == pytest.approx(values.astype(float).mean())
    assert_allclose(found.row_norms, np.linalg.norm(values.astype(float), axis=1))
    counted = matrix_histogram(matrix(values), found.statistics)
    assert counted.counts.sum() == values.size


def test_what_is_not_finite_is_counted_apart() -> None:
    values = RANDOM.normal(size=(30, 10))
    values[3, 4], values[5, 6], values[7, 8] = np.nan, np.inf, -np.inf
    found = scan(matrix(values))
    assert (found.statistics.nan_count, found.statistics.inf_count) == (1, 2)
    assert np.isnan(found.row_norms[3])
    assert np.isinf(found.row_norms[5])
    counted = matrix_histogram(matrix(values), found.statistics)
    assert (counted.nan_count, counted.inf_count, counted.count) == (1, 2, 300)


def test_a_histogram_is_numpys() -> None:
    values = RANDOM.normal(size=(41, 13)).astype(np.float32)
    part = Matrix(in_memory(values), rows=(5, 35), columns=(2, 11))
    counted = matrix_histogram(part, scan(part).statistics)
    counts, edges = np.histogram(values[5:35, 2:11], 64)
    assert_array_equal(counted.counts, counts)
    assert_allclose(counted.edges, edges, rtol=1e-6, atol=1e-6)


def test_nothing_and_only_nan_have_a_survey_too() -> None:
    for values in (np.zeros((0, 4)), np.full((3, 4), np.nan)):
        found = scan(matrix(values))
        assert found.statistics.min is None
        counted = matrix_histogram(matrix(values), found.statistics)
        assert counted.counts.sum() == 0
        assert counted.count == values.size


def test_a_survey_can_be_cancelled() -> None:
    told: list[tuple[int, int, str]] = []

    def progress(done: int, total: int, label: str) -> None:
        told.append((done, total, label))
        if done == 2:
            raise Cancelled

    with pytest.raises(Cancelled):
        scan(matrix(np.zeros((100, 10))), progress, "Measuring")
    assert told == [(0, 10, "Measuring"), (1, 10, "Measuring"), (2, 10, "Measuring")]


MOST = float(np.finfo(np.float64).max)


@pytest.mark.parametrize("size", [1e-320, 1e-200, 1e-139, 1e139, 1e160, 1e300])
def test_elements_of_extreme_sizes_are_measured_in_their_own_unit(size: float) -> None:
    plain = RANDOM.normal(0.3, 2, (30, 10))  # several tiles
    plain[0, 0] = 0.0
    values = plain * size
    found, usual = scan(matrix(values)), scan(matrix(plain))
    digits = 1e-2 if size < 1e-310 else 1e-10
    for name in ("mean", "std", "rms"):
        figure, unscaled = (getattr(one.statistics, name) for one in (found, usual))
        assert figure == pytest.approx(unscaled * size, rel=digits, abs=0)
    assert (found.statistics.min, found.statistics.max) == (values.min(), values.max())
    assert (found.statistics.zero_count, found.statistics.count) == (1, 300)
    assert_allclose(found.row_norms, usual.row_norms * size, rtol=digits)
    assert_allclose(found.column_norms, usual.column_norms * size, rtol=digits)


def test_the_largest_elements_there_are_give_no_nan() -> None:
    signs = np.repeat([[1.0], [-1.0], [1.0]], 10, axis=0) * np.ones((30, 10))
    for values in (MOST * signs, np.full((30, 10), MOST)):
        found = scan(matrix(values))
        assert found.statistics.mean == pytest.approx((values[:, 0] / 64).mean() * 64)
        assert found.statistics.max == MOST
        # No float is as large as these.
        assert np.isinf(found.row_norms).all()
        assert np.isinf(found.column_norms).all()
        counted = matrix_histogram(matrix(values), found.statistics)
        assert counted.counts.sum() == 300
        assert np.isfinite(counted.edges).all()
    assert found.statistics.std == pytest.approx(0.0, abs=1e-10 * MOST)


def test_what_is_not_finite_beside_the_largest() -> None:
    values = np.full((30, 10), 1e300)
    values[3, 4], values[5, 6] = np.nan, -np.inf
    found = scan(matrix(values))
    assert (found.statistics.nan_count, found.statistics.inf_count) == (1, 1)
    assert found.statistics.mean == pytest.approx(1e300)
    assert [np.isnan(found.row_norms[3]), np.isinf(found.row_norms[5])] == [True, True]
    assert found.row_norms[0] == pytest.approx(1e300 * 10**0.5)
