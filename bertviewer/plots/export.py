"""A plot as a file's bytes.

Files have the plot as it is on the screen, with what is marked, but in the colours for paper.
"""

from collections.abc import Callable

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, Qt
from PySide6.QtGui import QImage, QImageWriter, QPainter

from bertviewer.charts.theme import LIGHT
from bertviewer.core.frozen import frozen
from bertviewer.plots.paper import ChartWidget, alone, lay_out, on_paper, plot_pdf, plot_svg


def png(plot: ChartWidget, scale: float = 2) -> bytes:
    """Return a PNG with ``scale`` times as many pixels either way as the plot has."""
    with alone(plot), on_paper(plot, scale):
        size = plot.size()
        lay_out(plot, size.width(), size.height())
        image = QImage(size * scale, QImage.Format.Format_RGB32)
        # Lines and letters grow with it.
        image.setDevicePixelRatio(scale)
        image.fill(LIGHT.surface)
        painter = QPainter(image)
        painter.setLayoutDirection(Qt.LayoutDirection.LeftToRight)  # as on a widget
        plot.draw_on(painter)
        painter.end()
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    if not QImageWriter(buffer, QByteArray(b"png")).write(image):
        raise OSError("the picture could not be written")
    return bytes(buffer.data().data())


def pdf(plot: ChartWidget) -> bytes:
    """Return a PDF of one page as large as the plot: lines and letters, to enlarge at will."""
    with alone(plot):
        return plot_pdf(plot, plot.width(), plot.height())


def svg(plot: ChartWidget) -> bytes:
    """Return an SVG: lines and letters, to enlarge and to edit at will."""
    with alone(plot):
        return plot_svg(plot, plot.width(), plot.height()).encode()


@frozen
class PictureKind:
    """A kind of file that a plot can be written to: its name, and what gives its bytes."""

    name: str
    content: Callable[[ChartWidget], bytes]

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
