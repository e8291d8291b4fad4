"""Small pictures in the cells of a grid, and the spot that marks one of its cells."""

from collections.abc import Mapping

import pyqtgraph as pg
from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QColor, QPainter, QPen

from bertviewer.charts.levels import Values, levels_of
from bertviewer.charts.theme import Theme
from bertviewer.plots.color_scale import ColorScale, color_table

INSET = 1.5  # pixels around a picture
LEAST = 12.0
"""Smaller squares, in pixels, would show nothing: pictures have all of their cells then."""
LARGEST_SPOT, SPOT = 4.0, 0.22
"""A spot's radius: at most so many pixels, and no more than such a part of its cell."""


class HeadPictures(pg.GraphicsObject):  # type: ignore[misc]
    """What heads look at: shares [n, n] as squares in the cells of a grid, or as high as these are.

    Colours follow the square roots of the shares, from 0 to the largest of all heads: small ones
    have to be seen here.
    """

    def __init__(
        self, shape: tuple[int, int], pictures: Mapping[tuple[int, int], Values], theme: Theme
    ) -> None:
        super().__init__()
        self._bounds = QRectF(0, 0, shape[1], shape[0])
        self._theme = theme
        largest = [levels_of(picture)[1] for picture in pictures.values()]
        levels = 0.0, max(largest, default=1.0) or 1.0
        scale = ColorScale(levels, color_table(theme, False), is_root=True)
        self._images = {cell: scale.picture(picture) for cell, picture in pictures.items()}
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
        for (row, column), image in self._images.items():
            cell = transform.mapRect(QRectF(column, row, 1, 1))
            room = cell.adjusted(INSET, INSET, -INSET, -INSET)
            side = min(room.width(), room.height())
            if side >= LEAST:
                room = QRectF(0, 0, side, side)
                room.moveCenter(cell.center())
            elif cell.height() < LEAST:
                room = cell.adjusted(INSET, 0.5, -INSET, -0.5)
            painter.drawImage(room, image)
        painter.restore()


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
