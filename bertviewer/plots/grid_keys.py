"""Which cell of a grid a key leads to, and which one a pair of a row and a selection is."""

from collections.abc import Sequence

from PySide6.QtCore import Qt

from bertviewer.charts.chart import GridChart
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.plots.plot import Point

Cell = Point


def next_cell(chart: GridChart, cell: Cell | None, key: int) -> Cell | None:
    """Return the next cell that tells something, ``None`` where a key leads nowhere.

    Without a cell to begin with, any of these keys leads to the first one.
    """
    up = -1 if chart.is_top_down else 1
    ways: dict[int, Cell] = {
        Qt.Key.Key_Left: (0, -1),
        Qt.Key.Key_Right: (0, 1),
        Qt.Key.Key_Up: (up, 0),
        Qt.Key.Key_Down: (-up, 0),
        Qt.Key.Key_Home: (0, 1),
        Qt.Key.Key_End: (0, -1),
    }
    if key not in ways:
        return None
    rows, columns = chart.values.shape
    down, across = ways[key]
    if cell is None:
        return next(
            ((row, column) for row in range(rows) for column in range(columns)
             if chart.text(row, column)),
            None,
        )  # fmt: skip
    row, column = cell
    if key == Qt.Key.Key_Home:
        column = -1
    elif key == Qt.Key.Key_End:
        column = columns
    row, column = row + down, column + across
    while 0 <= row < rows and 0 <= column < columns:
        if chart.text(row, column):
            return row, column
        row, column = row + down, column + across
    return None


def pair_of(
    chart: GridChart, row: int | None, selection: SelectionKey
) -> tuple[Sequence[int], Sequence[int]]:
    """Return the row, if a grid has it, and the columns that are selected."""
    rows = () if row is None or row >= len(chart.rows) else (row,)
    return rows, chart.chosen(selection)[1]
