"""Shapes and pictures as they stand in the drawing, with what a clip leaves of them."""

from base64 import b64encode
from collections.abc import Iterator
from itertools import pairwise
from math import copysign, isfinite

from PySide6.QtCore import QBuffer, QIODevice, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainterPath, QTransform

from bertviewer.plots.svg.piece import Attributes, Clip, Piece, number, numbers, rectangle, steps_of
from bertviewer.plots.svg.recording import Look, Picture, Shape

_SLACK = 0.05
"""Pixels that a shape may reach beyond a clip: nobody sees them."""
_QUICK = 80
"""Qt's word for little compression: of cells in few colours it takes a fifth, and leaves less."""
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


def shape_pieces(shape: Shape) -> Iterator[Piece]:
    """Yield what is to be written of a shape; nothing where nothing of it is seen."""
    look, path = shape.look, shape.look.transform.map(shape.path)
    is_line = shape.kind == "line"
    fill = () if is_line else _fill(look)
    pen = _pen(look, is_closed=shape.kind in ("rect", "ellipse"))
    reach = path.boundingRect()
    if path.isEmpty() or not (fill or pen) or not isfinite(reach.width() + reach.height()):
        return
    clip = look.clip
    margin = look.pen.widthF() / 2 * _scale(look) if pen else 0.0
    bounds = reach.adjusted(-margin, -margin, margin, margin)
    if clip is not None and not clip.boundingRect().intersects(bounds):
        return
    dress = (*(fill or (("fill", "none"),)), *pen)
    if clip is None or _holds(clip, bounds):
        yield _whole(shape, path, dress)
    elif not pen and shape.kind == "rect" and _holds(clip, clip.boundingRect()):
        yield Piece("rect", rectangle(reach.intersected(clip.boundingRect())), dress)
    elif not pen:
        # What is left of an area is an area.
        left = path.intersected(clip)
        if not left.isEmpty():
            yield _of_path(left, dress)
    elif not fill and not _has_curves(path):
        left = _lines_inside(path, clip)
        if not left.isEmpty():
            yield _of_path(left, dress)
    else:
        piece = _whole(shape, path, dress)
        yield Piece(piece.tag, piece.place, piece.look, clip_of(clip))


def picture_pieces(picture: Picture) -> Iterator[Piece]:
    """Yield what is to be written of a picture; nothing where nothing of it is seen."""
    rect, transform, clip = picture.rect, picture.look.transform, picture.look.clip
    bounds = transform.mapRect(rect)
    if picture.image.isNull() or not (clip is None or clip.boundingRect().intersects(bounds)):
        return
    image = picture.image
    place: Attributes
    if _is_upright(transform):
        if transform.m11() < 0 or transform.m22() < 0:
            turned = copysign(1, transform.m11()), copysign(1, transform.m22())
            image = image.transformed(QTransform.fromScale(*turned))
        place = rectangle(bounds)
    else:
        place = (*rectangle(rect), ("transform", matrix_text(transform)))
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    image.save(buffer, "PNG", _QUICK)  # type: ignore[call-overload]
    data = b64encode(buffer.data().data()).decode()
    # Cells are squares of one colour: no program may blur them.
    sharp = ("image-rendering", "optimizeSpeed"), ("style", "image-rendering:pixelated")
    href = "xlink:href", f"data:image/png;base64,{data}"
    opacity = _opacity("opacity", picture.look.opacity)
    whole = (*place, ("preserveAspectRatio", "none"), *opacity, *sharp, href)
    is_cut = clip is not None and not _holds(clip, bounds)
    yield Piece("image", whole, (), clip_of(clip) if clip is not None and is_cut else None)


def clip_of(area: QPainterPath) -> Clip:
    """Return an area as it is written."""
    return Clip(steps_of(area))


def matrix_text(transform: QTransform) -> str:
    """Return it as a transform of SVG."""
    parts = (transform.m11(), transform.m12(), transform.m21(), transform.m22())
    moved = (transform.dx(), transform.dy())
    return f"matrix({' '.join(f'{part:.6g}' for part in (*parts, *moved))})"


def paint_of(name: str, color: QColor, opacity: float) -> Attributes:
    """Return a colour as attributes."""
    return ((name, color.name()), *_opacity(f"{name}-opacity", color.alphaF() * opacity))


def _opacity(name: str, opacity: float) -> Attributes:
    return () if opacity > 0.995 else ((name, number(opacity)),)


