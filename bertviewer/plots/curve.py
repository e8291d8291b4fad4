"""A line over positions 0, 1, 2 …, with a symbol at each of its points."""

from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from math import isfinite

from msgspec import Struct
from pyqtgraph.functions import invertQTransform
from pyqtgraph.graphicsItems.ScatterPlotItem import drawSymbol
from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QBrush, QPainter, QPen, QPolygonF, QTransform
from PySide6.QtWidgets import QGraphicsItem

from bertviewer.plots.cells import is_paper


class Symbol(Struct, frozen=True):
    """What stands at a point; ``shape`` is a name of pyqtgraph's, ``size`` is in pixels."""

    shape: str
    size: float
    brush: QBrush
    edge: QPen

    def draw(self, painter: QPainter, center: QPointF) -> None:
        """Draw it around a point."""
        before = painter.transform()
        painter.translate(center)
        drawSymbol(painter, self.shape, self.size, self.edge, self.brush)
        painter.setTransform(before)


class Curve(QGraphicsItem):
    """A line from point to point, with a gap where a height is missing or not finite.

    pyqtgraph's own items do far more, and take several times as long to make and to draw.
    """

    def __init__(
        self, heights: Sequence[float | None], pen: QPen, symbol: Symbol | None = None
    ) -> None:
        super().__init__()
        self.pen, self.symbol = pen, symbol
        self.heights = tuple(y if y is not None and isfinite(y) else None for y in heights)

    def lines(self) -> list[QPolygonF]:
        """Return the pieces between gaps in the plot's pixels."""
        in_pixels = self.sceneTransform()
        return [in_pixels.map(QPolygonF(piece)) for piece in self._pieces()]

    def boundingRect(self) -> QRectF:
        """Return the rectangle of all that is drawn; Qt calls it."""
        points = [point for piece in self._pieces() for point in piece]
        # Half of it would do for what is drawn, were there no corners and no smooth edges.
        margin = 1 + self.pen.widthF() + (self.symbol.size if self.symbol else 0)
        pixels = self.sceneTransform().map(QPolygonF(points)).boundingRect()
        pixels.adjust(-margin, -margin, margin, margin)
        return self._to_item().mapRect(pixels) if points else QRectF()

    def paint(self, painter: QPainter, *_: object) -> None:
        """Draw; Qt calls it."""
        in_pixels = self.sceneTransform()
        # The plot's pixels, in which a symbol has its size, whatever is one pixel on paper.
        painter.setTransform(self._to_item(), combine=True)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        pieces = [[in_pixels.map(point) for point in piece] for piece in self._pieces()]
        painter.setPen(self.pen)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        # Qt takes ten times as long for a line in one piece; one that is dashed has to be.
        in_parts = self.pen.style() == Qt.PenStyle.SolidLine and not is_paper(painter)
        for points in pieces:
            if in_parts:
                painter.drawLines([QLineF(*ends) for ends in pairwise(points)])
            else:
                painter.drawPolyline(QPolygonF(points))
        if self.symbol is not None:
            for points in pieces:
                for point in points:
                    self.symbol.draw(painter, point)

    def _pieces(self) -> Iterator[list[QPointF]]:
        """Yield the points between gaps, in the plot's coordinates."""
        points = list(enumerate(self.heights))
        for is_gap, piece in groupby(points, lambda point: point[1] is None):
            if not is_gap:
                yield [QPointF(x, y) for x, y in piece if y is not None]

    def _to_item(self) -> QTransform:
        """Return the transform from the plot's pixels to its coordinates."""
        # Qt's own inverse takes a scale below 1e-12, as of values above 1e14, for none.
        inverse: QTransform = invertQTransform(self.sceneTransform())
        return inverse
