"""Frames around what is selected in a grid, visible on any colour."""

from collections.abc import Sequence

import pyqtgraph as pg
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen

from bertviewer.charts.theme import Theme

HALO, THIN, THICK = 1.0, 1.0, 2.0  # pixels


def draw_frame(
    painter: QPainter, rect: QRectF, within: QRectF, theme: Theme, width: float = THICK
) -> None:
    """Draw a frame around a rectangle, dark with a light halo or the other way round.

    Its line is outside of the rectangle, but not outside of ``within``. It has two sides even where
    the rectangle is thinner than a pixel, as one of very many rows is.
    """
    painter.setBrush(Qt.BrushStyle.NoBrush)
    half = width / 2 + HALO
    inner = within.adjusted(half, half, -half, -half)
    outer = rect.adjusted(-half, -half, half, half) & inner
    least = QRectF(0, 0, 2 * half, 2 * half)
    least.moveCenter(outer.center())
    least.moveTo(max(least.x(), inner.x()), max(least.y(), inner.y()))
    least.translate(min(0, inner.right() - least.right()), min(0, inner.bottom() - least.bottom()))
    outer |= least
    for color, pen_width in ((theme.surface, width + 2 * HALO), (theme.text, width)):
        pen = QPen(QColor(color), pen_width)
        pen.setJoinStyle(Qt.PenJoinStyle.MiterJoin)
        painter.setPen(pen)
        painter.drawRect(outer)


class Frames(pg.GraphicsObject):  # type: ignore[misc]
    """Thin and thick frames around rectangles inside of ``bounds``, all in a plot's units."""

    def __init__(self, bounds: QRectF, theme: Theme) -> None:
        super().__init__()
        self._bounds, self._theme = bounds, theme
        self.thin: tuple[QRectF, ...] = ()
        self.thick: tuple[QRectF, ...] = ()
        self.setZValue(10)

    def show_frames(self, thin: Sequence[QRectF], thick: Sequence[QRectF]) -> None:
        """Draw these frames, in place of those drawn before."""
        self.thin, self.thick = tuple(thin), tuple(thick)
        self.update()

    def boundingRect(self) -> QRectF:
        """Return the rectangle that holds all frames; Qt calls it."""
        return self._bounds

    def paint(self, painter: QPainter, *_: object) -> None:
        """Draw; Qt calls it."""
        # Lines are measured in pixels, however many units those are.
        transform = painter.transform()
        within = transform.mapRect(self._bounds)
        painter.save()
        painter.resetTransform()
        for frames, width in ((self.thin, THIN), (self.thick, THICK)):
            for rect in frames:
                draw_frame(painter, transform.mapRect(rect), within, self._theme, width)
        painter.restore()
