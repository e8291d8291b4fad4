"""A few words in a small field beside a point of a plot."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from PySide6.QtCore import QLineF, QPointF, QRectF, QSizeF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter
from PySide6.QtWidgets import QGraphicsItem

from bertviewer.charts.theme import GRID, NORMAL, RADIUS, Theme
from bertviewer.plots.fonts import sized

BESIDE = 10
"""Pixels between the point and the field across, and down."""
FARTHER = (BESIDE, 24, 38)
"""Where the field would hide a line nearer to the point."""


class Callout(QGraphicsItem):
    """Stands at a point of the plot, as large as its words on the screen, however it is zoomed."""

    def __init__(self, text: str, font: QFont, theme: Theme) -> None:
        super().__init__()
        self.text = text
        self._font, self._theme = sized(font, NORMAL), theme
        self.setFlag(QGraphicsItem.GraphicsItemFlag.ItemIgnoresTransformations)
        self.setAcceptedMouseButtons(Qt.MouseButton.NoButton)
        metrics = QFontMetricsF(self._font)
        self._size = QSizeF(
            metrics.horizontalAdvance(text) + 4 * GRID, metrics.height() + 1.5 * GRID
        )
        self._box = next(self._boxes())

    def give_way(self, lines: Iterable[Sequence[QPointF]], within: QRectF, covered: QRectF) -> None:
        """Go to the side of the point where the field hides least of lines.

        It stays inside of one rectangle and outside of another. All are in pixels from the point.
        """
        ways = [QLineF(*ends) for line in lines for ends in pairwise(line)]
        inside = [box for box in self._boxes() if within.contains(box)]
        boxes = [box for box in inside if not box.intersects(covered)]
        boxes = boxes or inside or [next(self._boxes())]
        self.prepareGeometryChange()
        self._box = min(boxes, key=lambda box: sum(_crosses(way, box) for way in ways))

    def boundingRect(self) -> QRectF:
        """Return the field; Qt calls it."""
        return self._box

    def paint(self, painter: QPainter, *_: object) -> None:
        """Draw; Qt calls it."""
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(self._theme.text))
        painter.drawRoundedRect(self._box, RADIUS, RADIUS)
        painter.setFont(self._font)
        painter.setPen(QColor(self._theme.surface))
        painter.drawText(self._box, int(Qt.AlignmentFlag.AlignCenter), self.text)

    def _boxes(self) -> Iterator[QRectF]:
        """Yield where the field can stand, the best place first."""
        wide, high = self._size.width(), self._size.height()
        for far in FARTHER:
            for x in (BESIDE, -BESIDE - wide, -wide / 2):
                for y in (-far - high, far):
                    yield QRectF(QPointF(x, y), self._size)
            for x in (2 * far, -2 * far - wide):
                yield QRectF(QPointF(x, -high / 2), self._size)


def _crosses(line: QLineF, box: QRectF) -> bool:
    """Tell whether a line comes into a box."""
    left, right = sorted((line.x1(), line.x2()))
    top, bottom = sorted((line.y1(), line.y2()))
    if right < box.left() or left > box.right() or bottom < box.top() or top > box.bottom():
        return False
    # Corners on both sides of the line, or none of them is where the line ends.
    corners = (box.topLeft(), box.topRight(), box.bottomLeft(), box.bottomRight())
    dx, dy = line.dx(), line.dy()
    sides = [dx * (corner.y() - line.y1()) - dy * (corner.x() - line.x1()) for corner in corners]
    return min(sides) <= 0 <= max(sides)
