"""Cells without a value have a letter on a quiet ground, and no bar of colours without values."""

import numpy as np
import pytest
from PySide6.QtCore import QRectF
from PySide6.QtGui import QColor, QImage
from pytestqt.qtbot import QtBot

from bertviewer.charts.marked_grid import CellNote, MarkedGrid
from bertviewer.charts.theme import DARK, LIGHT, Theme
from bertviewer.plots.grid_plot import GridPlot


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
    view = plot.getPlotItem().vb
    box = view.mapRectToDevice(QRectF(column + 0.2, 0.2, 0.6, 0.6))
    image: QImage = plot.grab().toImage()
    return {
        QColor(image.pixel(x, y)).name()
        for x in range(round(box.left()), round(box.right()))
        for y in range(round(box.top()), round(box.bottom()))
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
