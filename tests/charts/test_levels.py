"""Ranges of axes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertviewer.charts.levels import LEAST_SPAN, widened

NUMBERS = st.floats(-1e300, 1e300)


def test_widened() -> None:
    for low, high, expected in (
        (0.0, 1.0, (0.0, 1.0)),
        (-3.0, 5.0, (-3.0, 5.0)),
        (0.0, 0.0, (-0.5, 0.5)),
        (1000.0, 1000.0, (999.5, 1000.5)),
        (-2.0, -2.0, (-2.001, -1.999)),
        (1.0, 1.0 + 1e-7, (0.9995, 1.0005 + 1e-7)),
        (1e-9, 2e-9, (1e-9, 2e-9)),  # small, and no noise
    ):
        assert widened(low, high) == pytest.approx(expected, rel=1e-6, abs=1e-15)


@given(NUMBERS, NUMBERS)
def test_any_range_holds_its_values_and_is_never_empty(one: float, other: float) -> None:
    low, high = sorted((one, other))
    bottom, top = widened(low, high)
    assert bottom <= low
    assert top >= high
    if max(abs(low), abs(high)) > 1e-300:
        assert top > bottom
        assert top - bottom >= 0.99 * LEAST_SPAN * max(abs(low), abs(high))
        if high - low > LEAST_SPAN * max(abs(low), abs(high)):
            assert (bottom, top) == (low, high)
