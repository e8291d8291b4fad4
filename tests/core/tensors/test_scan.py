"""Statistics, norms and histograms of matrices are NumPy's."""

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
MOST = float(np.finfo(np.float64).max)


@pytest.fixture(autouse=True)
def _small_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TILE", 100)


@pytest.mark.parametrize("shape", [(37, 12), (3, 250), (1, 1), (90, 1)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8, np.uint16, np.int64, np.bool_])
def test_statistics_and_norms(shape: tuple[int, int], dtype: type) -> None:
    values: NDArray[Any] = RANDOM.normal(20, 30, shape).clip(0, 100).astype(dtype)
    found = scan(matrix(values))
    wide = values.astype(np.float64)
    assert found.statistics.count == values.size
    assert found.statistics.mean == pytest.approx(wide.mean(), rel=1e-5)
    assert found.statistics.std == pytest.approx(wide.std(), rel=1e-5, abs=1e-7)
    assert (found.statistics.min, found.statistics.max) == (values.min(), values.max())
    assert_allclose(found.row_norms, np.linalg.norm(wide, axis=1), rtol=1e-12)
    assert_allclose(found.column_norms, np.linalg.norm(wide, axis=0), rtol=1e-12)
    assert matrix_histogram(matrix(values), found.statistics).counts.sum() == values.size


def test_the_histogram_of_a_slice() -> None:
    values = RANDOM.normal(size=(41, 13)).astype(np.float32)
    part = Matrix(in_memory(values), rows=(5, 35), columns=(2, 11))
    counted = matrix_histogram(part, scan(part).statistics)
    counts, edges = np.histogram(values[5:35, 2:11], 64)
    assert_array_equal(counted.counts, counts)
    assert_allclose(counted.edges, edges, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("size", [1.0, 1e300])
def test_elements_that_are_not_finite(size: float) -> None:
    values = np.full((30, 10), size)
    values[3, 4], values[5, 6], values[7, 8] = np.nan, np.inf, -np.inf
    found = scan(matrix(values))
    assert (found.statistics.nan_count, found.statistics.inf_count) == (1, 2)
    assert found.statistics.mean == pytest.approx(size)
    assert np.isnan(found.row_norms[3])
    assert np.isinf(found.row_norms[[5, 7]]).all()
    assert found.row_norms[0] == pytest.approx(size * 10**0.5)
    counted = matrix_histogram(matrix(values), found.statistics)
    assert (counted.nan_count, counted.inf_count, counted.count) == (1, 2, 300)


def test_no_elements_and_only_nan() -> None:
    for values in (np.zeros((0, 4)), np.full((3, 4), np.nan)):
        found = scan(matrix(values))
        assert found.statistics.min is None
        counted = matrix_histogram(matrix(values), found.statistics)
        assert counted.counts.sum() == 0
        assert counted.count == values.size


def test_progress_and_cancelling() -> None:
    reported: list[tuple[int, int, str]] = []

    def progress(done: int, total: int, label: str) -> None:
        reported.append((done, total, label))
        if done == 2:
            raise Cancelled

    with pytest.raises(Cancelled):
        scan(matrix(np.zeros((100, 10))), progress, "Measuring")
    assert reported == [(number, 10, "Measuring") for number in range(3)]


@pytest.mark.parametrize("size", [1e-320, 1e-200, 1e-139, 1e139, 1e160, 1e300])
def test_extreme_sizes_are_measured_as_usual_ones(size: float) -> None:
    plain = RANDOM.normal(0.3, 2, (30, 10))
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


def test_the_largest_numbers_give_no_nan() -> None:
    signs = np.repeat([[1.0], [-1.0], [1.0]], 10, axis=0) * np.ones((30, 10))
    for values in (MOST * signs, np.full((30, 10), MOST)):
        found = scan(matrix(values))
        assert found.statistics.mean == pytest.approx((values[:, 0] / 64).mean() * 64)
        assert found.statistics.max == MOST
        assert np.isinf(found.row_norms).all()
        assert np.isinf(found.column_norms).all()
        counted = matrix_histogram(matrix(values), found.statistics)
        assert counted.counts.sum() == 300
        assert np.isfinite(counted.edges).all()
    assert found.statistics.std == pytest.approx(0.0, abs=1e-10 * MOST)
