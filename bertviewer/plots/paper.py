"""A plot as a one-page PDF: vector lines and selectable text, for the report."""

from PySide6.QtCore import QBuffer, QCoreApplication, QEvent, QIODevice, QMarginsF, QRectF, QSizeF
from PySide6.QtGui import QPageLayout, QPageSize, QPainter, QPdfWriter
from PySide6.QtWidgets import QWidget

POINTS_PER_PIXEL = 0.75


def plot_pdf(plot: QWidget, width: int, height: int) -> bytes:
    """Draw ``plot`` at ``width`` × ``height`` pixels and return the PDF's bytes.

    The plot is resized for it, so it should be one made for paper.
    """
    plot.resize(width, height)
    # A plot lays itself out when it is first shown; grabbing does the same without a window.
    plot.grab()
    # Axes that chose a new size meanwhile wait for an event loop, which a command has not.
    QCoreApplication.sendPostedEvents(None, QEvent.Type.LayoutRequest)
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    writer = QPdfWriter(buffer)
    size = QSizeF(width * POINTS_PER_PIXEL, height * POINTS_PER_PIXEL)
    page = QPageSize(size, QPageSize.Unit.Point, "plot", QPageSize.SizeMatchPolicy.ExactMatch)
    writer.setPageLayout(QPageLayout(page, QPageLayout.Orientation.Portrait, QMarginsF(0, 0, 0, 0)))
    writer.setResolution(96)
    painter = QPainter(writer)
    plot.render(painter, QRectF(0, 0, width, height), plot.rect())  # type: ignore[call-overload]
    painter.end()
    return bytes(buffer.data().data())
