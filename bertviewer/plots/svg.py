"""SVG of what is painted, for files, reports and web pages.

QSvgGenerator's files of eight plots were 2.7 to 5.5 times as large; it splits texts of several
directions, and loses clips and the weights of variable fonts.
"""

import re
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import sha256
from itertools import groupby
from math import atan2, degrees, isfinite
from typing import Any
from xml.sax.saxutils import escape

from msgspec import Struct
from PySide6.QtCore import QBuffer, QIODevice, QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import (
    QBrush,
    QColor,
    QFont,
    QFontMetricsF,
    QImage,
    QPainter,
    QPainterPath,
    QPen,
    QPicture,
    QPolygonF,
    QTextLayout,
    QTextLine,
    QTransform,
)
from typing_extensions import override

from bertviewer.charts.theme import NORMAL_WEIGHT, css_family, css_weight
from bertviewer.plots.fonts import contextual, families_for, weight_of

Attributes = tuple[tuple[str, str], ...]
Draw = Callable[[QPainter], None]

_NAMESPACES = (
    'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
    'xml:space="preserve"'
)
_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
"""Characters that XML forbids; names of tokens may contain them."""
_SLACK = 0.05
"""A shape may extend beyond a clip by this many pixels and is still written unclipped."""
_TEXT_SLACK = 2.0
"""The same for a text, whose line is higher than its letters."""
_POINTS_PER_PIXEL = 0.75
_FAST = 80
"""Qt's quality for low PNG compression: cells in few colours take a fifth of the time."""
_CAPS = {
    Qt.PenCapStyle.FlatCap: "butt",
    Qt.PenCapStyle.SquareCap: "square",
    Qt.PenCapStyle.RoundCap: "round",
}
_JOINS = {
    Qt.PenJoinStyle.MiterJoin: "miter",
    Qt.PenJoinStyle.SvgMiterJoin: "miter",
    Qt.PenJoinStyle.BevelJoin: "bevel",
    Qt.PenJoinStyle.RoundJoin: "round",
}
_ELEMENT = QPainterPath.ElementType
_NO_BRUSH = QBrush()


def svg_of(draw: Draw, width: int, height: int, title: str = "", description: str = "") -> str:
    """Return what ``draw`` paints on ``width`` × ``height`` pixels as SVG.

    Coordinates are pixels. Only rotated texts have a transform, strokes have their final width, and
    each text is one element. ``title`` and ``description`` are for screen readers.
    """
    painter = SvgPainter()
    try:
        draw(painter)
    finally:
        painter.end()
    elements = painter.elements
    families = Counter(dict(element.look).get("font-family", "") for element in elements)
    families.pop("", None)
    family = max(families, key=lambda name: (families[name], name), default="")
    elements = [element.without(("font-family", family)) for element in elements]
    named = (("title", title), ("desc", description))
    return "\n".join(
        (
            f'<svg {_NAMESPACES} width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
            f"{_written((('font-family', family),) if family else ())}>",
            *(f"<{tag}>{_text(text)}</{tag}>" for tag, text in named if text),
            *_clip_paths(elements),
            *_lines(elements),
            "</svg>",
            "",
        )
    )


class _Element(Struct, frozen=True):
    """An element: ``look`` may be shared with others, ``clip`` is the outline of a clip path."""

    tag: str
    place: Attributes
    look: Attributes = ()
    clip: str = ""
    text: str = ""

    def without(self, attribute: tuple[str, str]) -> "_Element":
        if attribute not in self.look:
            return self
        look = tuple(each for each in self.look if each != attribute)
        return _Element(self.tag, self.place, look, self.clip, self.text)

    def written(self, look: Attributes) -> str:
        head = f"<{self.tag}{_written((*self.place, *look))}"
        return f"{head}>{_text(self.text)}</text>" if self.text else f"{head}/>"


