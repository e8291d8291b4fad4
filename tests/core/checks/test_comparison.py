"""Which differences between a recorded and a recomputed tensor are rounding errors."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from bertviewer.core.checks.comparison import (
    FACTOR,
    FLOOR,
    Deviation,
    Triple,
    compare,
    compare_each,
)

F32 = torch.float32


def tensor(*values: float, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.tensor(values, dtype=dtype)


def deviation(
    exact: Tensor, rough: Tensor, actual: Tensor, *inputs: Tensor, stored: torch.dtype = F32
) -> Deviation:
    found = compare(exact, rough, actual, inputs, stored)
    assert found is not None
    return found


def test_the_tolerance_is_a_multiple_of_the_rounding_error() -> None:
    exact, rough = tensor(1.0, 2.0), tensor(1.0, 2.0 + 1e-6)
    near = deviation(exact, rough, tensor(1.0 + FACTOR * 0.9e-6, 2.0))
    far = deviation(exact, rough, tensor(1.0 + FACTOR * 1.1e-6, 2.0))
    assert (near.ok, far.ok) == (True, False)
    assert near.tolerance == pytest.approx(FACTOR * 1e-6)
    assert far.error == pytest.approx(FACTOR * 1.1e-6)


def test_the_tolerance_is_at_least_a_few_units_in_the_last_place() -> None:
    eps = torch.finfo(F32).eps
    eight = tensor(8.0)
    assert deviation(eight, eight, eight).tolerance == FLOOR * eps * 8
    # Few values may be small differences of larger inputs; the first input alone counts.
    assert deviation(eight, eight, eight, tensor(32.0)).tolerance == FLOOR * eps * 32
    assert deviation(eight, eight, eight, tensor(4.0), tensor(1e9)).tolerance == FLOOR * eps * 8
    many = torch.full((64,), 8.0, dtype=torch.float64)
    assert deviation(many, many, many, tensor(32.0)).tolerance == FLOOR * eps * 8


@pytest.mark.parametrize(
    ("exact", "actual", "ok"),
    [
        ((math.nan, 1.0), (math.nan, 1.0), True),
        ((math.nan, 1.0), (1.0, math.nan), False),
        ((math.inf, 1.0), (math.inf, 1.0), True),
        ((math.inf, 1.0), (-math.inf, 1.0), False),
        ((0.0, 1.0), (math.nan, 1.0), False),
        ((math.nan, 1.0), (math.nan, 2.0), False),
        ((math.nan, math.inf), (0.0, 1.0), False),
    ],
)
def test_nan_and_inf_are_at_the_same_places(
    exact: tuple[float, ...], actual: tuple[float, ...], ok: bool
) -> None:
    found = deviation(tensor(*exact), tensor(*exact), tensor(*actual, dtype=F32))
    assert found.ok is ok
    assert math.isfinite(found.tolerance)
    assert found.error is None or math.isfinite(found.error)


def test_without_finite_values_nothing_is_compared() -> None:
    nan = tensor(math.nan, math.inf)
    assert compare(nan, nan, nan.to(F32), (), F32) is None


def test_an_overflow_of_half_precision_is_equal() -> None:
    exact = tensor(70_000.0, 1.0)
    actual = exact.to(torch.float16)
    assert deviation(exact, actual.double(), actual, stored=torch.float16).ok


def features(*large: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return 128 features in bfloat16, some of them 10,000 times larger than the others."""
    exact = torch.randn(3, 128, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    exact[:, large] *= 10_000
    actual = exact.to(torch.bfloat16)
    return exact, actual.double(), actual


def test_a_few_large_features_do_not_hide_errors_in_the_others() -> None:
    exact, rough, actual = features(5)
    correct = deviation(exact, rough, actual, stored=torch.bfloat16)
    assert correct.ok
    assert correct.error == float((exact - actual.double()).abs().max())
    wrong = actual.clone()
    wrong[:, 20:40] *= 1.5
    found = deviation(exact, rough, wrong, stored=torch.bfloat16)
    assert not found.ok
    assert found.error is not None
    assert found.tolerance < found.error < 3
    # An error in the large feature is reported with its own size.
    actual[:, 5] *= 1.5
    large = deviation(exact, rough, actual, stored=torch.bfloat16)
    assert not large.ok
    assert large.error is not None
    assert large.error > 1000


def test_many_large_features_are_not_outliers() -> None:
    exact, rough, actual = features(*range(60))
    found = deviation(exact, rough, actual, stored=torch.bfloat16)
    assert found.tolerance == FACTOR * float((exact - rough).abs().max())


@pytest.mark.parametrize(
    "triple",
    [
        Triple(torch.zeros(2, 3), torch.zeros(2, 3), torch.zeros(3, 2)),
        Triple(tensor(1), tensor(1), None),
    ],
)
def test_another_shape_or_a_missing_tensor_is_a_cross(triple: Triple) -> None:
    found = compare_each([triple], (), F32)
    assert found is not None
    assert (found.ok, found.error) == (False, None)


def test_no_tensors_are_no_comparison() -> None:
    assert compare_each([], (), F32) is None


@given(st.lists(st.floats(-1e3, 1e3), min_size=3, max_size=40), st.integers(0, 2**16))
@settings(max_examples=60)
def test_a_sum_in_another_order_is_equal(values: list[float], seed: int) -> None:
    """Dot products in float32 depend on the order of their terms."""
    x = torch.tensor(values, dtype=F32)
    weight = torch.randn(80, len(values), generator=torch.Generator().manual_seed(seed))
    exact = x.double() @ weight.double().T
    rough = (x @ weight.T).double()
    actual = (x.flip(0)[None] * weight.flip(1)).sum(1)
    assert deviation(exact, rough, actual, x).ok
    wrong = actual + 1e-3 * actual.abs().max() + 1e-3
    assert not deviation(exact, rough, wrong, x).ok
