"""Colour tables, colours of values, and blocks of many cells."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtGui import QColor

from bertviewer.charts.levels import levels_of
from bertviewer.charts.theme import DARK, GREY, LIGHT, PAPER, Theme
from bertviewer.plots.color_scale import SHADES, ColorScale, color_table, reduced
from tests.plots.kinds import RANGES
from tests.plots.looking import HIGHEST, LOWEST

NAN, INF = float("nan"), float("inf")
TABLE = color_table(LIGHT, False)
LINEAR = ColorScale((0.0, 1.0), TABLE)
ROOT = ColorScale((0.0, 1.0), TABLE, is_root=True)
LOG = ColorScale((0.01, 1.0), TABLE, is_log=True)
SIGNED = ColorScale((-0.25, 0.25), color_table(LIGHT, True), is_signed=True, is_root=True)


@pytest.mark.parametrize(
    ("scale", "values", "shades"),
    [
        (LINEAR, (0.0, 1.0, 0.5, -7.0, 9.0), [0, 255, 127, 0, 255]),
        (ROOT, (0.0, 1.0, 0.25, 0.01, -7.0, 9.0), [0, 255, 127, 25, 0, 255]),
        (LOG, (0.01, 1.0, 0.1, 0.0, 9.0), [0, 255, 127, 0, 255]),
        (SIGNED, (-0.25, -0.0625, 0.0, 0.0625, 0.25), [0, 63, 127, 191, 255]),
    ],
    ids=["linear", "root", "log", "signed root"],
)
def test_shades(scale: ColorScale, values: tuple[float, ...], shades: list[int]) -> None:
    found = scale.shades(np.array([[*values, NAN, INF, -INF]]))[0].tolist()
    assert found == [*shades, SHADES, SHADES, SHADES]


@pytest.mark.parametrize("is_root", [False, True])
@pytest.mark.parametrize(("low", "high"), RANGES)
def test_extreme_values_have_the_ends_of_the_table(low: float, high: float, is_root: bool) -> None:
    values = np.array([[low, NAN, high]])
    scale = ColorScale(levels_of(values), TABLE, is_root=is_root)
    assert scale.shades(values)[0].tolist() == [0, SHADES, SHADES - 1]


@given(st.floats(0, 1), st.floats(0, 1))
def test_a_root_has_the_shade_of_its_square_on_a_linear_scale(one: float, other: float) -> None:
    values = np.array([one, other])
    assert ROOT.shades(values**2).tolist() == pytest.approx(LINEAR.shades(values).tolist(), abs=1)
    low, high = ROOT.shades(np.sort(values)).tolist()
    assert low <= high


def test_an_image_has_a_pixel_for_each_value() -> None:
    image = LINEAR.image(np.array([[0.0, NAN, 1.0]] * 2))
    assert (image.width(), image.height()) == (3, 2)
    assert image.pixelColor(0, 1).name() == LOWEST
    assert image.pixelColor(1, 0).alpha() == 0
    assert image.pixelColor(2, 0).name() == HIGHEST


def test_sequential_tables_are_monotonic_in_lightness() -> None:
    for table in (color_table(PAPER, False), color_table(GREY, False), color_table(GREY, True)):
        light = np.array([(c >> 16 & 255, c >> 8 & 255, c & 255) for c in table[:-1].tolist()])[::8]
        steps = np.diff((light / 255.0) ** 2.2 @ (0.2126, 0.7152, 0.0722))
        assert (steps > 0).all() or (steps < 0).all()
        assert abs(steps.sum()) > 0.5


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_the_signed_table_is_symmetric(theme: Theme) -> None:
    table = [QColor.fromRgba(int(color)) for color in color_table(theme, True)]
    assert table[0].name() == theme.diverging[0]
    assert table[SHADES - 1].name() == theme.diverging[-1]
    assert table[SHADES].alpha() == 0
    lightness = [color.lightness() for color in table[:SHADES]]
    for end in (0, -2):
        assert abs(lightness[end] - lightness[SHADES // 2]) > 60
    assert table[40].blue() > table[40].red()
    assert table[215].red() > table[215].blue()


def test_a_block_is_its_largest_value_or_the_one_farthest_from_0() -> None:
    values = np.arange(24.0).reshape(4, 6)
    assert reduced(values, 2, 3).tolist() == [[7, 9, 11], [19, 21, 23]]
    assert reduced(values, 4, 2).tolist() == [[2, 5], [8, 11], [14, 17], [20, 23]]
    assert reduced(values, 9, 9) is values
    assert reduced(np.stack([values, -values]), 1, 1).tolist() == [[[23.0]], [[0.0]]]
    signed = np.array([[1.0, -3.0, 2.0, -1.0, NAN, NAN]])
    assert str(reduced(signed, 1, 3, is_signed=True).tolist()) == "[[-3.0, 2.0, nan]]"
    assert str(reduced(np.array([[NAN, 4.0, NAN, NAN]]), 1, 2).tolist()) == "[[4.0, nan]]"


def test_no_cell_is_lost_in_blocks_of_unequal_size() -> None:
    every = np.eye(512)  # each row has its 1 in another column
    assert reduced(every, 512, 347).sum(axis=1).tolist() == [1] * 512
    assert reduced(every, 347, 512).sum(axis=0).tolist() == [1] * 512
