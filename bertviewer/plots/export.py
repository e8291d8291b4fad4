"""Plots as PNG, SVG and PDF.

Files have the colours for paper. With a title they are figures: the title is above the plot, the
selection is not framed, and they have at least the size of a figure.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import ceil

from msgspec import Struct
from PySide6.QtCore import (
    QBuffer,
    QByteArray,
    QCoreApplication,
    QIODevice,
    QMarginsF,
    QPointF,
    QRectF,
    QSize,
    QSizeF,
    Qt,
)
from PySide6.QtGui import (
    QColor,
    QFontMetricsF,
    QImage,
    QImageWriter,
    QPageLayout,
    QPageSize,
    QPainter,
    QPdfWriter,
)
from PySide6.QtWidgets import QApplication

from bertviewer.charts.selection_key import SelectionKey
from bertviewer.charts.theme import GRID, LARGE, LIGHT, Theme
from bertviewer.plots.canvas_plot import CanvasPlot
from bertviewer.plots.fonts import load_fonts, sized, weighted, window_font
from bertviewer.plots.svg import Draw, svg_of

MIN_FIGURE = QSize(720, 420)
"""Pixels of a plot that is drawn as a figure."""
POINTS_PER_PIXEL = 0.75
DOTS_PER_INCH = 96


def png(plot: CanvasPlot, title: str = "", scale: float = 2) -> bytes:
    """Return a PNG with ``scale`` times as many pixels either way as the plot has.

    Raises:
        OSError: the image could not be written.
    """
    with prepared(plot, title=title):
        draw, width, height = _titled(plot, title)
        image = QImage(QSize(width, height) * scale, QImage.Format.Format_RGB32)
        image.setDevicePixelRatio(scale)  # lines and letters grow with it
        image.fill(plot.theme.surface)
        painter = QPainter(image)
        painter.setLayoutDirection(Qt.LayoutDirection.LeftToRight)  # as on a widget
        draw(painter)
        painter.end()
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    if not QImageWriter(buffer, QByteArray(b"png")).write(image):
        raise OSError("the image could not be written")
    return bytes(buffer.data().data())


def pdf(plot: CanvasPlot, title: str = "") -> bytes:
    """Return a PDF of one page in the size of the plot."""
    with prepared(plot, title=title):
        return pdf_of(*_titled(plot, title), title)


def svg(plot: CanvasPlot, title: str = "") -> bytes:
    """Return an SVG, with the plot's accessible name and description for screen readers."""
    with prepared(plot, title=title):
        return _svg(plot, title).encode()


def plot_svg(plot: CanvasPlot, width: int, height: int, theme: Theme = LIGHT) -> str:
    """Resize a plot, and return its SVG in a theme's colours."""
    plot.resize(width, height)
    with prepared(plot, theme):
        return _svg(plot, "")


def pdf_of(draw: Draw, width: float, height: float, title: str, resolution: int = 1) -> bytes:
    """Return a PDF of one page of ``width`` × ``height`` pixels.

    ``resolution`` is the number of units per pixel: letters are placed at whole units.
    """
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    writer = QPdfWriter(buffer)
    size = QSizeF(width, height) * POINTS_PER_PIXEL
    page = QPageSize(size, QPageSize.Unit.Point, "", QPageSize.SizeMatchPolicy.ExactMatch)
    writer.setPageLayout(QPageLayout(page, QPageLayout.Orientation.Portrait, QMarginsF(0, 0, 0, 0)))
    writer.setResolution(DOTS_PER_INCH * resolution)
    writer.setTitle(title)
    painter = QPainter(writer)
    painter.setLayoutDirection(Qt.LayoutDirection.LeftToRight)  # as on a widget
    painter.scale(resolution, resolution)
    # Otherwise images of very many cells become JPEGs.
    painter.setRenderHint(QPainter.RenderHint.LosslessImageRendering)
    draw(painter)
    painter.end()
    return bytes(buffer.data().data())


@contextmanager
def prepared(plot: CanvasPlot, theme: Theme = LIGHT, *, title: str = "") -> Iterator[None]:
    """Give a plot colours, titles and colour bar for paper, and with a title the size of a figure.

    It is enlarged by what it gets in addition, so that its content keeps the size of the screen.
    """
    plot.ensurePolished()
    size, selection, focused = plot.size(), plot.selection, plot.focused_point
    neighbour, before = plot.neighbour, plot.theme
    if title:
        plot.focused_point = None
        if not plot.shows_by_selection:
            plot.mark(SelectionKey())
        plot.resize(size.expandedTo(MIN_FIGURE))
    content = plot.content_size()
    is_alone = neighbour is None and plot.is_titled
    try:
        plot.neighbour, plot.is_on_paper = None, True
        plot.set_theme(theme)
        if not is_alone:
            missing = content - plot.content_size()
            more = QSize(ceil(missing.width()), ceil(missing.height()))
            plot.resize(plot.size() + more)
        yield
    finally:
        plot.neighbour, plot.is_on_paper, plot.focused_point = neighbour, False, focused
        plot.set_theme(before)
        plot.mark(selection)
        plot.resize(size)


def _svg(plot: CanvasPlot, title: str) -> str:
    names = plot.accessibleName(), plot.accessibleDescription()
    return svg_of(*_titled(plot, title), *names)


def _titled(plot: CanvasPlot, title: str) -> tuple[Draw, int, int]:
    """Return what draws a plot with its title above, and the width and height of both."""
    width, height = plot.width(), plot.height()
    if not title:
        return plot.draw_on, width, height
    font = weighted(sized(plot.font(), LARGE))
    metrics = QFontMetricsF(font)
    high = ceil(metrics.height()) + 3 * GRID

    def draw(painter: QPainter) -> None:
        painter.fillRect(QRectF(0, 0, width, high), QColor(plot.theme.surface))
        painter.setFont(font)
        painter.setPen(QColor(plot.theme.text))
        room = width - 4.0 * GRID
        text = metrics.elidedText(title, Qt.TextElideMode.ElideRight, room)
        painter.drawText(QPointF(2.0 * GRID, 2 * GRID + metrics.ascent()), text)
        painter.translate(0, high)
        plot.draw_on(painter)

    return draw, width, height + high


class ImageFormat(Struct, frozen=True):
    """A file format of plots; ``content`` returns the bytes for a plot and a title."""

    name: str
    content: Callable[[CanvasPlot, str], bytes]

    @property
    def suffix(self) -> str:
        """The ending of file names."""
        return f".{self.name.lower()}"

    @property
    def file_filter(self) -> str:
        """The filter of a file dialog."""
        return f"{self.name} (*{self.suffix})"


IMAGE_FORMATS = (ImageFormat("PNG", png), ImageFormat("SVG", svg), ImageFormat("PDF", pdf))
"""All formats, the default first."""


def offscreen_application() -> QCoreApplication:
    """Return the current application, or a new one that needs no display.

    The caller keeps the reference: a new application ends with its last reference.
    """
    application = QApplication.instance()
    if application is None:
        before = os.environ.get("QT_QPA_PLATFORM")
        os.environ["QT_QPA_PLATFORM"] = "offscreen"
        try:
            application = QApplication(["bertviewer"])
        finally:
            del os.environ["QT_QPA_PLATFORM"]
            if before is not None:
                os.environ["QT_QPA_PLATFORM"] = before
        load_fonts()
        application.setFont(window_font())
    return application