class SvgPainter(QPainter):
    """A painter that collects SVG elements; Qt keeps its pen, brush, font and transform.

    A painter and not a paint engine: an engine gets texts in pieces of one font and direction.
    """

    def __init__(self) -> None:
        self._device = QPicture()
        super().__init__(self._device)
        self.setLayoutDirection(Qt.LayoutDirection.LeftToRight)  # as on a widget
        self.elements: list[_Element] = []
        self._clip: QPainterPath | None = None
        self._clips: list[QPainterPath | None] = []

    @override
    def save(self) -> None:
        super().save()
        self._clips.append(self._clip)

    @override
    def restore(self) -> None:
        super().restore()
        self._clip = self._clips.pop()

    @override
    def setClipRect(  # type: ignore[override]
        self, rect: Any, operation: Qt.ClipOperation = Qt.ClipOperation.ReplaceClip
    ) -> None:
        self.setClipPath(_rect_path(rect), operation)

    @override
    def setClipPath(
        self, path: QPainterPath, operation: Qt.ClipOperation = Qt.ClipOperation.ReplaceClip
    ) -> None:
        area = self.transform().map(path)
        if operation == Qt.ClipOperation.IntersectClip and self._clip is not None:
            area = self._clip.intersected(area)
        self._clip = None if operation == Qt.ClipOperation.NoClip else area

    @override
    def drawPath(self, path: QPainterPath) -> None:
        self._add_shape(path, self.pen(), self.brush())

    @override
    def strokePath(self, path: QPainterPath, pen: Any) -> None:
        self._add_shape(path, pen, _NO_BRUSH)

    @override
    def fillRect(self, rect: Any, color: Any, /) -> None:  # type: ignore[override]
        brush = color if isinstance(color, QBrush) else QBrush(QColor(color))
        self._add_shape(_rect_path(rect), QPen(Qt.PenStyle.NoPen), brush)

    @override
    def drawRect(self, rect: Any, /) -> None:  # type: ignore[override]
        self.drawPath(_rect_path(rect))

    @override
    def drawRoundedRect(self, rect: Any, x_radius: float, y_radius: float, /) -> None:  # type: ignore[override]
        path = QPainterPath()
        path.addRoundedRect(QRectF(rect), x_radius, y_radius)
        self.drawPath(path)

    @override
    def drawEllipse(self, *place: Any) -> None:
        path = QPainterPath()
        path.addEllipse(*place)
        self.drawPath(path)

    @override
    def drawLine(self, *place: Any) -> None:
        self.drawLines([QLineF(*place)])

    @override
    def drawLines(self, lines: Iterable[QLineF], /) -> None:  # type: ignore[override]
        """Add lines as one path, unless they are translucent: these are darker where they cross."""
        path = QPainterPath()
        for line in lines:
            path.moveTo(line.p1())
            path.lineTo(line.p2())
            if self.pen().color().alpha() < 255:
                self._add_shape(path, self.pen(), _NO_BRUSH)
                path = QPainterPath()
        self._add_shape(path, self.pen(), _NO_BRUSH)

    @override
    def drawPolyline(self, points: QPolygonF, /) -> None:  # type: ignore[override]
        path = QPainterPath()
        path.addPolygon(points)
        self._add_shape(path, self.pen(), _NO_BRUSH)

    @override
    def drawImage(self, rect: QRectF, image: QImage, part: QRectF | None = None, /) -> None:  # type: ignore[override]
        """Add an image that fills a rectangle; no program may blur its pixels."""
        transform = self.transform()
        bounds = transform.mapRect(rect)
        if part is not None:
            image = image.copy(part.toAlignedRect())
        if image.isNull() or not (self._clip is None or self._clip.intersects(bounds)):
            return
        buffer = QBuffer()
        buffer.open(QIODevice.OpenModeFlag.WriteOnly)
        image.save(buffer, "PNG", _FAST)  # type: ignore[call-overload]
        data = b64encode(buffer.data().data()).decode()
        place = (
            *_rectangle(bounds),
            ("preserveAspectRatio", "none"),
            *_opacity("opacity", self.opacity()),
            ("image-rendering", "optimizeSpeed"),
            ("style", "image-rendering:pixelated"),
            ("xlink:href", f"data:image/png;base64,{data}"),
        )
        self.elements.append(_Element("image", place, clip=self._needed_clip(bounds)))

    @override
    def drawText(self, place: Any, *rest: Any) -> None:  # type: ignore[override]
        """Add a text, given as ``(point, text)`` or ``(rectangle, flags, text)``."""
        text, font, transform = str(rest[-1]), self.font(), self.transform()
        shown = text.strip(" ")
        if not shown:
            return
        line, _ = _text_line(text, font)
        if isinstance(place, QRectF):
            left, top = _aligned(place, int(rest[0]), line)
            start = QPointF(left, top + line.ascent())
        else:
            start = QPointF(place)
        box = QRectF(start.x(), start.y() - line.ascent(), line.naturalTextWidth(), line.height())
        box = transform.mapRect(box)
        if self._clip is not None and not self._clip.intersects(box):
            return
        spaces = text[: len(text) - len(text.lstrip(" "))]
        start.setX(start.x() + QFontMetricsF(font).horizontalAdvance(spaces))
        position, size = _placed(start, _steps(shown, font), transform, _pixel_size(font))
        weight = css_weight(weight_of(font))
        look = (
            *_paint("fill", self.pen().color(), self.opacity()),
            ("font-family", escape(css_family(families_for(text, font)), {'"': "&quot;"})),
            ("font-size", _number(size)),
            *((("font-weight", str(weight)),) if weight != NORMAL_WEIGHT else ()),
        )
        clip = self._needed_clip(box, _TEXT_SLACK)
        self.elements.append(_Element("text", position, look, clip, shown))

    def _needed_clip(self, bounds: QRectF, slack: float = _SLACK) -> str:
        """Return the outline of the clip, empty if it does not cut the bounds."""
        if self._clip is None or _contains(self._clip, bounds, slack):
            return ""
        return _steps_of(self._clip)

    def _add_shape(self, path: QPainterPath, pen: QPen, brush: QBrush) -> None:
        path = self.transform().map(path)
        width = pen.widthF() or 1.0
        if not pen.isCosmetic():
            width *= abs(self.transform().determinant()) ** 0.5
        fill, stroke = _fill(brush, self.opacity()), _stroke(pen, width, self.opacity())
        bounds = path.boundingRect()
        if path.isEmpty() or not (fill or stroke) or not isfinite(bounds.width() + bounds.height()):
            return
        margin = width / 2 if stroke else 0.0
        bounds.adjust(-margin, -margin, margin, margin)
        if self._clip is not None and not self._clip.boundingRect().intersects(bounds):
            return
        clip = self._needed_clip(bounds)
        if clip and not stroke and self._clip is not None:
            path, clip = path.intersected(self._clip), ""
            if path.isEmpty():
                return
        look = (*(fill or (("fill", "none"),)), *stroke)
        if _is_rectangle(path):
            element = _Element("rect", _rectangle(path.boundingRect()), look, clip)
        else:
            steps = _steps_of(path)
            is_even = bool(fill) and steps.count("M") > 1
            is_even = is_even and path.fillRule() == Qt.FillRule.OddEvenFill
            rule = (("fill-rule", "evenodd"),) if is_even else ()
            element = _Element("path", (("d", steps), *rule), look, clip)
        self.elements.append(element)


