"""Small pictures in the cells of a grid, and the spot that marks one of its cells."""

from collections.abc import Mapping, Sequence

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QColor, QImage, QPainter, QPen

from bertviewer.charts.levels import ColorIndices, Mask, Values
from bertviewer.charts.theme import Theme
from bertviewer.plots.color_scale import SHADES, color_table, reduced

INSET = 1.5  # pixels around a picture
LEAST = 12.0
"""Smaller squares, in pixels, would show nothing: pictures have all of their cells then."""
LARGEST_SPOT, SPOT = 4.0, 0.22
"""A spot's radius: at most so many pixels, and no more than such a part of its cell."""


PICTURE = 24
"""Cells either way that are kept of each head: of more, the largest of a block."""


def shaded(shares: Values, masked: Mask | None = None) -> ColorIndices:
    """Return small pictures [A, n, n] of what heads look at, those of shares [A, S, S'].

    Shades follow the square roots of the shares, from 0 to the largest of the same head: beside
    one that looks at a single token all others would be dark. What is masked has none.
    """
    small = reduced(
        shares if masked is None else np.where(masked, np.nan, shares), PICTURE, PICTURE
    )
    is_there = np.isfinite(small)
    found = np.sqrt(np.where(is_there, small, 0.0))
    largest = found.max(axis=(1, 2), keepdims=True, initial=0.0)
    parts = np.divide(found, largest, out=np.zeros_like(found), where=largest > 0)
    return np.where(is_there, 1 + np.rint(parts * (SHADES - 2)), 0).astype(np.uint8)


class HeadPictures(pg.GraphicsObject):  # type: ignore[misc]
    """What heads look at: pictures [A, n, m] by row, as squares in the cells of a grid.

    Where cells are low, pictures are as high as these.
    """

    def __init__(
        self, shape: tuple[int, int], pictures: Mapping[int, ColorIndices], theme: Theme
    ) -> None:
        super().__init__()
        self._bounds = QRectF(0, 0, shape[1], shape[0])
        self._theme = theme
        table = color_table(theme, False).tolist()
        colors = [table[-1], *table[1:-1]]
        self._images = {row: _image(heads, colors) for row, heads in pictures.items()}
        self._counts = {row: len(heads) for row, heads in pictures.items()}
        self.setZValue(1)

    def boundingRect(self) -> QRectF:
        """Return the grid's rectangle; Qt calls it."""
        return self._bounds

    def paint(self, painter: QPainter, *_: object) -> None:
        """Draw; Qt calls it."""
        transform = painter.transform()
        painter.save()
        painter.resetTransform()
        painter.fillRect(transform.mapRect(self._bounds), QColor(self._theme.surface))
        for row, image in self._images.items():
            # The pictures of a row stand one below the other.
            wide, tall = image.width(), image.height() / self._counts[row]
            for head in range(self._counts[row]):
                cell = transform.mapRect(QRectF(head, row, 1, 1))
                painter.drawImage(_room(cell), image, QRectF(0, head * tall, wide, tall))
        painter.restore()


def _room(cell: QRectF) -> QRectF:
    """Return where a picture stands in its cell."""
    room = cell.adjusted(INSET, INSET, -INSET, -INSET)
    side = min(room.width(), room.height())
    if side >= LEAST:
        room = QRectF(0, 0, side, side)
        room.moveCenter(cell.center())
    elif cell.height() < LEAST:
        room = cell.adjusted(INSET, 0.5, -INSET, -0.5)
    return room


def _image(heads: ColorIndices, colors: Sequence[int]) -> QImage:
    """Return pictures [A, n, m] as one image, one below the other."""
    count, rows, columns = heads.shape
    pixels = np.ascontiguousarray(heads).reshape(count * rows, columns)
    image = QImage(pixels.data, columns, len(pixels), columns, QImage.Format.Format_Indexed8)
    image.setColorTable(colors)
    # A copy: the image only borrows the pixels.
    return image.convertToFormat(QImage.Format.Format_ARGB32_Premultiplied)


class Spot(pg.GraphicsObject):  # type: ignore[misc]
    """A spot in a corner of a cell, where it covers little of what is there."""

    def __init__(self, cell: tuple[int, int], theme: Theme) -> None:
        super().__init__()
        self._cell = QRectF(cell[1], cell[0], 1, 1)
        self._theme = theme
        self.setZValue(11)

    def boundingRect(self) -> QRectF:
        """Return the cell; Qt calls it."""
        return self._cell

    def paint(self, painter: QPainter, *_: object) -> None:
        """Draw; Qt calls it."""
        transform = painter.transform()
        cell = transform.mapRect(self._cell)
        radius = min(LARGEST_SPOT, SPOT * min(cell.width(), cell.height()))
        painter.save()
        painter.resetTransform()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(QColor(self._theme.surface), 1.5))
        painter.setBrush(QColor(self._theme.text))
        inset = radius + 2
        painter.drawEllipse(cell.topRight() + QPointF(-inset, inset), radius, radius)
        painter.restore()
