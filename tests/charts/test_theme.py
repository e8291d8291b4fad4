"""Contrast of the colours of all themes."""

from itertools import combinations

import pytest

from bertviewer.charts.theme import DARK, GREY, LIGHT, PAPER, Theme, mixed
from tests.charts.colors import contrast

THEMES = pytest.mark.parametrize(
    "theme", [LIGHT, DARK, PAPER, GREY], ids=["light", "dark", "paper", "grey"]
)
PRINTED = pytest.mark.parametrize("theme", [PAPER, GREY], ids=["paper", "grey"])


@THEMES
def test_texts_are_legible_on_all_backgrounds(theme: Theme) -> None:
    grounds = (theme.background, theme.surface, theme.selection, theme.hover, theme.field)
    for ground in grounds:
        assert contrast(theme.text, ground) > 10
        for color in (theme.muted, theme.accent, theme.right, theme.warning):
            assert contrast(color, ground) >= 4.5, (color, ground)
    assert contrast(theme.on_accent, theme.accent) >= 4.5


@THEMES
def test_series_and_hues_contrast_with_the_surface(theme: Theme) -> None:
    for color in (*theme.series, *theme.parts.values()):
        assert contrast(color, theme.surface) > 3
    for one, other in combinations(theme.series, 2):
        assert one != other
    assert contrast(theme.faint, theme.surface) > 2.5


@THEMES
def test_names_are_legible_on_the_fill_of_their_part(theme: Theme) -> None:
    for part in theme.parts:
        assert contrast(theme.text, theme.fill(part)) > 7


@PRINTED
def test_printed_colours_are_legible_and_distinct_in_grey(theme: Theme) -> None:
    words = (theme.text, theme.muted, theme.faint, theme.accent, theme.right, theme.warning)
    for color in (*words, *theme.parts.values()):
        assert contrast(color, theme.surface) >= 4.5, color
    assert theme.surface == theme.background == "#ffffff"
    # In grey, colours differ in lightness only.
    for one, other in combinations(theme.series, 2):
        assert contrast(one, other) > 1.25, (one, other)
    # Neighbours in a drawing.
    parts = (theme.parts["attention"], theme.parts["feed-forward"], theme.parts["head"])
    for one, other in combinations(parts, 2):
        assert contrast(one, other) > 1.25, (one, other)


def test_grey_has_no_hue() -> None:
    hues = (*GREY.series, *GREY.parts.values(), *GREY.diverging, *GREY.colormap)
    plain = (GREY.text, GREY.muted, GREY.faint, GREY.accent, GREY.line, GREY.right, GREY.warning)
    for color in (*hues, *plain, GREY.selection, GREY.hover):
        assert color[1:3] == color[3:5] == color[5:7], color
    assert len({GREY.dash(number) for number in range(len(GREY.series))}) == len(GREY.series)
    assert LIGHT.dash(3) == PAPER.dash(3) == ()


def test_mixed_colours() -> None:
    assert mixed("#ff8000", "#000000", 1) == "#ff8000"
    assert mixed("#ff8000", "#000000", 0.5) == "#804000"
    assert mixed("#ff8000", "#0000ff", 0) == "#0000ff"