def _fill(look: Look) -> Attributes:
    brush = look.brush
    if brush.style() == Qt.BrushStyle.NoBrush or not brush.color().alpha():
        return ()
    return paint_of("fill", brush.color(), look.opacity)


def _pen(look: Look, is_closed: bool) -> Attributes:
    pen = look.pen
    if pen.style() == Qt.PenStyle.NoPen or not pen.color().alpha():
        return ()
    scale = _scale(look)
    width = (pen.widthF() or 1.0) * scale
    found = [*paint_of("stroke", pen.color(), look.opacity)]
    if number(width) != "1":
        found.append(("stroke-width", number(width)))
    if pen.style() != Qt.PenStyle.SolidLine:
        steps = (step * width for step in pen.dashPattern())
        found.append(("stroke-dasharray", numbers(*steps)))
        is_closed = False
    cap, join = _CAPS[pen.capStyle()], _JOINS[pen.joinStyle()]
    if cap != "butt" and not is_closed:
        found.append(("stroke-linecap", cap))
    if join != "miter" and not is_closed:
        found.append(("stroke-linejoin", join))
    return tuple(found)


def _scale(look: Look) -> float:
    """Return how many times as wide as it says a pen is: most have their width in pixels."""
    if look.pen.isCosmetic():
        return 1.0
    return float(abs(look.transform.determinant()) ** 0.5)


def _is_upright(transform: QTransform) -> bool:
    """Tell whether rectangles stay rectangles that stand as they stood."""
    return not (transform.m12() or transform.m21())


def _whole(shape: Shape, path: QPainterPath, dress: Attributes) -> Piece:
    if _is_upright(shape.look.transform):
        box = path.boundingRect()
        if shape.kind == "rect":
            return Piece("rect", rectangle(box), dress)
        if shape.kind == "ellipse":
            middle = ("cx", number(box.center().x())), ("cy", number(box.center().y()))
            across, down = number(box.width() / 2), number(box.height() / 2)
            if across == down:
                return Piece("circle", (*middle, ("r", across)), dress)
            return Piece("ellipse", (*middle, ("rx", across), ("ry", down)), dress)
    return _of_path(path, dress)


def _of_path(path: QPainterPath, dress: Attributes) -> Piece:
    steps = steps_of(path)
    is_even = dict(dress)["fill"] != "none" and steps.count("M") > 1
    is_even = is_even and path.fillRule() == Qt.FillRule.OddEvenFill
    rule = (("fill-rule", "evenodd"),) if is_even else ()
    return Piece("path", (("d", steps), *rule), dress)


def _holds(clip: QPainterPath, bounds: QRectF) -> bool:
    inner = bounds.adjusted(_SLACK, _SLACK, -_SLACK, -_SLACK)
    return clip.contains(inner) if inner.isValid() else clip.contains(bounds.center())


def _has_curves(path: QPainterPath) -> bool:
    kinds = (path.elementAt(index).type for index in range(path.elementCount()))
    return QPainterPath.ElementType.CurveToElement in kinds


def _lines_inside(path: QPainterPath, clip: QPainterPath) -> QPainterPath:
    """Return the parts of lines that an area leaves."""
    edges = [edge for polygon in clip.toSubpathPolygons() for edge in pairwise(polygon.toList())]
    left = QPainterPath()
    for polygon in path.toSubpathPolygons():
        for start, end in pairwise(polygon.toList()):
            for one, other in _parts(start, end, edges, clip):
                if left.isEmpty() or left.currentPosition() != one:
                    left.moveTo(one)
                left.lineTo(other)
    return left


def _parts(
    start: QPointF, end: QPointF, edges: list[tuple[QPointF, QPointF]], clip: QPainterPath
) -> Iterator[tuple[QPointF, QPointF]]:
    """Yield the parts of a line inside of an area: between two crossings it is in or out."""
    way = end - start
    crossings = {0.0, 1.0}
    for one, other in edges:
        side = other - one
        across = way.x() * side.y() - way.y() * side.x()
        if across:
            gap = one - start
            along = (gap.x() * side.y() - gap.y() * side.x()) / across
            beside = (gap.x() * way.y() - gap.y() * way.x()) / across
            if 0 < along < 1 and -1e-9 <= beside <= 1 + 1e-9:
                crossings.add(along)
    places = sorted(crossings)
    for low, high in pairwise(places):
        if clip.contains(start + way * ((low + high) / 2)):
            yield start + way * low, start + way * high
