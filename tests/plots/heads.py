"""A grid of heads in a window, and heads for it."""

import numpy as np
from PySide6.QtCore import QPointF
from PySide6.QtGui import QImage, QPainter
from PySide6.QtWidgets import QWidget

from bertviewer.charts.chart import HeadsChart
from bertviewer.plots.head_grid import HeadGrid


def one_key_each(heads: int = 12, queries: int = 4, keys: int = 4) -> HeadsChart:
    """Return heads whose share goes to one key: their own number, as far as there are keys."""
    values = np.zeros((heads, queries, keys), dtype=np.float32)
    for head in range(heads):
        values[head, :, head % keys] = 1.0
    names = tuple(f"token {n}" for n in range(max(queries, keys)))
    captions = tuple(f"H {n}.5" for n in range(heads))
    return HeadsChart(values, captions, names[:queries], names[:keys])


def head_grid_in(window: QWidget) -> HeadGrid:
    """Show twelve heads in a window."""
    grid = HeadGrid(window)
    grid.resize(640, 320)
    grid.show()
    grid.show_chart(one_key_each())
    return grid


def at(grid: HeadGrid, head: int, query: float, key: float) -> QPointF:
    """Return where a cell is; 0.5 is its middle."""
    assert grid.chart is not None
    _, rows, columns = grid.chart.values.shape
    rect = grid.head_rect(head)
    return rect.topLeft() + QPointF(rect.width() * key / columns, rect.height() * query / rows)


def picture(grid: HeadGrid) -> QImage:
    """Return the whole picture; on the screen large heads come one after the other."""
    image = QImage(grid.size(), QImage.Format.Format_RGB32)
    painter = QPainter(image)
    grid.draw_on(painter)
    painter.end()
    return image


def color(grid: HeadGrid, head: int, query: float, key: float) -> str:
    """Return the colour of the grid at a place in a cell."""
    return picture(grid).pixelColor(at(grid, head, query, key).toPoint()).name()
