"""Singular values, compared with numpy on the whole matrix."""

import math

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

from bertviewer.core.tensors import spectrum as module
from bertviewer.core.tensors.matrix import Matrix
from bertviewer.core.tensors.parameters import from_tensor
from bertviewer.core.tensors.spectrum import singular_values, svd_cost
from bertviewer.core.tensors.values import Origin
from bertviewer.core.util.errors import Cancelled, UserError
from tests.core.tensors.made_up import matrix

RANDOM = np.random.default_rng(9)


@pytest.mark.parametrize("shape", [(40, 40), (500, 12), (12, 500), (64, 1), (1, 9), (1, 1)])
def test_singular_values_are_numpys(
    shape: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "TILE", 300)
    values = RANDOM.normal(size=shape)
    expected = np.linalg.svd(values, compute_uv=False)
    assert_allclose(singular_values(matrix(values)).values, expected, rtol=1e-11)


def test_figures_of_a_matrix_of_known_values() -> None:
    basis, _ = np.linalg.qr(RANDOM.normal(size=(50, 50)))
    known = np.zeros((80, 50))
    known[:50] = basis @ np.diag([4.0, 2.0, 2.0, *[0.0] * 47])
    found = singular_values(matrix(known))
    assert_allclose(found.values[:3], [4, 2, 2], rtol=1e-12)
    assert found.largest == pytest.approx(4)
    assert found.norm == pytest.approx(math.sqrt(24))
    assert found.stable_rank == pytest.approx(24 / 16)
    # The entropy of 1/2, 1/4, 1/4 is 1.5 · ln 2.
    assert found.effective_rank == pytest.approx(2**1.5)
    assert (found.rank_for_share(0.5), found.rank_for_share(0.9)) == (1, 3)
    rotation = singular_values(matrix(basis * 3))
    assert rotation.effective_rank == pytest.approx(50)
    assert rotation.condition == pytest.approx(1)


def test_zeros_have_no_ranks() -> None:
    found = singular_values(matrix(np.zeros((4, 3))))
    assert found.values.tolist() == [0, 0, 0]
    assert (found.effective_rank, found.stable_rank, found.condition) == (None, None, None)
    assert found.rank_for_share() is None


def test_what_has_none_is_told() -> None:
    with pytest.raises(UserError, match=r"made\.up has no elements"):
        singular_values(matrix(np.zeros((0, 3))))
    with pytest.raises(UserError, match=r"made\.up contains NaN or Inf"):
        singular_values(matrix(np.array([[1.0, np.inf]])))
    with pytest.raises(UserError, match="too large for singular values: 9,000 × 9,000"):
        singular_values(matrix(np.broadcast_to(0.0, (9000, 9000))))


def test_it_can_be_cancelled_between_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TILE", 100)

    def progress(done: int, total: int, label: str) -> None:
        assert (total, label) == (11, "Decomposing")
        if done == 3:
            raise Cancelled

    with pytest.raises(Cancelled):
        singular_values(matrix(np.ones((100, 10))), progress, "Decomposing")


def test_cost_grows_with_the_smaller_side_twice() -> None:
    assert svd_cost((768, 768)) == 4 * 768**3
    assert svd_cost((30522, 768)) == svd_cost((768, 30522)) == 4 * 30522 * 768**2


def test_what_rounding_leaves_of_a_zero_is_no_rank() -> None:
    product = np.outer(np.arange(1.0, 9), np.arange(1.0, 7))
    found = singular_values(matrix(product))
    assert (found.rank, found.condition) == (1, None)
    assert singular_values(matrix(np.diag([4.0, 1e-9]))).rank == 2
    assert singular_values(matrix(np.zeros((4, 3)))).rank == 0


def test_squares_may_be_too_large_for_floats() -> None:
    found = singular_values(matrix(np.diag([4e200, 3e200])))
    assert found.norm == pytest.approx(5e200)
    assert found.rank_for_share() == 2
    assert found.stable_rank == pytest.approx(25 / 16)


@pytest.mark.parametrize("shape", [(30, 10), (10, 30), (5, 5)])
def test_singular_values_that_no_float_holds_are_refused(shape: tuple[int, int]) -> None:
    with pytest.raises(UserError, match="too large for float64"):
        singular_values(matrix(np.full(shape, 1.7e308)))


@pytest.mark.parametrize("rank", [1, 3, 20])
def test_the_rank_of_float32_is_numpys(rank: int) -> None:
    values = (RANDOM.normal(size=(50, rank)) @ RANDOM.normal(size=(rank, 20))).astype(np.float32)
    found = singular_values(matrix(values))
    assert found.rank == np.linalg.matrix_rank(values) == rank
    assert (found.condition is None) is (rank < 20)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("rank", [1, 2])
def test_the_rank_of_what_was_rounded_to_16_bits(dtype: torch.dtype, rank: int) -> None:
    product = torch.tensor(RANDOM.normal(size=(60, rank)) @ RANDOM.normal(size=(rank, 40)))
    values = from_tensor("made.up", product.to(dtype), Origin("drawn"))
    assert singular_values(Matrix(values)).rank == rank
    full = from_tensor("made.up", torch.eye(40).to(dtype), Origin("drawn"))
    assert singular_values(Matrix(full)).rank == 40
