"""What counts as equal."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from bertviewer.core.checks.comparison import FACTOR, FLOOR, Triple, compare, compare_each

F32 = torch.float32


def tensor(*values: float, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.tensor(values, dtype=dtype)


def test_rounding_is_equal_and_more_is_not() -> None:
    exact, rough = tensor(1.0, 2.0), tensor(1.0, 2.0 + 1e-6)
    near = compare(exact, rough, tensor(1.0 + FACTOR * 0.9e-6, 2.0), (), F32)
    far = compare(exact, rough, tensor(1.0 + FACTOR * 1.1e-6, 2.0), (), F32)
    assert near is not None
    assert far is not None
    assert (near.ok, far.ok) == (True, False)
    assert near.tolerance == pytest.approx(FACTOR * 1e-6)
    assert far.error == pytest.approx(FACTOR * 1.1e-6)


def test_the_floor_is_a_few_units_in_the_last_place() -> None:
    found = compare(tensor(8.0), tensor(8.0), tensor(8.0), (), F32)
    assert found is not None
    assert found.tolerance == FLOOR * torch.finfo(F32).eps * 8


@pytest.mark.parametrize(
    ("exact", "actual", "ok"),
    [
        ((math.nan, 1.0), (math.nan, 1.0), True),
        ((math.nan, 1.0), (1.0, math.nan), False),
        ((math.inf, 1.0), (math.inf, 1.0), True),
        ((math.inf, 1.0), (-math.inf, 1.0), False),
        ((0.0, 1.0), (math.nan, 1.0), False),
        ((math.nan, 1.0), (math.nan, 2.0), False),
    ],
)
def test_what_is_not_finite(exact: tuple[float, ...], actual: tuple[float, ...], ok: bool) -> None:
    found = compare(tensor(*exact), tensor(*exact), tensor(*actual, dtype=F32), (), F32)
    assert found is not None
    assert found.ok is ok
    assert math.isfinite(found.tolerance)
    assert found.error is None or math.isfinite(found.error)


def test_an_overflow_of_half_precision_is_equal() -> None:
    exact = tensor(70_000.0, 1.0)
    actual = exact.to(torch.float16)
    found = compare(exact, actual.double(), actual, (), torch.float16)
    assert found is not None
    assert found.ok


def outlying(by: float) -> tuple[Tensor, Tensor, Tensor]:
    """Return 128 features, one of them ``by`` times larger, rounded to bfloat16 by two means."""
    exact = torch.randn(3, 128, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    exact[:, 5] *= by
    actual = exact.to(torch.bfloat16)
    return exact, actual.double(), actual


def test_a_few_huge_features_do_not_hide_the_others() -> None:
    exact, rough, actual = outlying(10_000)
    right = compare(exact, rough, actual, (), torch.bfloat16)
    assert right is not None
    assert right.ok
    assert right.error == float((exact - actual.double()).abs().max())
    wrong = actual.clone()
    wrong[:, 20:40] *= 1.5
    found = compare(exact, rough, wrong, (), torch.bfloat16)
    assert found is not None
    assert not found.ok
    assert found.error is not None
    assert found.tolerance < found.error < 3
    # What is told is right for the huge one as well.
    actual[:, 5] *= 1.5
    huge = compare(exact, rough, actual, (), torch.bfloat16)
    assert huge is not None
    assert not huge.ok
    assert huge.error is not None
    assert huge.error > 1000


def test_many_large_features_are_no_outliers() -> None:
    exact, rough, actual = outlying(1)
    exact[:, :60] *= 10_000
    rough, actual = exact.to(torch.bfloat16).double(), exact.to(torch.bfloat16)
    found = compare(exact, rough, actual, (), torch.bfloat16)
    assert found is not None
    assert found.tolerance == FACTOR * float((exact - rough).abs().max())


def test_other_shapes_are_a_cross() -> None:
    triple = Triple(torch.zeros(2, 3), torch.zeros(2, 3), torch.zeros(3, 2))
    found = compare_each([triple], (), F32)
    assert found is not None
    assert (found.ok, found.error) == (False, None)


def test_a_tensor_that_only_one_of_them_has_is_a_cross() -> None:
    found = compare_each([Triple(tensor(1), tensor(1), None)], (), F32)
    assert found is not None
    assert not found.ok
    assert compare_each([], (), F32) is None


def test_nothing_finite_is_no_comparison() -> None:
    nan = tensor(math.nan, math.inf)
    assert compare(nan, nan, nan.to(F32), (), F32) is None
    found = compare(nan, nan, tensor(0.0, 1.0, dtype=F32), (), F32)
    assert found is not None
    assert not found.ok


@given(st.lists(st.floats(-1e3, 1e3), min_size=3, max_size=40), st.integers(0, 2**16))
@settings(max_examples=60)
def test_a_sum_in_another_order_is_equal(values: list[float], seed: int) -> None:
    """Dot products in float32 differ by their order, and by no more than is allowed."""
    x = torch.tensor(values, dtype=F32)
    weight = torch.randn(80, len(values), generator=torch.Generator().manual_seed(seed))
    exact = x.double() @ weight.double().T
    rough = (x @ weight.T).double()
    actual = (x.flip(0)[None] * weight.flip(1)).sum(1)
    found = compare(exact, rough, actual, (x,), F32)
    assert found is not None
    assert found.ok, found
    worse = compare(exact, rough, actual + 1e-3 * actual.abs().max() + 1e-3, (x,), F32)
    assert worse is not None
    assert not worse.ok