def _refuse(*_: object) -> None:
    raise TypeError("this is not written as SVG")


for _name in ("drawPixmap", "drawPolygon", "drawPoint", "drawPoints", "drawRects", "fillPath"):
    setattr(SvgPainter, _name, _refuse)


def _clip_id(outline: str) -> str:
    """Return an id that depends on the outline: one page may contain several drawings."""
    return f"clip-{sha256(outline.encode()).hexdigest()[:10]}"


def _clip_paths(elements: Sequence[_Element]) -> Iterator[str]:
    for outline in dict.fromkeys(element.clip for element in elements if element.clip):
        path = f'<path d="{outline}" clip-rule="evenodd"/>'
        yield f'<clipPath id="{_clip_id(outline)}">{path}</clipPath>'


def _lines(elements: Sequence[_Element]) -> Iterator[str]:
    for clip, group in groupby(elements, key=lambda element: element.clip):
        if clip:
            yield f'<g clip-path="url(#{_clip_id(clip)})">'
        for look, alike in groupby(group, key=lambda element: element.look):
            parts = list(alike)
            if len(parts) == 1:
                yield parts[0].written(look)
            else:
                yield f"<g{_written(look)}>"
                yield from (part.written(()) for part in parts)
                yield "</g>"
        if clip:
            yield "</g>"


def _written(attributes: Attributes) -> str:
    return "".join([f' {name}="{value}"' for name, value in attributes])


def _text(text: str) -> str:
    return escape(_CONTROLS.sub("\ufffd", text))


def _number(value: float) -> str:
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def _numbers(*values: float) -> str:
    return " ".join(map(_number, values))


def _rect_path(rect: Any) -> QPainterPath:
    path = QPainterPath()
    path.addRect(QRectF(rect))
    return path


def _rectangle(rect: QRectF) -> Attributes:
    values = (rect.x(), rect.y(), rect.width(), rect.height())
    return tuple(zip(("x", "y", "width", "height"), map(_number, values), strict=True))


def _is_rectangle(path: QPainterPath) -> bool:
    kinds = {path.elementAt(index).type for index in range(1, min(6, path.elementCount()))}
    is_box = path.elementCount() in (4, 5) and kinds == {_ELEMENT.LineToElement}
    return is_box and _contains(path, path.boundingRect())


def _contains(area: QPainterPath, bounds: QRectF, slack: float = _SLACK) -> bool:
    inner = bounds.adjusted(slack, slack, -slack, -slack)
    return area.contains(inner) if inner.isValid() else area.contains(bounds.center())


