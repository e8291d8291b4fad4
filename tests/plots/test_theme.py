"""Ranges of axes, and colours that can be told from their background."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtGui import QColor

from bertviewer.plots.theme import DARK, LEAST_SPAN, LIGHT, PlotTheme, widened

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


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_text_and_lines_stand_out(theme: PlotTheme) -> None:
    assert contrast(theme.foreground, theme.background) > 10
    assert contrast(theme.muted, theme.background) > 2.5
    for color in theme.series:
        assert contrast(color, theme.background) > 3
    for one, other in combinations(theme.series, 2):
        assert one != other


def contrast(one: str, other: str) -> float:
    """Return WCAG's contrast ratio of two colours, 1 to 21."""
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def luminance(name: str) -> float:
    color = QColor(name)
    parts = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in (color.redF(), color.greenF(), color.blueF())
    ]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]
