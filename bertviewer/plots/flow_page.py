"""A drawing of a flow as a PDF of one page, as large as itself."""

from PySide6.QtCore import QBuffer, QIODevice, QMarginsF, QRectF, QSizeF
from PySide6.QtGui import QColor, QPageLayout, QPageSize, QPainter, QPdfWriter

from bertviewer.charts.flow.drawing import Drawing
from bertviewer.charts.theme import LIGHT, Theme
from bertviewer.core.text.plain_text import printable
from bertviewer.plots.flow_painting import paint
from bertviewer.plots.paper import DOTS_PER_INCH, POINTS_PER_PIXEL

_FINER = 8
"""So many units of a page for each pixel: letters stand between pixels."""


def pdf_of(drawing: Drawing, theme: Theme = LIGHT) -> bytes:
    """Return a PDF of one page as large as the drawing."""
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    writer = QPdfWriter(buffer)
    size = QSizeF(drawing.width, drawing.height) * POINTS_PER_PIXEL
    page = QPageSize(size, QPageSize.Unit.Point, "flow", QPageSize.SizeMatchPolicy.ExactMatch)
    writer.setPageLayout(QPageLayout(page, QPageLayout.Orientation.Portrait, QMarginsF(0, 0, 0, 0)))
    # Letters of fractions of a pixel need finer units than the screen's.
    writer.setResolution(DOTS_PER_INCH * _FINER)
    writer.setTitle(printable(" ".join(label.text for label in drawing.title)))
    painter = QPainter(writer)
    painter.scale(_FINER, _FINER)
    if theme is not LIGHT:
        painter.fillRect(QRectF(0, 0, drawing.width, drawing.height), QColor(theme.surface))
    paint(drawing, painter, theme)
    painter.end()
    return bytes(buffer.data().data())
