"""Colours that can be told from their background."""

from itertools import combinations

import pytest
from PySide6.QtGui import QColor

from bertviewer.plots.theme import DARK, LIGHT, PlotTheme


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
