"""Painting of graph drawings."""

from collections.abc import Mapping
from functools import cache

from msgspec import Struct
from msgspec.structs import replace
from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import (
    QBrush,
    QColor,
    QFont,
    QFontMetricsF,
    QPainter,
    QPainterPath,
    QPen,
    QTransform,
)

from bertviewer.charts.graph.draw_items import (
    ColoredLabel,
    DrawItem,
    NodeColors,
    Shape,
    draw_items,
    handles,
)
from bertviewer.charts.graph.drawing import MIDDLE, Drawing, TextStyle
from bertviewer.charts.theme import LIGHT, Theme
from bertviewer.core.util.text import printable
from bertviewer.plots.fonts import monospaced, weighted, window_font

_UNITS = 100
"""Font sizes are whole pixels: fonts are large, and scaled down to any size."""


def text_width(text: str, style: TextStyle, size: float) -> float:
    """Return the width of a text in the fonts of ``paint``, for layouts."""
    return _metrics(style).horizontalAdvance(printable(text)) * size / _UNITS


def paint(drawing: Drawing, painter: QPainter, theme: Theme = LIGHT) -> None:
    """Paint a drawing with its upper left corner at 0 and a transparent background."""
    PreparedDrawing(drawing, theme).paint(painter)


class _Outline(Struct, frozen=True):
    """A shape with its pen and brush."""

    path: QPainterPath
    pen: QPen
    brush: QBrush


class _Letters(Struct, frozen=True):
    """A text; ``transform`` maps 0 to its start."""

    text: str
    size: float
    style: TextStyle
    color: QColor
    transform: QTransform


class _Painted(Struct, frozen=True):
    """The shapes and texts of a mark."""

    kind: str
    key: str
    outlines: tuple[_Outline, ...]
    letters: tuple[_Letters, ...]


class PreparedDrawing:
    """A drawing as paths and transforms, to be painted many times; ``tints`` recolour its nodes."""

    def __init__(
        self,
        drawing: Drawing,
        theme: Theme = LIGHT,
        tints: NodeColors | None = None,
        *,
        has_title: bool = True,
    ) -> None:
        self.drawing = drawing
        kept = drawing if has_title else _untitled(drawing)
        self._marks = tuple(map(_prepared, draw_items(kept, theme, tints)))

    def paint(
        self,
        painter: QPainter,
        *,
        least: float = 0.0,
        fading: Mapping[str, float] | None = None,
    ) -> None:
        """Paint the drawing.

        Args:
            painter: has the transform from the drawing's units.
            least: smaller texts, in units of the drawing, are omitted.
            fading: opacity of the texts of nodes, by the nodes' ids.
        """
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        base = painter.transform()
        opacity = painter.opacity()
        for mark in self._marks:
            for outline in mark.outlines:
                painter.setPen(outline.pen)
                painter.setBrush(outline.brush)
                painter.drawPath(outline.path)
            seen = 1.0 if fading is None else fading.get(mark.key, 1.0)
            if not mark.letters or not seen:
                continue
            painter.setOpacity(opacity * seen)
            for letters in mark.letters:
                if letters.size >= least:
                    painter.setTransform(letters.transform * base)
                    painter.setPen(letters.color)
                    painter.setFont(_font(letters.style))
                    painter.drawText(QPointF(0, 0), letters.text)
            painter.setTransform(base)
            painter.setOpacity(opacity)
        painter.restore()


def _untitled(drawing: Drawing) -> Drawing:
    return replace(drawing, title=())


def _prepared(mark: DrawItem) -> _Painted:
    return _Painted(
        mark.kind, mark.key, tuple(map(_outline, mark.shapes)), tuple(map(_letters, mark.texts))
    )


def _outline(shape: Shape) -> _Outline:
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
    brush = QBrush(QColor(shape.fill)) if shape.fill else QBrush(Qt.BrushStyle.NoBrush)
    return _Outline(path, pen, brush)


def _letters(text: ColoredLabel) -> _Letters:
    label = text.label
    transform = QTransform()
    transform.translate(label.x, label.y)
    if label.is_turned:
        transform.rotate(-90)
    width = text_width(label.text, label.style, label.size)
    x = -width * {"start": 0.0, "middle": 0.5, "end": 1.0}[label.anchor]
    transform.translate(x, label.size * MIDDLE)
    transform.scale(label.size / _UNITS, label.size / _UNITS)
    return _Letters(printable(label.text), label.size, label.style, QColor(text.color), transform)


@cache
def _font(style: TextStyle) -> QFont:
    font = monospaced(window_font()) if style == "mono" else window_font()
    font.setPixelSize(_UNITS)
    font.setHintingPreference(QFont.HintingPreference.PreferNoHinting)
    font.setKerning(True)
    if style == "strong":
        return weighted(font)
    return font


@cache
def _metrics(style: TextStyle) -> QFontMetricsF:
    return QFontMetricsF(_font(style))
