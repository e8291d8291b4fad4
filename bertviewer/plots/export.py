"""A plot as a file's bytes.

Files have the plot in the colours for paper. With a title they have a figure: that title above it,
no frame around what is selected, and at least the size of a figure.
"""

from collections.abc import Callable

from msgspec import Struct
from PySide6.QtCore import QBuffer, QByteArray, QIODevice, Qt
from PySide6.QtGui import QImage, QImageWriter, QPainter

from bertviewer.charts.theme import LIGHT
from bertviewer.plots.paper import (
    ChartWidget,
    alone,
    as_figure,
    lay_out,
    on_paper,
    plot_pdf,
    plot_svg,
    titled,
)


def png(plot: ChartWidget, title: str = "", scale: float = 2) -> bytes:
    """Return a PNG with ``scale`` times as many pixels either way as the plot has."""
    with as_figure(plot, title), alone(plot), on_paper(plot, scale):
        size = plot.size()
        lay_out(plot, size.width(), size.height())
        draw, high = titled(plot, title, size.width())
        size.setHeight(size.height() + high)
        image = QImage(size * scale, QImage.Format.Format_RGB32)
        # Lines and letters grow with it.
        image.setDevicePixelRatio(scale)
        image.fill(LIGHT.surface)
        painter = QPainter(image)
        painter.setLayoutDirection(Qt.LayoutDirection.LeftToRight)  # as on a widget
        draw(painter)
        painter.end()
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    if not QImageWriter(buffer, QByteArray(b"png")).write(image):
        raise OSError("the picture could not be written")
    return bytes(buffer.data().data())


def pdf(plot: ChartWidget, title: str = "") -> bytes:
    """Return a PDF of one page as large as the plot: lines and letters, to enlarge at will."""
    with as_figure(plot, title), alone(plot):
        return plot_pdf(plot, plot.width(), plot.height(), title)


def svg(plot: ChartWidget, title: str = "") -> bytes:
    """Return an SVG: lines and letters, to enlarge and to edit at will."""
    with as_figure(plot, title), alone(plot):
        return plot_svg(plot, plot.width(), plot.height(), title=title).encode()


class PictureKind(Struct, frozen=True):
    """A kind of file that a plot can be written to: its name, and what gives its bytes."""

    name: str
    content: Callable[[ChartWidget, str], bytes]  # of a plot and its title, "" for none

    @property
    def suffix(self) -> str:
        """How such a file's name ends."""
        return f".{self.name.lower()}"

    @property
    def file_filter(self) -> str:
        """What a dialog for files offers it as."""
        return f"{self.name} (*{self.suffix})"


PICTURES = (PictureKind("PNG", png), PictureKind("SVG", svg), PictureKind("PDF", pdf))
"""All of them; the first where a name says nothing."""
