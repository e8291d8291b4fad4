"""A grid of coloured cells: one picture on the screen, rectangles without seams on paper."""

from collections.abc import Iterator
from contextlib import contextmanager
from math import inf

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QLineF, QRectF
from PySide6.QtGui import QColor, QImage, QPaintEngine, QPainter, QPen

from bertviewer.charts.levels import Values
from bertviewer.plots.color_scale import SHADES, ColorScale, reduced

# How far a cell reaches under the next ones, in parts of a cell, and in pixels where cells are
# thin. Cells that only touch show the background between them as soon as edges are smoothed, as
# every PDF viewer does.
OVERLAP, LEAST_OVERLAP = 0.06, 0.75
LEAST_SPACED = 12.0
"""Cells of fewer pixels, across or down, have no space between them."""
SPACE = 1.0
MOST_RECTANGLES = 5_000
"""More cells than these are a picture on paper too."""
_as_pictures = False

_PAPER = frozenset((QPaintEngine.Type.Pdf, QPaintEngine.Type.SVG, QPaintEngine.Type.Picture))


def is_paper(painter: QPainter) -> bool:
    """Tell whether a painter draws what can be enlarged: a PDF, an SVG, a recording."""
    return painter.paintEngine().type() in _PAPER


@contextmanager
def cells_as_pictures() -> Iterator[None]:
    """Have few cells drawn as a picture on paper too: thousands of rectangles take their time."""
    global _as_pictures  # noqa: PLW0603 - drawing is the window's thread's, and never nested
    _as_pictures = True
    try:
        yield
    finally:
        _as_pictures = False


def are_rectangles(painter: QPainter, count: int) -> bool:
    """Return whether so many cells are drawn as rectangles, and not as a picture."""
    return is_paper(painter) and not _as_pictures and count <= MOST_RECTANGLES


def sharp(image: QImage, width: float) -> QImage:
    """Return a picture of cells with as many pixels as it is wide on paper, whole ones for each.

    Programs that smooth pictures leave the edges of cells that have several.
    """
    times = max(1, round(width / max(1, image.width())))
    return image.scaled(image.width() * times, image.height() * times)


def draw_rectangles(painter: QPainter, bounds: QRectF, values: Values, scale: ColorScale) -> None:
    """Fill ``bounds`` with a rectangle for each finite value [rows, columns], row 0 first in y."""
    rows, columns = values.shape
    width, height = bounds.width() / columns, bounds.height() / rows
    colors = [QColor.fromRgba(int(color)) for color in scale.table]
    places = scale.shades(values)
    # Those drawn later cover what lies beneath them; an empty cell does not.
    filled = np.pad(places != SHADES, ((0, 1), (0, 1)))
    pixels = painter.transform().mapRect(QRectF(0, 0, width, height))
    wide = (1 + filled[:-1, 1:] * _overlap(pixels.width())).tolist()
    tall = (1 + filled[1:, :-1] * _overlap(pixels.height())).tolist()
    for row, line in enumerate(places.tolist()):
        for column, shade in enumerate(line):
            if shade == SHADES:
                continue
            x, y = bounds.x() + column * width, bounds.y() + row * height
            size = wide[row][column] * width, tall[row][column] * height
            painter.fillRect(QRectF(x, y, *size), colors[shade])


def _overlap(pixels: float) -> float:
    """Return the part of a cell, so many pixels long, that it reaches under the next one."""
    return min(1.0, max(OVERLAP, LEAST_OVERLAP / pixels)) if pixels else 0.0


class Cells(pg.GraphicsObject):  # type: ignore[misc]
    """Values [rows, columns] as unit squares from the origin, row 0 at y = 0.

    A cell that is not finite stays empty. On a screen with fewer pixels than cells, a pixel shows
    the largest of its cells, or the one farthest from 0 if the values are signed. Where there is
    room, a line of the colour ``between`` sets each off, unless ``others`` beside them, which are
    so many pixels wide, have no room for one.
    """

    def __init__(self, values: Values, scale: ColorScale, between: str = "") -> None:
        super().__init__()
        self._between = between
        self.others = inf
        self._values = np.where(np.isfinite(values), values, np.nan)
        self._scale = scale
        self._images: dict[tuple[int, int], QImage] = {}

    def boundingRect(self) -> QRectF:
        """Return the grid's rectangle; Qt calls it."""
        rows, columns = self._values.shape
        return QRectF(0, 0, columns, rows)

    def paint(self, painter: QPainter, *_: object) -> None:
        """Draw; Qt calls it."""
        rows, columns = self._values.shape
        pixels = painter.deviceTransform().mapRect(self.boundingRect())
        # Rounded down: of an image that is shrunk, lines of pixels are left out.
        wide, tall = int(pixels.width()), int(pixels.height())
        if not is_paper(painter):
            size = max(1, min(rows, tall)), max(1, min(columns, wide))
            painter.drawImage(self.boundingRect(), self._image(*size))
        elif are_rectangles(painter, self._values.size):
            draw_rectangles(painter, self.boundingRect(), self._values, self._scale)
        else:
            painter.drawImage(self.boundingRect(), sharp(self._image(rows, columns), wide))
        if self._between and min(wide / columns, tall / rows, self.others) >= LEAST_SPACED:
            self._draw_lines(painter)

    def _draw_lines(self, painter: QPainter) -> None:
        """Set the cells off from one another."""
        rows, columns = self._values.shape
        pen = QPen(QColor(self._between), SPACE * painter.device().devicePixelRatioF())
        pen.setCosmetic(True)
        painter.setPen(pen)
        painter.drawLines([QLineF(0, row, columns, row) for row in range(1, rows)])
        painter.drawLines([QLineF(column, 0, column, rows) for column in range(1, columns)])

    def _image(self, rows: int, columns: int) -> QImage:
        if (rows, columns) not in self._images:
            values = reduced(self._values, rows, columns, self._scale.is_signed)
            # Only the last size is worth keeping: the next paint asks for it again.
            self._images = {(rows, columns): self._scale.picture(values)}
        return self._images[rows, columns]
