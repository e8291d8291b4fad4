"""A grid of tokens by tokens: a click tells both, and both are framed."""

import numpy as np
import pytest
from PySide6.QtCore import QRectF, Qt
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from bertviewer.charts.chart import GridChart
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.plots.frames import Frames
from bertviewer.plots.pair_grid import PairGrid
from tests.plots.looking import click, pixel

TEXTS = ("a", "b", "c", "d")


def grid(count: int = 4) -> GridChart:
    return GridChart(
        np.arange(float(count * count)).reshape(count, count),
        TEXTS[:count],
        TEXTS[:count],
        column_keys=tuple(SelectionKey(token=n) for n in range(count)),
        is_top_down=True,
    )


@pytest.fixture
def plot(window: QWidget) -> PairGrid:
    plot = PairGrid(window)
    plot.resize(500, 300)
    plot.show()
    plot.show_chart(grid())
    plot.grab()
    return plot


Box = tuple[float, float, float, float]


def frames(plot: PairGrid) -> tuple[set[Box], set[Box]]:
    """Return the thin and the thick frames: x, y, width and height of each."""
    (shown,) = (item for item in plot.scene().items() if isinstance(item, Frames))
    return {box(rect) for rect in shown.thin}, {box(rect) for rect in shown.thick}


def box(rect: QRectF) -> Box:
    return rect.x(), rect.y(), rect.width(), rect.height()


def test_a_click_tells_row_and_column_and_then_selects_the_column(plot: PairGrid) -> None:
    told: list[object] = []
    plot.paired.connect(lambda row, column: told.append((row, column)))
    plot.clicked.connect(told.append)
    click(plot, pixel(plot, 2.5, 1.5))
    assert told == [(1, 2), SelectionKey(token=2)]


def test_other_buttons_and_other_places_tell_nothing(plot: PairGrid, qtbot: QtBot) -> None:
    with qtbot.assertNotEmitted(plot.paired):
        click(plot, pixel(plot, 2.5, 1.5), Qt.MouseButton.RightButton)
        click(plot, pixel(plot, -0.5, 1.5))
        QApplication.processEvents()


def test_the_selected_column_and_the_marked_row_are_framed(plot: PairGrid) -> None:
    plot.mark(SelectionKey(token=2))
    assert frames(plot) == ({(2, 0, 1, 4)}, set())
    plot.mark_row(1)
    assert frames(plot) == ({(2, 0, 1, 4), (0, 1, 4, 1)}, {(2, 1, 1, 1)})
    plot.mark_row(None)
    assert frames(plot) == ({(2, 0, 1, 4)}, set())


def test_a_row_that_is_not_there_is_not_framed(plot: PairGrid) -> None:
    plot.mark_row(3)
    plot.show_chart(grid(2))
    assert frames(plot) == (set(), set())
    plot.show_chart(None)
    plot.mark_row(1)
    plot.show_chart(grid(2))
    assert frames(plot) == ({(0, 1, 2, 1)}, set())
