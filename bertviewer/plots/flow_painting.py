"""A drawing painted by Qt: in the window, and as a page as large as itself."""

from functools import cache

from PySide6.QtCore import QBuffer, QIODevice, QMarginsF, QPointF, QRectF, QSizeF, Qt
from PySide6.QtGui import (
    QBrush,
    QColor,
    QFont,
    QFontMetricsF,
    QPageLayout,
    QPageSize,
    QPainter,
    QPainterPath,
    QPdfWriter,
    QPen,
)

from bertviewer.charts.flow.drawing import Drawing, Style
from bertviewer.charts.flow.marks import Text, marks_of
from bertviewer.charts.flow.shapes import Shape, handles
from bertviewer.charts.flow.svg import MIDDLE
from bertviewer.charts.theme import LIGHT, Theme
from bertviewer.core.text.plain_text import printable
from bertviewer.plots.fonts import monospaced, weighted, window_font
from bertviewer.plots.paper import DOTS_PER_INCH, POINTS_PER_PIXEL

_FINER = 8
"""So many units of a page for each pixel: letters stand between pixels."""

_UNITS = 100
"""Fonts' sizes are whole pixels: they are set large, and painted smaller to any fraction."""


def text_width(text: str, style: Style, size: float) -> float:
    """Return how wide a text is in the fonts that ``paint`` has: the measure for ``draw``."""
    return _metrics(style).horizontalAdvance(printable(text)) * size / _UNITS


def paint(drawing: Drawing, painter: QPainter, theme: Theme = LIGHT) -> None:
    """Paint a drawing with its upper left corner at 0; what is behind it stays."""
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    for mark in marks_of(drawing, theme):
        for shape in mark.shapes:
            _paint_shape(shape, painter)
        for text in mark.texts:
            _paint_text(text, painter)
    painter.restore()


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


def _paint_shape(shape: Shape, painter: QPainter) -> None:
    path = QPainterPath()
    for place, (begin, corner, end) in enumerate(shape.corners()):
        if place:
            path.lineTo(*begin)
        else:
            path.moveTo(*begin)
        if begin != end:
            one, other = handles(begin, corner, end)
            path.cubicTo(*one, *other, *end)
    if shape.is_closed:
        path.closeSubpath()
    pen = QPen(Qt.PenStyle.NoPen)
    if shape.stroke:
        pen = QPen(QColor(shape.stroke), shape.width)
        pen.setCapStyle(Qt.PenCapStyle.FlatCap)
        if shape.is_dashed:
            pen.setDashPattern([4 / shape.width, 3 / shape.width])
    painter.setPen(pen)
    painter.setBrush(QBrush(QColor(shape.fill)) if shape.fill else Qt.BrushStyle.NoBrush)
    painter.drawPath(path)


def _paint_text(text: Text, painter: QPainter) -> None:
    label = text.label
    painter.save()
    painter.translate(label.x, label.y)
    if label.is_turned:
        painter.rotate(-90)
    painter.setPen(QColor(text.color))
    width = text_width(label.text, label.style, label.size)
    x = -width * {"start": 0.0, "middle": 0.5, "end": 1.0}[label.anchor]
    painter.translate(x, label.size * MIDDLE)
    painter.scale(label.size / _UNITS, label.size / _UNITS)
    painter.setFont(_font(label.style))
    painter.drawText(QPointF(0, 0), printable(label.text))
    painter.restore()


@cache
def _font(style: Style) -> QFont:
    font = monospaced(window_font()) if style == "mono" else window_font()
    font.setPixelSize(_UNITS)
    font.setHintingPreference(QFont.HintingPreference.PreferNoHinting)
    font.setKerning(True)
    if style == "strong":
        return weighted(font)
    return font


@cache
def _metrics(style: Style) -> QFontMetricsF:
    return QFontMetricsF(_font(style))
