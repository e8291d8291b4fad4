"""The colours of heads: of shares, of differences, and of thin lines that must stay visible."""

import numpy as np
import pytest
from msgspec.structs import replace
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from bertviewer.charts.chart import HeadsChart
from bertviewer.charts.theme import DARK, LIGHT
from bertviewer.plots.head_grid import HeadGrid
from tests.plots.heads import at, color, head_grid_in, picture
from tests.plots.looking import HIGHEST, LOWEST, colors, colors_of


@pytest.fixture
def grid(window: QWidget) -> HeadGrid:
    return head_grid_in(window)


def test_a_thin_line_stays_visible(grid: HeadGrid) -> None:
    """A cell of 512 in a heatmap of some 100 pixels would be lost if pixels picked a cell."""
    for place in (0, 101, 257, 511):
        values = np.zeros((12, 512, 512), dtype=np.float32)
        values[:, :, place] = 1.0
        names = tuple(map(str, range(512)))
        grid.show_chart(HeadsChart(values, ("",) * 12, names, names))
        image = picture(grid)
        rect = grid.head_rect(5).toAlignedRect()
        assert rect.width() < 200
        row = image.copy(rect.x(), rect.center().y(), rect.width(), 1)
        assert HIGHEST in colors_of(row), place


def test_what_is_no_number_stays_empty(grid: HeadGrid) -> None:
    values = np.array([[[0.0, np.nan], [np.inf, 1.0]]])
    grid.show_chart(HeadsChart(values, ("",), ("a", "b"), ("c", "d")))
    assert color(grid, 0, 0.5, 1.5) == color(grid, 0, 1.5, 0.5) == LIGHT.surface
    assert color(grid, 0, 1.5, 1.5) == HIGHEST
    assert grid.text_at(at(grid, 0, 0.5, 1.5)) == "head 0, query a → key d: nan"


def test_colours_begin_at_0(grid: HeadGrid) -> None:
    grid.show_chart(HeadsChart(np.array([[[0.25, 0.5]]]), ("",), ("a",), ("c", "d")))
    assert grid.levels == (0.0, 0.5)
    assert color(grid, 0, 0.5, 0.5) not in (LOWEST, HIGHEST)


def test_the_theme_changes_the_colours(grid: HeadGrid) -> None:
    assert {LIGHT.surface, LIGHT.text} <= colors(grid)
    grid.set_theme(DARK)
    found = colors(grid)
    assert {DARK.surface, DARK.text} <= found
    assert not {LIGHT.surface, LIGHT.text} & found


def test_differences_have_colours_about_0(grid: HeadGrid) -> None:
    values = np.array([[[-0.25, 0.5], [0.0, np.nan]]])
    grid.show_chart(HeadsChart(values, ("",), ("a", "b"), ("c", "d"), is_signed=True))
    assert grid.levels == (-0.5, 0.5)
    assert color(grid, 0, 0.5, 1.5) == LIGHT.diverging[-1]
    assert color(grid, 0, 1.5, 1.5) == LIGHT.surface
    middle = QColor(color(grid, 0, 1.5, 0.5))
    assert middle.saturation() < 20


def test_a_decrease_stays_visible_too(grid: HeadGrid) -> None:
    values = np.zeros((12, 512, 512), dtype=np.float32)
    values[:, :, 100] = -1.0
    names = tuple(map(str, range(512)))
    grid.show_chart(HeadsChart(values, ("",) * 12, names, names, is_signed=True))
    rect = grid.head_rect(5).toAlignedRect()
    row = picture(grid).copy(rect.x(), rect.center().y(), rect.width(), 1)
    assert LIGHT.diverging[0] in colors_of(row)


def test_a_range_that_is_given(grid: HeadGrid) -> None:
    chart = HeadsChart(np.array([[[0.25, 0.5]]]), ("",), ("a",), ("c", "d"), levels=(0.0, 0.25))
    grid.show_chart(chart)
    assert grid.levels == (0.0, 0.25)
    assert color(grid, 0, 0.5, 0.5) == HIGHEST


def test_colours_of_square_roots(grid: HeadGrid) -> None:
    names = tuple("ab")
    shares = np.array([[[0.25, 0.01], [1.0, 0.0]]])
    plain = HeadsChart(shares, ("",), names, names)
    roots = replace(plain, is_root=True)
    grid.show_chart(replace(plain, values=np.sqrt(shares)))
    expected = [color(grid, 0, row, column) for row in (0.5, 1.5) for column in (0.5, 1.5)]
    grid.show_chart(roots)
    found = [color(grid, 0, row, column) for row in (0.5, 1.5) for column in (0.5, 1.5)]
    assert found == expected
    assert len(set(found)) == 4
    # What is told and taken along is the share itself.
    assert grid.text_at(at(grid, 0, 0.5, 1.5)) == "head 0, query a → key b: 0.01"
    assert roots.table() == plain.table()
    signed = HeadsChart(shares - 0.25, ("",), names, names, is_signed=True, is_root=True)
    grid.show_chart(signed)
    assert grid.levels == (-0.75, 0.75)
    rise, fall = QColor(color(grid, 0, 1.5, 0.5)), QColor(color(grid, 0, 1.5, 1.5))
    assert rise.red() > rise.blue()
    assert fall.blue() > fall.red()


def test_each_head_may_have_a_range_of_its_own(grid: HeadGrid) -> None:
    values = np.array([[[-0.5, 0.5]], [[-0.01, 0.01]]])
    own = ((-0.5, 0.5), (-0.01, 0.01))
    chart = HeadsChart(values, ("±0.5", "±0.01"), ("a",), ("c", "d"), is_signed=True)
    grid.show_chart(chart)
    pale = color(grid, 1, 0.5, 1.5)
    assert pale != LIGHT.diverging[-1]
    grid.show_chart(replace(chart, levels=(-1.0, 1.0), head_levels=own))
    for head in (0, 1):
        assert color(grid, head, 0.5, 0.5) == LIGHT.diverging[0]
        assert color(grid, head, 0.5, 1.5) == LIGHT.diverging[-1]


def test_large_heads_come_one_after_the_other(grid: HeadGrid, qtbot: QtBot) -> None:
    values = np.ones((12, 512, 512), dtype=np.float32)
    names = tuple(map(str, range(512)))
    grid.show_chart(HeadsChart(values, ("",) * 12, names, names, levels=(0.0, 1.0)))
    whole = picture(grid)
    grid.set_theme(grid.theme)  # all pictures are to be made anew
    assert grid.grab().toImage().convertToFormat(whole.format()) != whole
    qtbot.waitUntil(lambda: grid.grab().toImage().convertToFormat(whole.format()) == whole)
