"""Ranges of values for axes and colours."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertviewer.charts.levels import (
    ANY,
    COSINES,
    LEAST_SPAN,
    PARTS,
    SIZES,
    Levels,
    constant_of,
    levels_of,
    log_levels,
    log_share,
    span_of,
    widened,
)

NAN, INF = float("nan"), float("inf")
LARGEST = 1.7976931348623157e308
NUMBERS = st.floats(-1e300, 1e300)


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.0, 1.0, (0.0, 1.0)),
        (-3.0, 5.0, (-3.0, 5.0)),
        (0.0, 0.0, (-0.5, 0.5)),
        (1000.0, 1000.0, (975.0, 1025.0)),
        (-2.0, -2.0, (-2.05, -1.95)),
        (1.0, 1.0 + 1e-7, (0.975, 1.025 + 1e-7)),
        (1e-9, 2e-9, (1e-9, 2e-9)),  # small, and no rounding error
    ],
)
def test_an_axis_has_a_least_span(low: float, high: float, expected: tuple[float, float]) -> None:
    assert widened(low, high) == pytest.approx(expected, rel=1e-6, abs=1e-15)


@given(NUMBERS, NUMBERS)
def test_a_widened_range_contains_its_values_and_is_never_empty(one: float, other: float) -> None:
    low, high = sorted((one, other))
    bottom, top = widened(low, high)
    assert bottom <= low
    assert top >= high
    largest = max(abs(low), abs(high))
    if largest > 1e-300:
        assert top > bottom
        assert top - bottom >= 0.99 * LEAST_SPAN * largest
        if high - low > LEAST_SPAN * largest:
            assert (bottom, top) == (low, high)


@pytest.mark.parametrize(
    ("low", "high", "bounds", "expected"),
    [
        (0.2, 0.9, COSINES, (0.0, 1.0)),
        (-1e-9, 1.0, COSINES, (0.0, 1.0)),
        (-0.1, 0.3, COSINES, (-1.0, 1.0)),
        (0.3, 0.998, PARTS, (0.0, 1.0)),
        (0.01, 0.16, PARTS, (0.0, 0.2)),
        (0.0, 0.05, PARTS, (0.0, 0.05)),
        (0.0, 3e-9, PARTS, (0.0, 5e-9)),
        (0.0, 0.0, PARTS, (0.0, 1.0)),
        (5.0, 14.0, SIZES, (5.0, 14.0)),
        (-1.0, 2.0, ANY, (-1.0, 2.0)),
    ],
)
def test_values_of_a_kind_have_its_scale(
    low: float, high: float, bounds: Levels, expected: Levels
) -> None:
    assert span_of(low, high, bounds) == expected


def test_a_scale_does_not_show_rounding() -> None:
    low, high = span_of(-7e-9, 8e-9, scale=1.0)  # means of elements of about 1
    assert high - low == pytest.approx(1e-3)
    assert span_of(-1e-8, 2e-8, is_signed=True, scale=30.0) == (-0.03, 0.03)
    assert constant_of(np.array([1.0, 1.0 + 1e-6, NAN])) == pytest.approx(1.0, abs=1e-6)
    assert constant_of(np.array([-7e-9, 8e-9]), scale=1.0) == 0.0
    for values in ([NAN, INF], [], [1.0, 1.01], [-7e-9, 8e-9]):
        assert constant_of(np.array(values)) is None


@pytest.mark.parametrize(
    ("values", "is_signed", "expected"),
    [
        ([1.0, 3.0, NAN, INF], False, (1.0, 3.0)),
        ([-1.0, 3.0], True, (-3.0, 3.0)),
        ([-4.0, NAN, -1.0], True, (-4.0, 4.0)),
        ([NAN, INF], False, (0.0, 1.0)),
        ([0.0, 0.0], True, (-1.0, 1.0)),
        ([], False, (0.0, 1.0)),
    ],
)
def test_colours_cover_the_finite_values(
    values: list[float], is_signed: bool, expected: tuple[float, float]
) -> None:
    assert levels_of(np.array(values), is_signed) == expected


def test_colours_of_equal_values_have_a_range() -> None:
    low, high = levels_of(np.array([5.0, 5.0 + 1e-9]))
    assert high - low > 1e-3
    low, high = levels_of(np.full((1, 2), LARGEST))
    assert low < high == LARGEST
    assert widened(-LARGEST, -LARGEST)[0] == -LARGEST


def test_an_outlier_leaves_logarithmic_colours_to_the_others() -> None:
    levels = log_levels([0.001, 0.01, 37.44, 0.0])
    assert levels == (0.001, 37.44)
    shares = [log_share(value, levels) for value in (0.0, 0.001, 0.01, 37.44)]
    assert (shares[0], shares[3]) == (0, 1)
    assert shares[2] - shares[1] > 0.2
    low, high = log_levels([*(0.01 * number for number in range(1, 100)), 37_440.0])
    assert low == 0.01
    assert 0.99 < high < 10
    assert log_levels([]) == (0.1, 1.0)
    assert log_levels([5.0]) == (0.5, 5.0)
