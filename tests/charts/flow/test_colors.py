"""Colours: every text can be read on what it stands on."""

import pytest

from bertviewer.charts.flow.drawing import Label
from bertviewer.charts.flow.layout import draw
from bertviewer.charts.flow.marks import Mark, marks_of
from bertviewer.charts.theme import DARK, GREY, LIGHT, PAPER, Theme
from tests.charts.colors import contrast
from tests.charts.flow import flows
from tests.charts.flow.checks import measure


def behind(label: Label, mark: Mark, theme: Theme) -> str:
    """Return the colour of the last shape of a mark that a text's point is in the bounds of."""
    found = theme.surface
    for shape in mark.shapes:
        xs, ys = ([point[axis] for point in shape.points] for axis in (0, 1))
        if shape.fill and min(xs) <= label.x <= max(xs) and min(ys) <= label.y <= max(ys):
            found = shape.fill
    return found


@pytest.mark.parametrize(
    "theme", [LIGHT, DARK, PAPER, GREY], ids=["light", "dark", "paper", "grey"]
)
@pytest.mark.parametrize("name", flows.ALL)
def test_texts_can_be_read(name: str, theme: Theme) -> None:
    for mark in marks_of(draw(flows.ALL[name], measure), theme):
        for text in mark.texts:
            ground = behind(text.label, mark, theme)
            assert contrast(text.color, ground) >= 4.5, (text.label.text, text.color, ground)
