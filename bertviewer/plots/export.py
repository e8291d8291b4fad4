"""A plot as a file's bytes.

Files have the plot as it is on the screen, with what is marked, but in the colours for paper.
"""

import re
from base64 import b64decode
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import typst
from PySide6.QtCore import QBuffer, QByteArray, QIODevice
from PySide6.QtGui import QImage, QImageWriter, QPainter

from bertviewer.charts.theme import LIGHT
from bertviewer.core.errors import UserError
from bertviewer.core.frozen import frozen
from bertviewer.plots.paper import ChartWidget, alone, lay_out, on_paper, plot_pdf

_PICTURE = re.compile(rb'"data:image/svg\+xml;base64,([^"]*)"')
_SIZE = re.compile(rb'(<svg [^>]*width="[\d.]+)(" height="[\d.]+)(?=")')
_PAGE = """
#set page(width: auto, height: auto, margin: 0pt)
#image("plot.pdf")
"""


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
    """Return an SVG; its letters are outlines, which look the same everywhere.

    It is the PDF set by Typst: Qt's own SVGs draw pens of a fixed width as wide ribbons.

    Raises:
        UserError: the folder for temporary files has no room for it.
    """
    page = pdf(plot)
    try:
        # Typst reads binary files only from a folder.
        with TemporaryDirectory(prefix="bertviewer-") as name:
            folder = Path(name)
            (folder / "plot.pdf").write_bytes(page)
            (folder / "plot.typ").write_text(_PAGE, encoding="utf-8")
            drawing = typst.compile(folder / "plot.typ", root=folder, format="svg")
    except OSError as error:
        raise UserError(f"cannot draw the picture as SVG: {error.strerror}") from error
    if not isinstance(drawing, bytes):
        raise TypeError("the plot took more than one page")
    return _unwrapped(drawing)


def _unwrapped(drawing: bytes) -> bytes:
    """Return the SVG that Typst made of the PDF: it wraps it up as a picture on an SVG page.

    Programs that edit drawings would see one picture only. What Typst has not wrapped stays.
    """
    found = _PICTURE.search(drawing)
    if found is None:
        return drawing
    # As large as the page: a size without a unit would be in pixels.
    return _SIZE.sub(rb"\1pt\2pt", b64decode(found[1]), count=1)


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