def _steps_of(path: QPainterPath) -> str:
    """Return an outline as path data; a subpath that ends at its start is closed."""
    steps: list[str] = []
    start = last = (0.0, 0.0)
    for index in range(path.elementCount()):
        element = path.elementAt(index)
        x, y, kind = element.x, element.y, element.type
        if kind == _ELEMENT.MoveToElement:
            _close(steps, start, last)
            steps.append(f"M{_numbers(x, y)}")
            start = x, y
        else:
            letter = {_ELEMENT.LineToElement: "L", _ELEMENT.CurveToElement: "C"}.get(kind, " ")
            steps.append(f"{letter}{_numbers(x, y)}")
        last = x, y
    _close(steps, start, last)
    return "".join(steps)


def _close(steps: list[str], start: tuple[float, float], last: tuple[float, float]) -> None:
    if len(steps) < 2 or start != last or steps[-1][0] == "M":
        return
    if steps[-1][0] == "L":
        steps.pop()
    steps.append("Z")


def _opacity(name: str, opacity: float) -> Attributes:
    return () if opacity > 0.995 else ((name, _number(opacity)),)


def _paint(name: str, color: QColor, opacity: float) -> Attributes:
    return ((name, color.name()), *_opacity(f"{name}-opacity", color.alphaF() * opacity))


def _fill(brush: QBrush, opacity: float) -> Attributes:
    if brush.style() == Qt.BrushStyle.NoBrush or not brush.color().alpha():
        return ()
    return _paint("fill", brush.color(), opacity)


def _stroke(pen: QPen, width: float, opacity: float) -> Attributes:
    if pen.style() == Qt.PenStyle.NoPen or not pen.color().alpha():
        return ()
    dashes = [] if pen.style() == Qt.PenStyle.SolidLine else pen.dashPattern()
    optional = (
        ("stroke-width", _number(width), "1"),
        ("stroke-dasharray", _numbers(*(step * width for step in dashes)), ""),
        ("stroke-linecap", _CAPS[pen.capStyle()], "butt"),
        ("stroke-linejoin", _JOINS[pen.joinStyle()], "miter"),
    )
    differing = [(name, value) for name, value, default in optional if value != default]
    return (*_paint("stroke", pen.color(), opacity), *differing)


def _text_line(text: str, font: QFont) -> tuple[QTextLine, QTextLayout]:
    """Return a text's line, and the layout that has to outlive it."""
    layout = QTextLayout(text, font)
    layout.beginLayout()
    line = layout.createLine()
    layout.endLayout()
    return line, layout


def _cursor(line: QTextLine, place: int) -> float:
    x: float = line.cursorToX(place)[0]  # type: ignore[index]
    return x


def _aligned(rect: QRectF, flags: int, line: QTextLine) -> tuple[float, float]:
    """Return left and top of a line that is aligned in a rectangle."""
    x, y = rect.x(), rect.y()
    align = Qt.AlignmentFlag
    if flags & align.AlignRight.value:
        x = rect.right() - line.naturalTextWidth()
    elif flags & align.AlignHCenter.value:
        x = rect.center().x() - line.naturalTextWidth() / 2
    if flags & align.AlignBottom.value:
        y = rect.bottom() - line.height()
    elif flags & align.AlignVCenter.value:
        y = rect.center().y() - line.height() / 2
    return x, y


def _pixel_size(font: QFont) -> float:
    return font.pixelSize() if font.pixelSize() > 0 else font.pointSizeF() / _POINTS_PER_PIXEL


def _steps(text: str, font: QFont) -> list[float]:
    """Return the offset of each letter, or of the first alone.

    Programs that cannot switch off contextual forms would show -> as an arrow; letters with a
    position each are not combined.
    """
    if not text.isascii():
        return [0.0]
    lines = [_text_line(text, each) for each in (font, contextual(font))]
    plain, other = ([run.glyphIndexes() for run in layout.glyphRuns()] for _, layout in lines)
    if plain == other:
        return [0.0]
    return [_cursor(lines[0][0], place) for place in range(len(text))]


def _placed(
    start: QPointF, steps: Sequence[float], transform: QTransform, size: float
) -> tuple[Attributes, float]:
    """Return position and rotation of a text, and its size in pixels."""
    scale = abs(transform.determinant()) ** 0.5
    begin = transform.map(start)
    xs = _numbers(*(begin.x() + step * scale for step in steps))
    place: Attributes = (("x", xs), ("y", _number(begin.y())))
    angle = _number(degrees(atan2(transform.m12(), transform.m11())))
    if angle != "0":
        turned = f"rotate({angle} {_numbers(begin.x(), begin.y())})"
        place = (*place, ("transform", turned))
    return place, size * scale
