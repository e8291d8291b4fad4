"""From cell to cell of a grid with the keys."""

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget

from bertviewer.charts.change_grid import CellNote, MarkedGrid
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.plots.grid_keys import Cell, next_cell
from bertviewer.plots.grid_plot import GridPlot
from bertviewer.plots.pair_grid import PairGrid
from tests.plots.grids import square
from tests.plots.looking import click, pixel

VALUES = [[0.0, 0.125, 0.25], [1.0, 1.125, 1.25], [2.0, 2.125, 2.25]]


def marked() -> MarkedGrid:
    """Return a grid whose middle, and whose first row's end, are empty."""
    values = np.array([[1.0, 2.0, np.nan], [3.0, np.nan, 4.0]])
    notes = {
        (int(row), int(column)): CellNote(f"t{row}{column}", f"tensor {row}{column}\nΔ = 0.5")
        for row, column in np.argwhere(np.isfinite(values))
    }
    names = ("a", "b", "c")
    return MarkedGrid(values, names[:2], names, is_top_down=True, notes=notes)


@pytest.mark.parametrize(
    ("start", "key", "end"),
    [
        ((0, 0), Qt.Key.Key_Down, (1, 0)),
        ((1, 0), Qt.Key.Key_Up, (0, 0)),
        ((0, 0), Qt.Key.Key_Up, None),
        ((0, 1), Qt.Key.Key_Right, None),  # nothing is there
        ((1, 0), Qt.Key.Key_Right, (1, 2)),  # what is empty is left out
        ((1, 2), Qt.Key.Key_Home, (1, 0)),
        ((0, 0), Qt.Key.Key_End, (0, 1)),
        (None, Qt.Key.Key_Left, (0, 0)),
        ((0, 0), Qt.Key.Key_A, None),
    ],
)
def test_a_key_leads_to_the_next_cell_that_tells_something(
    start: Cell | None, key: Qt.Key, end: Cell | None
) -> None:
    assert next_cell(marked(), start, key) == end


def plot_in(window: QWidget, plot: GridPlot) -> GridPlot:
    plot.setParent(window)
    plot.resize(400, 300)
    plot.show()
    return plot


def test_keys_do_what_a_click_does_and_tell_the_value(window: QWidget) -> None:
    plot = plot_in(window, GridPlot())
    plot.show_chart(square(VALUES))
    places: list[SelectionKey] = []
    cells: list[Cell] = []
    told: list[tuple[str, QPoint]] = []
    plot.clicked.connect(places.append)
    plot.clicked.connect(plot.mark)
    plot.cell_clicked.connect(lambda row, column: cells.append((row, column)))
    plot.reached.connect(lambda text, at: told.append((text, at)))
    click(plot, pixel(plot, 0.5, 0.5))
    assert cells == [(0, 0)]
    assert not told
    for key in (Qt.Key.Key_Right, Qt.Key.Key_Down, Qt.Key.Key_End):
        QTest.keyClick(plot, key)
    assert cells[1:] == [(0, 1), (1, 1), (1, 2)]
    assert [text for text, _ in told] == ["t0, t1: 0.125", "t1, t1: 1.125", "t1, t2: 1.25"]
    assert len(places) == 4
    # It is told where the cell is.
    assert (told[-1][1] - pixel(plot, 2.5, 1.5)).manhattanLength() <= 2


def test_both_of_a_pair_are_told(window: QWidget) -> None:
    plot = PairGrid()
    plot_in(window, plot)
    plot.show_chart(square(VALUES))
    pairs: list[Cell] = []
    plot.paired.connect(lambda row, column: pairs.append((row, column)))
    plot.mark_row(2)
    plot.mark(SelectionKey(token=1))
    QTest.keyClick(plot, Qt.Key.Key_Up)
    assert pairs == [(1, 1)]
    click(plot, pixel(plot, 0.5, 2.5))
    assert pairs == [(1, 1), (2, 0)]


def test_an_empty_grid_leads_nowhere(window: QWidget) -> None:
    plot = plot_in(window, GridPlot())
    plot.show_chart(None)
    told: list[str] = []
    plot.reached.connect(lambda text, _at: told.append(text))
    QTest.keyClick(plot, Qt.Key.Key_Down)
    assert told == []
