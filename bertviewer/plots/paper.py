"""A plot as a one-page PDF: vector lines and selectable text, for the report and for files."""

from PySide6.QtCore import QBuffer, QCoreApplication, QEvent, QIODevice, QMarginsF, QSizeF
from PySide6.QtGui import QPageLayout, QPageSize, QPainter, QPdfWriter

from bertviewer.plots.head_grid import HeadGrid
from bertviewer.plots.plot import Plot

POINTS_PER_PIXEL = 0.75
DOTS_PER_INCH = 96

Drawing = Plot | HeadGrid
"""A widget that shows a chart, and can draw it anywhere."""


def lay_out(plot: Drawing, width: int, height: int) -> None:
    """Give a plot that may never have been shown its size, and let it arrange itself."""
    plot.resize(width, height)
    # A plot lays itself out when it is first shown; grabbing does the same without a window.
    plot.grab()
    # Axes that chose a new size meanwhile wait for an event loop, which a command has not.
    QCoreApplication.sendPostedEvents(None, QEvent.Type.LayoutRequest)


def plot_pdf(plot: Drawing, width: int, height: int) -> bytes:
    """Draw ``plot`` at ``width`` × ``height`` pixels and return the PDF's bytes.

    The plot is resized for it, so it should be one made for paper.
    """
    lay_out(plot, width, height)
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    writer = QPdfWriter(buffer)
    size = QSizeF(width * POINTS_PER_PIXEL, height * POINTS_PER_PIXEL)
    page = QPageSize(size, QPageSize.Unit.Point, "plot", QPageSize.SizeMatchPolicy.ExactMatch)
    writer.setPageLayout(QPageLayout(page, QPageLayout.Orientation.Portrait, QMarginsF(0, 0, 0, 0)))
    writer.setResolution(DOTS_PER_INCH)
    painter = QPainter(writer)
    # Else pictures of very many cells become JPEGs.
    painter.setRenderHint(QPainter.RenderHint.LosslessImageRendering)
    plot.draw_on(painter)
    painter.end()
    return bytes(buffer.data().data())
