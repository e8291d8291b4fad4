"""Grids of coloured cells: an image on screens, rectangles without seams on paper."""

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager

import numpy as np
from msgspec import Struct
from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QColor, QImage, QPaintEngine, QPainter, QPainterPath

from bertviewer.charts.levels import Mask, Values
from bertviewer.charts.theme import Theme
from bertviewer.plots.color_scale import SHADES, ColorScale, reduced
from bertviewer.plots.hatch import draw_area, hidden_area

# How far a cell reaches under the next ones, as a fraction of a cell, and in pixels where cells are
# thin. Cells that only touch show the background between them in programs that smooth edges, such
# as all PDF viewers.
OVERLAP, LEAST_OVERLAP = 0.06, 0.75
MOST_RECTANGLES = 5_000
"""Grids of more cells are images on paper, too."""
LEAST_SPACED = 12.0
"""Only cells of at least this many pixels have lines between them."""
UNLIMITED = 1_000_000
_as_images = False

_PAPER = frozenset((QPaintEngine.Type.Pdf, QPaintEngine.Type.SVG, QPaintEngine.Type.Picture))


def is_paper(painter: QPainter) -> bool:
    """Return whether a painter draws on something scalable: a PDF or an SVG."""
    return painter.paintEngine().type() in _PAPER


@contextmanager
def cells_as_images() -> Iterator[None]:
    """Draw small grids as images on paper, too: thousands of rectangles are slow."""
    global _as_images  # noqa: PLW0603 - painting is done by the GUI thread, and never nested
    _as_images = True
    try:
        yield
    finally:
        _as_images = False


def draw_rectangles(painter: QPainter, bounds: QRectF, values: Values, scale: ColorScale) -> None:
    """Fill ``bounds`` with a rectangle for each finite value [rows, columns], row 0 on top."""
    rows, columns = values.shape
    width, height = bounds.width() / columns, bounds.height() / rows
    colors = [QColor.fromRgba(int(color)) for color in scale.table]
    places = scale.shades(values)
    # Later cells cover what lies beneath them; an empty cell does not.
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
    """Return which fraction of a cell of this size reaches under the next one."""
    return min(1.0, max(OVERLAP, LEAST_OVERLAP / pixels)) if pixels else 0.0


class CellGrid(Struct, frozen=True):
    """Values [rows, columns], row 0 on top, and their colours.

    ``values`` is called when an image is made, and ``key`` identifies the grid in a cache.
    """

    shape: tuple[int, int]
    values: Callable[[], Values]
    scale: ColorScale
    masked: Mask | None = None
    key: Hashable = None


class _Image(Struct, frozen=True):
    """The cells of a grid, the area that a mask hides, and the size for which both were made."""

    size: object
    image: QImage
    hidden: QPainterPath


class CellImages:
    """Draws grids of values, and caches the last image of each by its key.

    A value that is not finite leaves its cell empty. Where the device has fewer pixels than cells,
    a pixel shows the largest of its cells, or the one farthest from 0 if values are signed. Only
    ``limit`` images are made; then old ones are stretched, and ``is_complete`` is not set.
    """

    def __init__(self, theme: Theme) -> None:
        self._theme = theme
        self._images: dict[Hashable, _Image] = {}
        self.limit = UNLIMITED
        self.is_complete = True

    def draw(self, painter: QPainter, rect: QRectF, grid: CellGrid) -> None:
        """Draw a grid into a rectangle, and hatch its masked cells."""
        if are_rectangles(painter, grid.shape[0] * grid.shape[1]):
            draw_area(painter, _hidden(rect, grid.masked), self._theme)
            draw_rectangles(painter, rect, grid.values(), grid.scale)
            return
        made = self._image(painter, rect, grid)
        if made is not None:
            draw_area(painter, made.hidden.translated(rect.topLeft()), self._theme)
            painter.drawImage(rect, made.image)

    def _image(self, painter: QPainter, rect: QRectF, grid: CellGrid) -> _Image | None:
        pixels = grid.shape if is_paper(painter) else _device_cells(painter, rect, grid.shape)
        size = pixels, rect.width(), rect.height(), is_paper(painter)
        made = self._images.get(grid.key)
        if made is not None and made.size == size:
            return made
        if not self.limit:
            self.is_complete = False
            return made
        self.limit -= 1
        values = grid.values()
        values = np.where(np.isfinite(values), values, np.nan)
        image = grid.scale.image(reduced(values, *pixels, grid.scale.is_signed))
        if is_paper(painter):
            image = _enlarged(image, rect.width())
        hidden = _hidden(QRectF(QPointF(), rect.size()), grid.masked)
        self._images[grid.key] = made = _Image(size, image, hidden)
        return made


def are_rectangles(painter: QPainter, count: int) -> bool:
    """Return whether this number of cells is drawn as rectangles and not as an image."""
    return is_paper(painter) and not _as_images and count <= MOST_RECTANGLES


def _device_cells(painter: QPainter, rect: QRectF, shape: tuple[int, int]) -> tuple[int, int]:
    """Return as many rows and columns as the device has pixels, if it has fewer."""
    pixels = painter.deviceTransform().mapRect(rect)
    # Rounded down: shrinking an image would omit lines of pixels.
    return (
        max(1, min(shape[0], int(pixels.height()))),
        max(1, min(shape[1], int(pixels.width()))),
    )


def _enlarged(image: QImage, width: float) -> QImage:
    """Return an image of cells with a whole number of pixels per cell, at least as wide as that.

    Programs that smooth images leave the edges of such cells sharp.
    """
    times = max(1, round(width / max(1, image.width())))
    return image.scaled(image.width() * times, image.height() * times)


def _hidden(rect: QRectF, masked: Mask | None) -> QPainterPath:
    return QPainterPath() if masked is None else hidden_area(rect, masked)
