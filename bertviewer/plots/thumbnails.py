"""Thumbnails of attention heads in the cells of a heatmap, and a spot that marks a cell."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QColor, QImage, QPainter, QPen

from bertviewer.charts.levels import ColorIndices, Mask, Values
from bertviewer.charts.theme import Theme
from bertviewer.plots.color_scale import SHADES, color_table, reduced

INSET = 1.5  # pixels around a thumbnail
MIN_SQUARE = 12.0
"""Smaller squares, in pixels, would show nothing: thumbnails fill their cells then."""
MAX_SPOT, SPOT = 4.0, 0.22
"""Largest radius of a spot in pixels, and as a fraction of its cell."""
THUMBNAIL = 24
"""Rows and columns of a thumbnail; each shows the largest value of a block."""


def shaded(shares: Values, masked: Mask | None = None) -> ColorIndices:
    """Return thumbnails [A, n, n] of attention probabilities [A, S, S'].

    Shades follow the square roots of probabilities, from 0 to the largest of the same head: next to
    a head that attends to a single token all others would be dark. Masked cells have none.
    """
    small = reduced(
        shares if masked is None else np.where(masked, np.nan, shares), THUMBNAIL, THUMBNAIL
    )
    is_there = np.isfinite(small)
    found = np.sqrt(np.where(is_there, small, 0.0))
    largest = found.max(axis=(1, 2), keepdims=True, initial=0.0)
    parts = np.divide(found, largest, out=np.zeros_like(found), where=largest > 0)
    return np.where(is_there, 1 + np.rint(parts * (SHADES - 2)), 0).astype(np.uint8)


def draw_thumbnails(
    painter: QPainter,
    bounds: QRectF,
    cell: Callable[[float, float], QRectF],
    thumbnails: Mapping[int, ColorIndices],
    theme: Theme,
) -> None:
    """Draw thumbnails [A, n, m] by row as squares in the cells of a heatmap.

    Args:
        painter: draws in the pixels of the widget.
        bounds: of all cells, which are cleared.
        cell: returns the rectangle of a row and a column.
        thumbnails: those of each row; where cells are low, they fill these.
        theme: has the colours.
    """
    table = color_table(theme, False).tolist()
    colors = [table[-1], *table[1:-1]]
    painter.fillRect(bounds, QColor(theme.surface))
    for row, heads in thumbnails.items():
        image = _image(heads, colors)
        # The thumbnails of a row are one below the other.
        wide, tall = image.width(), image.height() / len(heads)
        for head in range(len(heads)):
            painter.drawImage(_inside(cell(row, head)), image, QRectF(0, head * tall, wide, tall))


def draw_spot(painter: QPainter, cell: QRectF, theme: Theme) -> None:
    """Draw a spot in a corner of a cell, where it covers little."""
    radius = min(MAX_SPOT, SPOT * min(cell.width(), cell.height()))
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QPen(QColor(theme.surface), 1.5))
    painter.setBrush(QColor(theme.text))
    inset = radius + 2
    painter.drawEllipse(cell.topRight() + QPointF(-inset, inset), radius, radius)
    painter.restore()


def _inside(cell: QRectF) -> QRectF:
    """Return the rectangle of a thumbnail in its cell."""
    room = cell.adjusted(INSET, INSET, -INSET, -INSET)
    side = min(room.width(), room.height())
    if side >= MIN_SQUARE:
        room = QRectF(0, 0, side, side)
        room.moveCenter(cell.center())
    elif cell.height() < MIN_SQUARE:
        room = cell.adjusted(INSET, 0.5, -INSET, -0.5)
    return room


def _image(heads: ColorIndices, colors: Sequence[int]) -> QImage:
    """Return thumbnails [A, n, m] as one image, one below the other."""
    count, rows, columns = heads.shape
    pixels = np.ascontiguousarray(heads).reshape(count * rows, columns)
    image = QImage(pixels.data, columns, len(pixels), columns, QImage.Format.Format_Indexed8)
    image.setColorTable(colors)
    # A copy: the image only borrows the pixels.
    return image.convertToFormat(QImage.Format.Format_ARGB32_Premultiplied)
