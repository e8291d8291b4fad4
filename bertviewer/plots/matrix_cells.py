"""The cells of a matrix as a picture, and what is drawn on them."""

from collections.abc import Sequence
from math import ceil, floor

import numpy as np
from PySide6.QtCore import QLineF
from PySide6.QtGui import QColor, QImage, QPainter, QPen

from bertviewer.charts.chart import GridChart
from bertviewer.charts.theme import Theme
from bertviewer.plots.cells import SPACE, are_rectangles, draw_rectangles, is_paper, sharp
from bertviewer.plots.color_scale import ColorScale, reduced, tinted
from bertviewer.plots.frames import THICK, THIN, draw_frame
from bertviewer.plots.hatch import draw_hatch
from bertviewer.plots.matrix_layout import MatrixLayout

DIVIDER_OPACITY = 0.6


class CellPicture:
    """Draws the cells of one chart that are seen, and keeps their last picture."""

    def __init__(self) -> None:
        self._key: object = None
        self._image = QImage()

    def draw(
        self,
        painter: QPainter,
        chart: GridChart,
        layout: MatrixLayout,
        scale: ColorScale,
        theme: Theme,
    ) -> None:
        """Draw the cells, those at the edges in part."""
        top, left = floor(layout.down.start), floor(layout.across.start)
        rows, columns = ceil(layout.down.end) - top, ceil(layout.across.end) - left
        part = np.s_[top : top + rows, left : left + columns]
        rect = layout.rect(top, left, rows, columns)
        if chart.masked is not None:
            draw_hatch(painter, rect, chart.masked[part], theme)
        if are_rectangles(painter, rows * columns):
            draw_rectangles(painter, rect, chart.measured[part], scale)
            return
        size = rows, columns
        if not is_paper(painter):
            pixels = painter.deviceTransform().mapRect(rect)
            # Rounded down: of an image that is shrunk, lines of pixels are left out.
            tall, wide = max(1, int(pixels.height())), max(1, int(pixels.width()))
            size = min(rows, tall), min(columns, wide)
        key = top, left, rows, columns, size
        if self._key != key:
            values = chart.measured[part]
            values = np.where(np.isfinite(values), values, np.nan)
            self._image = scale.picture(reduced(values, *size, scale.is_signed))
            self._key = key
        painter.drawImage(
            rect, sharp(self._image, rect.width()) if is_paper(painter) else self._image
        )


def draw_dividers(painter: QPainter, chart: GridChart, layout: MatrixLayout, theme: Theme) -> None:
    """Set texts off from one another."""
    painter.setPen(QPen(tinted(theme.muted, DIVIDER_OPACITY), 1))
    rows, columns = chart.values.shape
    for column in chart.column_starts:
        line = layout.rect(0, column, rows)
        painter.drawLine(line.topLeft(), line.bottomLeft())
    for row in chart.row_starts:
        line = layout.rect(row, 0, 1, columns)
        painter.drawLine(line.topLeft(), line.topRight())


def draw_gaps(painter: QPainter, layout: MatrixLayout, theme: Theme) -> None:
    """Set the cells that are seen off from one another."""
    painter.setPen(QPen(QColor(theme.surface), SPACE))
    cells, across, down = layout.cells, layout.across, layout.down
    for column in range(ceil(across.start), ceil(across.end)):
        x = layout.rect(0, column).x()
        painter.drawLine(QLineF(x, cells.top(), x, cells.bottom()))
    for row in range(ceil(down.start), ceil(down.end)):
        y = layout.rect(row, 0).y()
        painter.drawLine(QLineF(cells.left(), y, cells.right(), y))


def draw_frames(
    painter: QPainter,
    chart: GridChart,
    layout: MatrixLayout,
    chosen: tuple[Sequence[int], Sequence[int]],
    theme: Theme,
) -> None:
    """Frame rows and columns, and the cells where these meet."""
    rows, columns = chart.values.shape
    chosen_rows, chosen_columns = chosen
    thin = [layout.rect(row, 0, 1, columns) for row in chosen_rows]
    thin += [layout.rect(0, column, rows, 1) for column in chosen_columns]
    thick = [layout.rect(row, column) for row in chosen_rows for column in chosen_columns]
    for rects, width in ((thin, THIN), (thick, THICK)):
        for rect in rects:
            if rect.intersects(layout.cells):
                draw_frame(painter, rect, layout.cells, theme, width)
