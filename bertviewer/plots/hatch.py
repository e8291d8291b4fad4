"""Hatch of cells that a mask hides."""

from collections.abc import Sequence
from itertools import pairwise
from math import ceil, floor

import numpy as np
from PySide6.QtCore import QLineF, QPointF, QRectF
from PySide6.QtGui import QColor, QPainter, QPainterPath, QPen

from bertviewer.charts.levels import Mask
from bertviewer.charts.theme import Theme
from bertviewer.plots.color_scale import reduced

SPACE = 5.0
"""Pixels between lines."""


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
        first = ceil((rect.left() + rect.top() - start) / SPACE)
        last = floor((rect.right() + rect.bottom() - start) / SPACE)
        for number in range(first, last + 1):
            # On a line the sum of x and y is constant.
            total = start + number * SPACE
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
