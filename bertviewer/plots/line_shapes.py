"""What is drawn of lines beside the lines themselves."""

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from math import isfinite

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QPainterPath, QPen, QPolygonF
from PySide6.QtWidgets import QGraphicsItem, QGraphicsPathItem

from bertviewer.charts.chart import Line
from bertviewer.plots.color_scale import tinted
from bertviewer.plots.curve import Curve

BAND_OPACITY = 0.16
SINGLE_WIDTH = 0.15
"""How far a band around a single point reaches to either side."""

Values = Sequence[float | None]


def finite_at(values: Values | None, x: int) -> float | None:
    """Return a finite value, ``None`` where there is none."""
    value = values[x] if values is not None and x < len(values) else None
    return value if value is not None and isfinite(value) else None


def surroundings(
    line: Line, heights: Callable[[Values], Values], color: str, pen: QPen
) -> Iterator[QGraphicsItem]:
    """Yield a line's band, below all lines, and its extremes."""
    if line.low is not None and line.high is not None:
        band = QGraphicsPathItem(_band(heights(line.low), heights(line.high)))
        band.setBrush(tinted(color, BAND_OPACITY))
        band.setPen(QPen(Qt.PenStyle.NoPen))
        band.setZValue(-10)
        yield band
    for part in (line.min, line.max):
        if part is not None:
            yield Curve(heights(part), pen)


def _band(low: Values, high: Values) -> QPainterPath:
    """Return the area between two lines, in one piece for each piece without gaps."""
    edges = [(x, finite_at(low, x), finite_at(high, x)) for x in range(min(len(low), len(high)))]
    path = QPainterPath()
    for is_whole, piece in groupby(edges, lambda edge: None not in edge):
        if not is_whole:
            continue
        points = [(x, bottom or 0.0, top or 0.0) for x, bottom, top in piece]
        if len(points) == 1:
            ((x, bottom, top),) = points
            path.addRect(QRectF(x - SINGLE_WIDTH, bottom, 2 * SINGLE_WIDTH, top - bottom))
            continue
        below = [QPointF(x, bottom) for x, bottom, _ in points]
        above = [QPointF(x, top) for x, _, top in reversed(points)]
        path.addPolygon(QPolygonF(below + above))
        path.closeSubpath()
    return path
