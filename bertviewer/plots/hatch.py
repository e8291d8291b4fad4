"""Cells that a mask hides, hatched: they have the colour of no value."""

from itertools import pairwise
from math import ceil

import numpy as np
from PySide6.QtCore import QLineF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPainterPath, QPen

from bertviewer.charts.levels import Mask
from bertviewer.charts.theme import Theme
from bertviewer.plots.color_scale import reduced

SPACE = 5.0
"""Pixels from one line to the next."""


def draw_hatch(painter: QPainter, bounds: QRectF, masked: Mask, theme: Theme) -> None:
    """Hatch the cells of a grid [rows, columns] that fills ``bounds``, row 0 first in y."""
    draw_area(painter, hidden_area(bounds, masked), theme)


def hidden_area(bounds: QRectF, masked: Mask) -> QPainterPath:
    """Return where cells of a grid that fills ``bounds`` are hidden."""
    rows = max(1, min(masked.shape[0], int(bounds.height())))
    columns = max(1, min(masked.shape[1], int(bounds.width())))
    # A block is hidden where all of its cells are.
    hidden = reduced((~masked).astype(np.float32), rows, columns) == 0
    return _area(bounds, hidden) if hidden.any() else QPainterPath()


def draw_area(painter: QPainter, area: QPainterPath, theme: Theme) -> None:
    """Hatch an area."""
    if area.isEmpty():
        return
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setClipPath(area, Qt.ClipOperation.IntersectClip)
    _draw_lines(painter, area.boundingRect(), theme)
    painter.restore()


def draw_hatched_ground(painter: QPainter, bounds: QRectF, theme: Theme) -> None:
    """Hatch a whole rectangle, over which a picture goes that lets it be seen where it is masked.

    The painter may be scaled; lines are as far apart as everywhere.
    """
    seen = painter.worldTransform().mapRect(bounds)
    painter.save()
    painter.resetTransform()
    painter.setClipRect(seen)
    painter.fillRect(seen, QColor(theme.surface))
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    _draw_lines(painter, seen, theme)
    painter.restore()


def _draw_lines(painter: QPainter, bounds: QRectF, theme: Theme) -> None:
    painter.setPen(QPen(QColor(theme.faint), 0.6))
    painter.drawLines(_lines(bounds))


def _area(bounds: QRectF, hidden: Mask) -> QPainterPath:
    """Return the cells as rectangles: neighbours in a row as one, and equal rows as one."""
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


def _lines(bounds: QRectF) -> list[QLineF]:
    high = bounds.height()
    count = ceil((bounds.width() + high) / SPACE)
    starts = (bounds.left() + number * SPACE for number in range(count))
    return [QLineF(x, bounds.top(), x - high, bounds.bottom()) for x in starts]
