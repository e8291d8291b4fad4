"""Cells without a value have a letter on a quiet ground, and no bar of colours without values."""

import numpy as np
import pytest
from pytestqt.qtbot import QtBot

from bertviewer.charts.change_grid import CellNote, MarkedGrid
from bertviewer.charts.theme import DARK, LIGHT, Theme
from bertviewer.plots.grid_plot import GridPlot
from tests.plots.looking import pixel


def grid(value: float) -> MarkedGrid:
    """Return a cell with a value, if it is one, one that is equal, and one that there is not."""
    sign = "" if np.isfinite(value) else "?"
    return MarkedGrid(
        np.array([[value, np.nan, np.nan]]),
        ("a",),
        ("b", "c", "d"),
        levels=(0.01, 1.0),
        notes={(0, 0): CellNote("n", "n", sign), (0, 1): CellNote("m", "m", "=", "equal")},
        is_log=True,
    )


def colors(plot: GridPlot, column: int) -> set[str]:
    """Return the colours inside of a cell as it is seen."""
    image = plot.grab().toImage()
    first, last = pixel(plot, column + 0.3, 0.3), pixel(plot, column + 0.7, 0.7)
    return {
        image.pixelColor(x, y).name()
        for x in range(first.x(), last.x())
        for y in range(*sorted((first.y(), last.y())))
    }


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_an_equal_cell_is_neither_a_value_nor_empty(qtbot: QtBot, theme: Theme) -> None:
    plot = GridPlot()
    qtbot.addWidget(plot)
    plot.resize(400, 200)
    plot.set_theme(theme)
    plot.show_chart(grid(0.1))
    plot.show()
    qtbot.waitExposed(plot)
    value, equal, empty = (colors(plot, column) for column in range(3))
    assert len(value) == 1
    assert theme.line in equal
    assert len(equal) > 1  # its letter
    assert empty == {theme.surface}
    assert plot.color_bar.isVisible()


def test_without_values_there_is_no_bar_of_colours(qtbot: QtBot) -> None:
    plot = GridPlot()
    qtbot.addWidget(plot)
    plot.show_chart(grid(np.nan))
    assert not plot.color_bar.isVisible()
