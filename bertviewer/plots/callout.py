"""Value of a point in a small box next to it."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from PySide6.QtCore import QLineF, QPointF, QRectF, QSizeF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter

from bertviewer.charts.theme import GRID, NORMAL, RADIUS, Theme
from bertviewer.plots.fonts import sized

DISTANCE = 10
"""Pixels between point and box, horizontally and vertically."""
DISTANCES = (DISTANCE, 24, 38)
"""Used in turn while the box would hide a line."""


def draw_callout(
    painter: QPainter,
    text: str,
    point: QPointF,
    lines: Iterable[Sequence[QPointF]],
    *,
    within: QRectF,
    covered: QRectF,
    font: QFont,
    theme: Theme,
) -> None:
    """Draw a text in a box on the side of a point where it hides least of the lines.

    The box is inside of one rectangle and outside of another, if there is room.
    """
    font = sized(font, NORMAL)
    metrics = QFontMetricsF(font)
    size = QSizeF(metrics.horizontalAdvance(text) + 4 * GRID, metrics.height() + 1.5 * GRID)
    box = callout_box(size, point, lines, within, covered)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(theme.text))
    painter.drawRoundedRect(box, RADIUS, RADIUS)
    painter.setFont(font)
    painter.setPen(QColor(theme.surface))
    painter.drawText(box, int(Qt.AlignmentFlag.AlignCenter), text)


def callout_box(
    size: QSizeF,
    point: QPointF,
    lines: Iterable[Sequence[QPointF]],
    within: QRectF,
    covered: QRectF,
) -> QRectF:
    """Return the box of a size in which a callout is drawn."""
    segments = [QLineF(*ends) for line in lines for ends in pairwise(line)]
    every = [box.translated(point) for box in _boxes(size)]
    inside = [box for box in every if within.contains(box)]
    boxes = [box for box in inside if not box.intersects(covered)] or inside or every[:1]
    return min(boxes, key=lambda box: sum(_crosses(segment, box) for segment in segments))


def _boxes(size: QSizeF) -> Iterator[QRectF]:
    """Yield boxes around the origin, the best one first."""
    wide, high = size.width(), size.height()
    for far in DISTANCES:
        for x in (DISTANCE, -DISTANCE - wide, -wide / 2):
            for y in (-far - high, far):
                yield QRectF(QPointF(x, y), size)
        for x in (2 * far, -2 * far - wide):
            yield QRectF(QPointF(x, -high / 2), size)


def _crosses(line: QLineF, box: QRectF) -> bool:
    left, right = sorted((line.x1(), line.x2()))
    top, bottom = sorted((line.y1(), line.y2()))
    if right < box.left() or left > box.right() or bottom < box.top() or top > box.bottom():
        return False
    # The corners are on both sides of the line, which does not end there.
    corners = (box.topLeft(), box.topRight(), box.bottomLeft(), box.bottomRight())
    dx, dy = line.dx(), line.dy()
    sides = [dx * (corner.y() - line.y1()) - dy * (corner.x() - line.x1()) for corner in corners]
    return min(sides) <= 0 <= max(sides)
