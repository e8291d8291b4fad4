"""A plot as lines and letters, for the report and for files: an SVG, or a PDF of one page."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import ceil

from PySide6.QtCore import (
    QBuffer,
    QCoreApplication,
    QEvent,
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
    QPageLayout,
    QPageSize,
    QPainter,
    QPdfWriter,
    QResizeEvent,
)
from PySide6.QtWidgets import QApplication

from bertviewer.charts.selection_key import SelectionKey
from bertviewer.charts.theme import GRID, LARGE, LIGHT, Theme
from bertviewer.plots.fonts import load_fonts, sized, weighted, window_font
from bertviewer.plots.painted import PaintedPlot
from bertviewer.plots.plot import Plot
from bertviewer.plots.svg.writing import svg_of

LEAST_FIGURE = QSize(720, 420)
"""Pixels of a plot that is drawn as a figure."""
POINTS_PER_PIXEL = 0.75
DOTS_PER_INCH = 96

ChartWidget = Plot | PaintedPlot
"""A widget that shows a chart, and can draw it anywhere."""


@contextmanager
def on_paper(plot: ChartWidget, scale: float = 1, theme: Theme = LIGHT) -> Iterator[None]:
    """Let a plot have the colours for paper meanwhile, and lines so many pixels for each one."""
    before = plot.theme
    try:
        _dress(plot, theme, scale)
        yield
    finally:
        _dress(plot, before, None)


@contextmanager
def alone(plot: ChartWidget) -> Iterator[None]:
    """Let a plot have titles and a bar of colours of its own meanwhile, if it has them not.

    It is as much larger as these are: what it shows stays as large as it is on the screen.
    """
    side, size = plot.neighbour, plot.size()
    if side is None and (isinstance(plot, PaintedPlot) or plot.is_titled):
        yield
        return
    room = _room(plot)
    try:
        plot.neighbour = None
        if isinstance(plot, Plot):
            plot.paper_scale = 1  # titles are for paper alone, where it has none
        plot.set_theme(plot.theme)
        missing = room - _room(plot)
        plot.resize(ceil(size.width() + missing.width()), ceil(size.height() + missing.height()))
        yield
    finally:
        plot.neighbour = side
        if isinstance(plot, Plot):
            plot.paper_scale = None
        # Before it becomes narrow: what is gone would keep its room.
        plot.set_theme(plot.theme)
        plot.resize(size)


def _room(plot: ChartWidget) -> QSizeF:
    """Return how much of a plot shows values; of the height only what differs is of interest."""
    if isinstance(plot, PaintedPlot):
        return QSizeF(plot.width() - plot.beside_cells(), 0.0)
    lay_out(plot, plot.width(), plot.height())
    box = plot.area.vb
    return QSizeF(box.width(), box.height())


def _dress(plot: ChartWidget, theme: Theme, scale: float | None) -> None:
    if isinstance(plot, Plot):
        plot.paper_scale = scale
    plot.set_theme(theme)


def lay_out(plot: ChartWidget, width: int, height: int) -> None:
    """Give a plot that may never have been shown its size, and let it arrange itself."""
    plot.resize(width, height)
    if isinstance(plot, PaintedPlot):
        # It measures as it draws, and has but to know of its size: to paint it twice takes longer.
        plot.ensurePolished()
        QCoreApplication.sendEvent(plot, QResizeEvent(plot.size(), plot.size()))
        return
    # A plot lays itself out when it is first shown; grabbing does the same without a window.
    plot.grab()
    # Axes that chose a new size meanwhile wait for an event loop, which a command has not.
    QCoreApplication.sendPostedEvents(None, QEvent.Type.LayoutRequest)


@contextmanager
def as_figure(plot: ChartWidget, title: str) -> Iterator[None]:
    """Let a plot be drawn as a figure with a title meanwhile, nothing changes without one.

    It is as large as a figure in a text, and what is selected has no frame.
    """
    if not title:
        yield
        return
    size, selection, reached = plot.size(), plot.selection, None
    try:
        if isinstance(plot, Plot):
            reached, plot.reached_point = plot.reached_point, None
        if not plot.shows_by_selection:
            plot.mark(SelectionKey())
        plot.resize(size.expandedTo(LEAST_FIGURE))
        yield
    finally:
        if isinstance(plot, Plot):
            plot.reached_point = reached
        plot.mark(selection)
        lay_out(plot, size.width(), size.height())


def titled(plot: ChartWidget, title: str, width: int) -> tuple[Callable[[QPainter], None], int]:
    """Return what draws a plot with its title above it, and the title's height in pixels."""
    if not title:
        return plot.draw_on, 0
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

    return draw, high


def plot_pdf(plot: ChartWidget, width: int, height: int, title: str = "") -> bytes:
    """Draw ``plot`` in the colours for paper at ``width`` × ``height`` pixels; return the PDF.

    The plot is resized for it, so it should be one made for paper. Letters come from the fonts that
    the screen takes, whatever their script. A title is drawn above it.
    """
    with on_paper(plot):
        lay_out(plot, width, height)
        draw, high = titled(plot, title, width)
        return pdf_by(draw, width, height + high, title)


def pdf_by(
    draw: Callable[[QPainter], None], width: float, height: float, title: str, finer: int = 1
) -> bytes:
    """Return a PDF of one page of ``width`` × ``height`` pixels.

    It has so many units for each pixel: pens of a fixed width are one of them wide, and letters
    stand on them.
    """
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    writer = QPdfWriter(buffer)
    size = QSizeF(width, height) * POINTS_PER_PIXEL
    page = QPageSize(size, QPageSize.Unit.Point, "", QPageSize.SizeMatchPolicy.ExactMatch)
    writer.setPageLayout(QPageLayout(page, QPageLayout.Orientation.Portrait, QMarginsF(0, 0, 0, 0)))
    writer.setResolution(DOTS_PER_INCH * finer)
    writer.setTitle(title)
    painter = QPainter(writer)
    painter.setLayoutDirection(Qt.LayoutDirection.LeftToRight)  # as on a widget
    painter.scale(finer, finer)
    # Else pictures of very many cells become JPEGs.
    painter.setRenderHint(QPainter.RenderHint.LosslessImageRendering)
    draw(painter)
    painter.end()
    return bytes(buffer.data().data())


def plot_svg(
    plot: ChartWidget, width: int, height: int, theme: Theme = LIGHT, title: str = ""
) -> str:
    """Draw ``plot`` in a theme's colours at ``width`` × ``height`` pixels; return the SVG.

    The plot is resized for it, so it should be one made for paper. What it is called for those who
    do not see it, its accessible name and description, is in it too. A title is drawn above it.
    """
    with on_paper(plot, theme=theme):
        lay_out(plot, width, height)
        draw, high = titled(plot, title, width)
        name, description = plot.accessibleName(), plot.accessibleDescription()
        return svg_of(draw, width, height + high, name, description)


def windowless_application() -> QCoreApplication:
    """Return the application that there is, or a new one, for fonts and plots without a window.

    It needs no display, and ends when nothing holds it.
    """
    application = QApplication.instance()
    if application is None:
        with _offscreen():
            application = QApplication(["bertviewer"])
        load_fonts()
        application.setFont(window_font())
    return application


@contextmanager
def _offscreen() -> Iterator[None]:
    """Have Qt take no display for an application that is made meanwhile."""
    before = os.environ.get("QT_QPA_PLATFORM")
    os.environ["QT_QPA_PLATFORM"] = "offscreen"
    try:
        yield
    finally:
        if before is None:
            del os.environ["QT_QPA_PLATFORM"]
        else:
            os.environ["QT_QPA_PLATFORM"] = before
