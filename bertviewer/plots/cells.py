"""Painting of cells: an image on screens, rectangles without seams on paper; hatch and frames."""

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from math import ceil, floor

import numpy as np
from msgspec import Struct
from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QImage, QPaintEngine, QPainter, QPainterPath, QPen

from bertviewer.charts.levels import Mask, Values
from bertviewer.charts.theme import Theme
from bertviewer.plots.color_scale import SHADES, ColorScale, reduced

# How far a cell reaches under the next ones, as a fraction of a cell, and in pixels where cells are
# thin. Cells that only touch show the background between them in programs that smooth edges, such
# as all PDF viewers.
OVERLAP, MIN_OVERLAP = 0.06, 0.75
MAX_RECTANGLES = 5_000
"""Grids of more cells are images on paper, too."""
MIN_SPACED = 12.0
"""Only cells of at least this many pixels have lines between them."""
HATCH_SPACE = 5.0
"""Pixels between lines."""
FRAME_HALO, THIN, THICK = 1.0, 1.0, 2.0  # pixels
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
    return min(1.0, max(OVERLAP, MIN_OVERLAP / pixels)) if pixels else 0.0


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
    return is_paper(painter) and not _as_images and count <= MAX_RECTANGLES


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


def draw_hatch(painter: QPainter, bounds: QRectF, masked: Mask, theme: Theme) -> None:
    """Hatch the cells of a grid [rows, columns] that fills ``bounds``, row 0 first in y."""
    draw_area(painter, hidden_area(bounds, masked), theme)


def hidden_area(bounds: QRectF, masked: Mask) -> QPainterPath:
    """Return the area of the hidden cells of a grid that fills ``bounds``."""
    rows = max(1, min(masked.shape[0], int(bounds.height())))
    columns = max(1, min(masked.shape[1], int(bounds.width())))
    # A block is hidden where all of its cells are.
    hidden = reduced((~masked).astype(np.float32), rows, columns) == 0
    return _area(bounds, hidden) if hidden.any() else QPainterPath()


def draw_area(painter: QPainter, area: QPainterPath, theme: Theme) -> None:
    """Hatch an area of rectangles."""
    if area.isEmpty():
        return
    rects = [polygon.boundingRect() for polygon in area.toSubpathPolygons()]
    _draw_lines(painter, rects, area.boundingRect().topLeft(), theme)


def draw_hatched_ground(painter: QPainter, bounds: QRectF, theme: Theme) -> None:
    """Hatch a rectangle behind an image that is transparent where it is masked.

    Lines have their usual distance even if the painter is scaled.
    """
    seen = painter.worldTransform().mapRect(bounds)
    painter.save()
    painter.resetTransform()
    painter.fillRect(seen, QColor(theme.surface))
    _draw_lines(painter, [seen], seen.topLeft(), theme)
    painter.restore()


def _draw_lines(painter: QPainter, rects: Sequence[QRectF], origin: QPointF, theme: Theme) -> None:
    """Draw lines at 45° through rectangles, that through the origin and others in a fixed distance.

    They are cut here and not by a clip, which some programs ignore in an SVG.
    """
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QPen(QColor(theme.faint), 0.6))
    start, lines = origin.x() + origin.y(), []
    for rect in rects:
        first = ceil((rect.left() + rect.top() - start) / HATCH_SPACE)
        last = floor((rect.right() + rect.bottom() - start) / HATCH_SPACE)
        for number in range(first, last + 1):
            # On a line the sum of x and y is constant.
            total = start + number * HATCH_SPACE
            left, right = (
                max(rect.left(), total - rect.bottom()),
                min(rect.right(), total - rect.top()),
            )
            lines.append(QLineF(left, total - left, right, total - right))
    painter.drawLines(lines)
    painter.restore()


def _area(bounds: QRectF, hidden: Mask) -> QPainterPath:
    """Return the cells as rectangles that join neighbours in a row, and equal rows."""
    rows, columns = hidden.shape
    wide, tall = bounds.width() / columns, bounds.height() / rows
    padded = np.pad(hidden, ((0, 0), (1, 1))).astype(np.int8)
    steps = np.diff(padded, axis=1)
    is_new = np.ones(rows + 1, dtype=np.bool_)
    is_new[1:-1] = (hidden[1:] != hidden[:-1]).any(axis=1)
    edges = np.flatnonzero(is_new).tolist()
    path = QPainterPath()
    for top, bottom in pairwise(edges):
        starts, ends = (np.flatnonzero(steps[top] == sign).tolist() for sign in (1, -1))
        for start, end in zip(starts, ends, strict=True):
            x, y = bounds.x() + start * wide, bounds.y() + top * tall
            path.addRect(QRectF(x, y, (end - start) * wide, (bottom - top) * tall))
    return path


def draw_frame(
    painter: QPainter, rect: QRectF, within: QRectF, theme: Theme, width: float = THICK
) -> None:
    """Draw a frame in the text's colour with a halo in the background's.

    Its line is outside of the rectangle, but inside of ``within``. It has two sides even where the
    rectangle is thinner than a pixel, as one of very many rows is.
    """
    painter.setBrush(Qt.BrushStyle.NoBrush)
    half = width / 2 + FRAME_HALO
    inner = within.adjusted(half, half, -half, -half)
    outer = rect.adjusted(-half, -half, half, half) & inner
    least = QRectF(0, 0, 2 * half, 2 * half)
    least.moveCenter(outer.center())
    least.moveTo(max(least.x(), inner.x()), max(least.y(), inner.y()))
    least.translate(min(0, inner.right() - least.right()), min(0, inner.bottom() - least.bottom()))
    outer |= least
    for color, pen_width in ((theme.surface, width + 2 * FRAME_HALO), (theme.text, width)):
        pen = QPen(QColor(color), pen_width)
        pen.setJoinStyle(Qt.PenJoinStyle.MiterJoin)
        painter.setPen(pen)
        painter.drawRect(outer)
