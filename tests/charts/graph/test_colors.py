"""Colours: every text can be read on what it stands on."""

import pytest

from bertviewer.charts.graph.draw_items import MAX_STRENGTH, DrawItem, NodeColor, draw_items
from bertviewer.charts.graph.drawing import Label
from bertviewer.charts.graph.layout import draw
from bertviewer.charts.theme import DARK, GREY, LIGHT, PAPER, Theme, mixed
from tests.charts.colors import contrast
from tests.charts.graph import flows
from tests.charts.graph.checks import measure


def behind(label: Label, mark: DrawItem, theme: Theme) -> str:
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
    for mark in draw_items(draw(flows.ALL[name], measure), theme):
        for text in mark.texts:
            ground = behind(text.label, mark, theme)
            assert contrast(text.color, ground) >= 4.5, (text.label.text, text.color, ground)


def hue_of(fill: str, theme: Theme) -> float:
    """Return how far a colour is from the surface, 0 for the surface itself."""
    pairs = zip(bytes.fromhex(fill[1:]), bytes.fromhex(theme.surface[1:]), strict=True)
    return max(abs(a - b) for a, b in pairs)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("name", flows.ALL)
def test_a_measured_node_has_the_tone_of_its_value_and_no_other(name: str, theme: Theme) -> None:
    drawing = draw(flows.ALL[name], measure)
    tints = {placed.node.id: NodeColor(theme.accent, MAX_STRENGTH) for placed in drawing.nodes}
    tone = mixed(theme.accent, theme.surface, MAX_STRENGTH)
    for mark in draw_items(drawing, theme, tints):
        fills = {shape.fill for shape in mark.shapes if mark.kind == "node" and shape.fill}
        # GELU between two layers and the pattern of the heads are no products of their own.
        assert fills - {tone, theme.flow, theme.surface, theme.line} == set()
        assert all(hue_of(fill, theme) <= hue_of(tone, theme) for fill in fills - {theme.flow})
