"""The cells of many heads as pictures, made when they are drawn, and kept as long as they do."""

from msgspec import Struct
from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QImage, QPainter, QPainterPath, QPen

from bertviewer.charts.chart import HeadsChart
from bertviewer.charts.theme import Theme
from bertviewer.plots.cells import are_rectangles, draw_rectangles, is_paper, sharp
from bertviewer.plots.color_scale import ColorScale, reduced, tinted
from bertviewer.plots.hatch import draw_area, hidden_area

DIVIDER_OPACITY = 0.6


class _Picture(Struct, frozen=True):
    """A head's cells, what of its rectangle a mask hides, and the size that they are for."""

    size: object
    image: QImage
    hidden: QPainterPath


class HeadCells:
    """Draws the heads of one chart in a theme's colours.

    It ``is_complete`` if all that was drawn since ``begin()`` was as it has to be.
    """

    def __init__(self, chart: HeadsChart, theme: Theme) -> None:
        self._chart, self._theme = chart, theme
        self._pictures: dict[int, _Picture] = {}
        self._left = 0
        self.is_complete = True

    def begin(self, most: int) -> None:
        """Begin to draw all heads; so many of their pictures may be made."""
        self._left, self.is_complete = most, True

    def draw(self, painter: QPainter, head: int, rect: QRectF, scale: ColorScale) -> None:
        """Draw a head; a picture of another size is stretched until its turn has come."""
        chart = self._chart
        if are_rectangles(painter, chart.values.size):
            draw_area(painter, self._hidden(head, rect), self._theme)
            draw_rectangles(painter, rect, chart.measured(head), scale)
        else:
            picture = self._picture(painter, head, rect, scale)
            if picture is not None:
                draw_area(painter, picture.hidden.translated(rect.topLeft()), self._theme)
                painter.drawImage(rect, picture.image)
        self._draw_dividers(painter, rect)

    def _picture(
        self, painter: QPainter, head: int, rect: QRectF, scale: ColorScale
    ) -> _Picture | None:
        """Return a head's picture, made anew if its size is another one and its turn has come."""
        pixels = self._pixels(painter, rect)
        size = pixels, rect.width(), rect.height()
        picture = self._pictures.get(head)
        if picture is not None and picture.size == size:
            return picture
        if not self._left:
            self.is_complete = False
            return picture
        self._left -= 1
        values = reduced(self._chart.measured(head), *pixels, scale.is_signed)
        hidden = self._hidden(head, QRectF(QPointF(), rect.size()))
        image = scale.picture(values)
        image = sharp(image, rect.width()) if is_paper(painter) else image
        self._pictures[head] = picture = _Picture(size, image, hidden)
        return picture

    def _pixels(self, painter: QPainter, rect: QRectF) -> tuple[int, int]:
        """Return how many rows and columns of pixels a rectangle has on the device, if fewer."""
        _, rows, columns = self._chart.values.shape
        if is_paper(painter):
            return rows, columns
        pixels = painter.deviceTransform().mapRect(rect)
        # Rounded down: of an image that is shrunk, lines of pixels are left out.
        return max(1, min(rows, int(pixels.height()))), max(1, min(columns, int(pixels.width())))

    def _hidden(self, head: int, rect: QRectF) -> QPainterPath:
        masked = self._chart.masked
        return QPainterPath() if masked is None else hidden_area(rect, masked[head])

    def _draw_dividers(self, painter: QPainter, rect: QRectF) -> None:
        """Set texts off from one another."""
        chart = self._chart
        _, rows, columns = chart.values.shape
        painter.setPen(QPen(tinted(self._theme.muted, DIVIDER_OPACITY), 1))
        for key in chart.key_starts:
            x = rect.x() + rect.width() * key / columns
            painter.drawLine(QPointF(x, rect.top()), QPointF(x, rect.bottom()))
        for query in chart.query_starts:
            y = rect.y() + rect.height() * query / rows
            painter.drawLine(QPointF(rect.left(), y), QPointF(rect.right(), y))
