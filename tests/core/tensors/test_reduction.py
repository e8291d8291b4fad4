"""Maps of large matrices: the mean and the extreme of each block."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from bertviewer.core.tensors import matrix as module
from bertviewer.core.tensors.reduction import tensor_map
from tests.core.tensors.made_up import matrix

RANDOM = np.random.default_rng(5)
MOST = float(np.finfo(np.float64).max)


@pytest.mark.parametrize("tile", [17, 400, 1 << 20])
@pytest.mark.parametrize("shape", [(53, 31), (8, 90), (90, 8), (1, 40), (40, 1)])
def test_blocks_have_the_mean_and_the_extreme_of_their_elements(
    shape: tuple[int, int], tile: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "TILE", tile)
    values = RANDOM.normal(size=shape)
    found = tensor_map(matrix(values), (0, shape[0]), (0, shape[1]), most=10)
    for size, blocks in zip(shape, found.means.shape, strict=True):
        assert min(5, size) <= blocks <= 10
    assert found.row_edges[-1] == shape[0]
    for i, (top, bottom) in enumerate(pairwise(found.row_edges)):
        for j, (left, right) in enumerate(pairwise(found.column_edges)):
            block = values[top:bottom, left:right]
            assert found.means[i, j] == pytest.approx(block.mean())
            assert found.extremes[i, j] == block.ravel()[np.abs(block).argmax()]


def test_a_small_region_is_exact() -> None:
    values = RANDOM.normal(size=(300, 400)).astype(np.float32)
    found = tensor_map(matrix(values), (100, 150), (390, 400), most=64)
    assert found.is_exact
    assert_array_equal(found.means, values[100:150, 390:400])
    assert_array_equal(found.extremes, found.means)
    assert found.row_edges[0] == 100
    assert not tensor_map(matrix(values), (0, 300), (0, 400), most=64).is_exact
    assert tensor_map(matrix(np.zeros((0, 3))), (0, 0), (0, 3)).means.shape == (0, 3)


def test_elements_that_are_not_finite_are_left_out() -> None:
    values = np.array([[1.0, np.nan], [np.inf, 3.0], [np.nan, np.nan], [np.nan, -np.inf]])
    found = tensor_map(matrix(values), (0, 4), (0, 2), most=2)
    assert_array_equal(found.means, np.array([[1, 3], [np.nan, np.nan]]))
    assert_array_equal(found.extremes, found.means)
    assert found.nonfinite == 6
    assert tensor_map(matrix(values), (0, 2), (0, 2)).nonfinite == 2


@pytest.mark.parametrize("tile", [7, 1 << 20])
def test_means_of_the_largest_numbers(tile: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TILE", tile)
    values = np.full((20, 10), MOST)
    values[10:, 5:] = -MOST
    found = tensor_map(matrix(values), (0, 20), (0, 10), most=2)
    assert_array_equal(found.means, [[MOST, MOST], [MOST, -MOST]])
    assert_array_equal(found.extremes, found.means)
