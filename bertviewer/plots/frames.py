"""Frame around what is selected, visible on any colour."""

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen

from bertviewer.charts.theme import Theme

HALO, THIN, THICK = 1.0, 1.0, 2.0  # pixels


def draw_frame(
    painter: QPainter, rect: QRectF, within: QRectF, theme: Theme, width: float = THICK
) -> None:
    """Draw a frame in the text's colour with a halo in the background's.

    Its line is outside of the rectangle, but inside of ``within``. It has two sides even where the
    rectangle is thinner than a pixel, as one of very many rows is.
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
