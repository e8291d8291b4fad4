"""Ranges of values, tables of colours, and blocks of many cells."""

import numpy as np
import pytest
from PySide6.QtGui import QColor

from bertviewer.charts.levels import levels_of
from bertviewer.charts.theme import DARK, LIGHT, Theme
from bertviewer.plots.color_scale import SHADES, color_table, reduced

NAN, INF = float("nan"), float("inf")


def test_levels() -> None:
    for values, is_signed, expected in (
        ([1.0, 3.0, NAN, INF], False, (1.0, 3.0)),
        ([-1.0, 3.0], True, (-3.0, 3.0)),
        ([-4.0, NAN, -1.0], True, (-4.0, 4.0)),
        ([NAN, INF], False, (0.0, 1.0)),
        ([0.0, 0.0], True, (-1.0, 1.0)),
        ([], False, (0.0, 1.0)),
    ):
        assert levels_of(np.array(values), is_signed) == expected
    low, high = levels_of(np.array([5.0, 5.0 + 1e-9]))
    assert high - low > 1e-3  # rounding errors are not blown up


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_the_signed_table_is_as_far_either_way(theme: Theme) -> None:
    table = [QColor.fromRgba(int(color)) for color in color_table(theme, True)]
    assert table[0].name() == theme.diverging[0]
    assert table[SHADES - 1].name() == theme.diverging[-1]
    assert table[SHADES].alpha() == 0
    lightness = [color.lightness() for color in table[:SHADES]]
    middle = lightness[SHADES // 2]
    # Away from the middle it only gets darker, or on a dark background only lighter at the ends.
    assert abs(lightness[0] - middle) > 60
    assert abs(lightness[-2] - middle) > 60
    assert table[40].blue() > table[40].red()
    assert table[215].red() > table[215].blue()


def test_blocks_keep_the_largest() -> None:
    values = np.arange(24.0).reshape(4, 6)
    assert reduced(values, 2, 3).tolist() == [[7, 9, 11], [19, 21, 23]]
    assert reduced(values, 4, 2).tolist() == [[2, 5], [8, 11], [14, 17], [20, 23]]
    assert reduced(values, 9, 9) is values
    assert reduced(np.stack([values, -values]), 1, 1).tolist() == [[[23.0]], [[0.0]]]


def test_blocks_of_signed_values_keep_the_farthest_from_0() -> None:
    values = np.array([[1.0, -3.0, 2.0, -1.0, NAN, NAN]])
    found = reduced(values, 1, 3, is_signed=True)[0].tolist()
    assert found[:2] == [-3.0, 2.0]
    assert str(found[2]) == "nan"


def test_a_block_with_a_number_has_that_number() -> None:
    found = reduced(np.array([[NAN, 4.0, NAN, NAN]]), 1, 2)[0].tolist()
    assert str(found) == "[4.0, nan]"


def test_no_cell_is_lost_in_blocks_of_unequal_size() -> None:
    values = np.zeros((1, 512))
    for column in range(512):
        values[:] = 0
        values[0, column] = 1
        assert reduced(values, 1, 347).sum() == 1
