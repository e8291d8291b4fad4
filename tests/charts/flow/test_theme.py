"""Colours: every text can be read on what it stands on."""

import pytest

from bertviewer.charts.flow.drawing import Label
from bertviewer.charts.flow.layout import draw
from bertviewer.charts.flow.marks import Mark, marks_of
from bertviewer.charts.flow.theme import DARK, LIGHT, FlowTheme, mixed
from tests.charts.flow import flows
from tests.charts.flow.checks import measure


def luminance(color: str) -> float:
    """Return a colour's relative luminance (WCAG 2.2)."""
    parts = [byte / 255 for byte in bytes.fromhex(color[1:])]
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return sum(share * part for share, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def behind(label: Label, mark: Mark, theme: FlowTheme) -> str:
    """Return the colour of the last shape of a mark that a text's point is in the bounds of."""
    found = theme.background
    for shape in mark.shapes:
        xs, ys = ([point[axis] for point in shape.points] for axis in (0, 1))
        if shape.fill and min(xs) <= label.x <= max(xs) and min(ys) <= label.y <= max(ys):
            found = shape.fill
    return found


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("name", flows.ALL)
def test_texts_can_be_read(name: str, theme: FlowTheme) -> None:
    for mark in marks_of(draw(flows.ALL[name], measure), theme):
        for text in mark.texts:
            ground = behind(text.label, mark, theme)
            assert contrast(text.color, ground) >= 4.5, (text.label.text, text.color, ground)


def test_mixing_goes_from_one_to_the_other() -> None:
    assert mixed("#ff8000", "#000000", 1) == "#ff8000"
    assert mixed("#ff8000", "#000000", 0.5) == "#804000"
    assert mixed("#ff8000", "#0000ff", 0) == "#0000ff"
