"""Singular values and ranks are NumPy's for the whole matrix."""

import math

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

from bertviewer.core.tensors import spectrum as module
from bertviewer.core.tensors.matrix import Matrix
from bertviewer.core.tensors.parameters import from_tensor
from bertviewer.core.tensors.spectrum import Spectrum, singular_values, svd_cost
from bertviewer.core.tensors.values import Origin
from bertviewer.core.util.errors import Cancelled, UserError
from tests.core.tensors.made_up import matrix

RANDOM = np.random.default_rng(9)


def of_torch(tensor: torch.Tensor) -> Spectrum:
    return singular_values(Matrix(from_tensor("made.up", tensor, Origin("drawn"))))


@pytest.mark.parametrize("shape", [(40, 40), (500, 12), (12, 500), (64, 1), (1, 9), (1, 1)])
def test_singular_values(shape: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TILE", 300)
    values = RANDOM.normal(size=shape)
    expected = np.linalg.svd(values, compute_uv=False)
    assert_allclose(singular_values(matrix(values)).values, expected, rtol=1e-11)


def test_norms_and_ranks_of_known_singular_values() -> None:
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
    # Squares that exceed float64.
    huge = singular_values(matrix(np.diag([4e200, 3e200])))
    assert huge.norm == pytest.approx(5e200)
    assert huge.rank_for_share() == 2
    assert huge.stable_rank == pytest.approx(25 / 16)


def test_zeros_have_no_ranks() -> None:
    found = singular_values(matrix(np.zeros((4, 3))))
    assert found.values.tolist() == [0, 0, 0]
    assert (found.effective_rank, found.stable_rank, found.condition) == (None, None, None)
    assert (found.rank_for_share(), found.rank) == (None, 0)


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        (np.zeros((0, 3)), r"made\.up has no elements"),
        (np.array([[1.0, np.inf]]), r"made\.up contains NaN or Inf"),
        (np.broadcast_to(0.0, (9000, 9000)), "too large for singular values: 9,000 × 9,000"),
        *((np.full(shape, 1.7e308), "too large for float64") for shape in ((30, 10), (5, 5))),
    ],
)
def test_matrices_without_singular_values(values: np.ndarray, reason: str) -> None:
    for each in (values, values.T):
        with pytest.raises(UserError, match=reason):
            singular_values(matrix(each))


def test_progress_and_cancelling(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TILE", 100)

    def progress(done: int, total: int, label: str) -> None:
        assert (total, label) == (11, "Decomposing")
        if done == 3:
            raise Cancelled

    with pytest.raises(Cancelled):
        singular_values(matrix(np.ones((100, 10))), progress, "Decomposing")


def test_cost() -> None:
    assert svd_cost((768, 768)) == 4 * 768**3
    assert svd_cost((30522, 768)) == svd_cost((768, 30522)) == 4 * 30522 * 768**2


@pytest.mark.parametrize("rank", [1, 3, 20])
def test_the_rank_is_numpys(rank: int) -> None:
    values = RANDOM.normal(size=(50, rank)) @ RANDOM.normal(size=(rank, 20))
    for each in (values, values.astype(np.float32)):
        found = singular_values(matrix(each))
        assert found.rank == np.linalg.matrix_rank(each) == rank
        assert (found.condition is None) is (rank < 20)
    assert singular_values(matrix(np.diag([4.0, 1e-9]))).rank == 2


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("rank", [1, 2])
def test_rounding_to_16_bits_does_not_raise_the_rank(dtype: torch.dtype, rank: int) -> None:
    product = torch.tensor(RANDOM.normal(size=(60, rank)) @ RANDOM.normal(size=(rank, 40)))
    assert of_torch(product.to(dtype)).rank == rank
    assert of_torch(torch.eye(40).to(dtype)).rank == 40
