"""Draw items: a drawing as outlines, lines and labels with their colours, for painters."""

from collections.abc import Iterator, Mapping, Sequence
from math import hypot

from msgspec import Struct
from msgspec.structs import replace

from bertviewer.charts.graph.drawing import (
    CARD,
    Drawing,
    DrawnNode,
    Label,
    Line,
    Point,
    Rect,
    front_rect,
)
from bertviewer.charts.graph.node_shapes import HALF_GAP, NARROW
from bertviewer.charts.theme import SMALL, Part, Theme
from bertviewer.core.expressions.symbols import shape_text
from bertviewer.core.schema.flow import Edge, Node

KAPPA = 0.5523
"""Length of Bézier handles, as a share of a corner's sides, that makes a quarter of a circle."""

MAX_STRENGTH = 0.5
"""Maximum share of a hue in a fill with readable text."""

_LINE_RADIUS, _BOX_RADIUS, _HEAD, _VALUE_BELOW = 7.0, 8.0, 8.0, 9.0
_LINE_WIDTHS = {"side": 1.2, "data": 1.4, "residual": 3.0}
"""Line widths, in the order in which lines are drawn."""


class Shape(Struct, frozen=True):
    """A polyline or polygon with rounded corners; colours are ``#rrggbb``, or "" for none."""

    points: tuple[Point, ...]
    radius: float = 0.0
    is_closed: bool = True
    fill: str = ""
    stroke: str = ""
    width: float = 1.0
    is_dashed: bool = False

    def corners(self) -> Iterator[tuple[Point, Point, Point]]:
        """Yield the beginning of each corner's curve, the corner itself, and the curve's end."""
        count = len(self.points)
        for number, corner in enumerate(self.points):
            if not self.is_closed and number in (0, count - 1):
                yield corner, corner, corner
                continue
            before, after = self.points[number - 1], self.points[(number + 1) % count]
            radius = min(self.radius, _distance(before, corner) / 2, _distance(corner, after) / 2)
            yield _towards(corner, before, radius), corner, _towards(corner, after, radius)


class ColoredLabel(Struct, frozen=True):
    """A label with its colour."""

    label: Label
    color: str


class DrawItem(Struct, frozen=True):
    """A node, an edge or the remaining texts, with its tooltip.

    ``kind`` is "node", "edge" or "text"; ``key`` is the id of a node, or those of an edge's ends.
    """

    kind: str
    key: str
    tip: str
    shapes: tuple[Shape, ...]
    texts: tuple[ColoredLabel, ...] = ()


class NodeColor(Struct, frozen=True):
    """The colour of one node by a measured value.

    Attributes:
        hue: the colour that the fill is mixed from, "" for none.
        strength: its share, from 0 to ``MAX_STRENGTH``.
        figure: the value as text, "" for none.
    """

    hue: str = ""
    strength: float = 0.0
    figure: str = ""


NodeColors = Mapping[str, NodeColor]
"""Colours by the nodes' ids."""


def part_color(part: Part, figure: str, theme: Theme) -> NodeColor:
    """Return the colour of a part of the model."""
    color = theme.parts["norm" if part == "plain" else part]
    return NodeColor(color, theme.tint * 1.6, figure)


def draw_items(
    drawing: Drawing, theme: Theme, colors: NodeColors | None = None
) -> Iterator[DrawItem]:
    """Yield the items of a drawing from back to front; ``colors`` replace those of the parts."""
    order = list(_LINE_WIDTHS)
    for line in sorted(drawing.lines, key=lambda each: order.index(each.weight)):
        key = f"{line.edge.source} {line.edge.target}"
        yield DrawItem("edge", key, edge_tooltip(line.edge), tuple(_line_shapes(line, theme)))
    for drawn in drawing.nodes:
        color = (colors or {}).get(drawn.node.id)
        yield _node_item(drawn, theme, color, has_figures=not drawing.is_brief)
    rest = (*drawing.title, *drawing.labels)
    yield DrawItem("text", "", "", (), tuple(_colored(each, "plain", theme) for each in rest))


def node_tooltip(node: Node) -> str:
    """Return a node's path, class, operation, shapes and multiply-adds, one per line."""
    facts = [node.path or node.name]
    if node.repeat is not None:
        facts[0] += f" ({node.repeat.first} to {node.repeat.last})"
    facts += [text for text in (node.class_name, node.operation) if text]
    facts += [shape_text(shape) for shape in (node.shape, node.symbolic_shape) if shape]
    if node.macs:
        facts.append(f"{node.macs:,} multiply-adds")
    return "\n".join(facts)


def edge_tooltip(edge: Edge) -> str:
    """Return an edge's role, shapes and view operations, one per line."""
    shapes = " = ".join(shape_text(shape) for shape in (edge.shape, edge.symbolic_shape) if shape)
    facts = (edge.role or "", shapes, ", ".join(edge.views))
    return "\n".join(fact for fact in facts if fact)


def handles(begin: Point, corner: Point, end: Point) -> Sequence[Point]:
    """Return the two Bézier handles of the curve around a corner."""
    return [
        (a + (c - a) * KAPPA, b + (d - b) * KAPPA)
        for (a, b), (c, d) in ((begin, corner), (end, corner))
    ]


def _node_item(
    drawn: DrawnNode, theme: Theme, color: NodeColor | None, *, has_figures: bool
) -> DrawItem:
    if color is None:
        shapes = _node_shapes(drawn, theme, is_measured=False)
    else:
        drawn = _with_figure(drawn, color.figure if has_figures else "")
        # Nodes of no part would have no fill.
        filled = replace(drawn, part="attention") if drawn.part == "plain" else drawn
        hue = color.hue or theme.faint
        # Lines keep their colour.
        parts = {part: old if part == "residual" else hue for part, old in theme.parts.items()}
        measured = replace(theme, parts=parts, tint=color.strength)
        shapes = _node_shapes(filled, measured, is_measured=True)
    texts = tuple(_colored(label, drawn.part, theme) for label in drawn.labels)
    return DrawItem("node", drawn.node.id, node_tooltip(drawn.node), tuple(shapes), texts)


def _colored(label: Label, part: Part, theme: Theme) -> ColoredLabel:
    colors = {"text": theme.text, "muted": theme.muted, "part": theme.parts[part]}
    return ColoredLabel(label, colors[label.ink])


def _with_figure(drawn: DrawnNode, figure: str) -> DrawnNode:
    """Return a node with a value instead of its remark, or below it."""
    if not figure or drawn.form in ("sign", "input", "output", "exit", "list", "dashed pill"):
        return drawn
    rect, labels = drawn.rect, list(drawn.labels)
    remarks = [number for number, label in enumerate(labels) if number and label.ink == "muted"]
    if drawn.form in ("box", "deck") and remarks:
        remark = remarks[-1]
        labels[remark] = replace(labels[remark], text=figure, style="mono")
    elif drawn.form == "attention" and labels:
        # The name of the selected head is at the right.
        labels[0] = replace(labels[0], text=f"{labels[0].text} · {figure}")
    else:
        x, y = rect.middle[0], rect.bottom + _VALUE_BELOW
        labels.append(Label(figure, x, y, "mono", SMALL, ink="muted"))
    return replace(drawn, labels=tuple(labels))


def _line_shapes(line: Line, theme: Theme) -> Iterator[Shape]:
    """Yield an edge's line and its arrowhead."""
    width, is_side = _LINE_WIDTHS[line.weight], line.weight == "side"
    color = theme.faint if is_side else theme.flow
    points = line.points
    if line.has_head and len(points) > 1:
        tip, before = points[-1], points[-2]
        head = _HEAD + width
        base = _towards(tip, before, 6.0 if is_side else head)
        x, y = (tip[1] - base[1]) * 0.45, (base[0] - tip[0]) * 0.45
        corners = (tip, (base[0] + x, base[1] + y), (base[0] - x, base[1] - y))
        yield Shape(corners, 1.5, True, color)
        points = (*points[:-1], _towards(tip, before, head / 2))
    yield Shape(points, _LINE_RADIUS, False, "", color, width, is_side)


def _node_shapes(drawn: DrawnNode, theme: Theme, *, is_measured: bool) -> Iterator[Shape]:
    """Yield a node's outlines from back to front.

    If ``is_measured``, the fill shows the node's value, and details without one are not filled.
    """
    rect = drawn.rect
    fill, border = theme.fill(drawn.part), theme.border(drawn.part)
    match drawn.form:
        case "input":
            yield _rounded(rect, rect.height / 2, theme.flow)
        case "pill":
            yield _rounded(rect, rect.height / 2, fill, border)
        case "dashed pill":
            outline = _rounded(rect, rect.height / 2, theme.surface, theme.faint)
            yield replace(outline, is_dashed=True)
        case "norm":
            yield _rounded(rect, 6, theme.fill("norm"), theme.border("norm"))
        case "sign":
            yield from _sign(drawn, theme)
        case "deck":
            front = front_rect(drawn)
            for card in range(drawn.copies - 1, -1, -1):
                yield _rounded(front.moved(CARD * card, -CARD * card), _BOX_RADIUS, fill, border)
        case "attention":
            yield from _attention(drawn, theme, is_measured)
        case "feed-forward" | "gated feed-forward":
            yield from _feed_forward(drawn, theme, is_measured)
        case "box":
            yield _rounded(rect, _BOX_RADIUS, fill, border)
        case _:
            return


def _sign(drawn: DrawnNode, theme: Theme) -> Iterator[Shape]:
    rect, (x, y) = drawn.rect, drawn.rect.middle
    yield _rounded(rect, rect.width / 2, theme.surface, theme.flow, 2.0)
    if drawn.labels:
        return
    arm = rect.width * 0.25
    if drawn.node.operation in ("residual", "add"):
        strokes = ((x - arm, y), (x + arm, y)), ((x, y - arm), (x, y + arm))
    else:
        arm *= 0.75
        strokes = (
            ((x - arm, y - arm), (x + arm, y + arm)),
            ((x - arm, y + arm), (x + arm, y - arm)),
        )
    for ends in strokes:
        yield Shape(ends, 0, False, "", theme.flow, 2.0)


def _attention(drawn: DrawnNode, theme: Theme, is_measured: bool) -> Iterator[Shape]:
    """Yield the frame and a tile for each head: a diagonal, or a triangle if it is causal."""
    fill = theme.shade("attention", theme.tint * (1.0 if is_measured else 0.6))
    yield _rounded(drawn.rect, _BOX_RADIUS + 1, fill, theme.parts["attention"], 1.8)
    pale, strong = theme.shade("attention", 0.2), theme.shade("attention", 0.55)
    if is_measured:
        pale, strong = theme.surface, theme.line
    for tile in drawn.tiles:
        yield _rounded(tile, min(3.0, tile.width / 8), pale)
        inset = band = tile.width * 0.1
        x, y = tile.x + inset, tile.y + inset
        right, bottom = tile.right - inset, tile.bottom - inset
        if drawn.is_causal:
            # Rows are queries, columns are keys.
            yield Shape(((x, y), (right, bottom), (x, bottom)), 1.0, True, strong)
        else:
            diagonal = (
                (x, y),
                (x + band, y),
                (right, bottom - band),
                (right, bottom),
                (right - band, bottom),
                (x, y + band),
            )
            yield Shape(diagonal, 0.5, True, strong)


def _feed_forward(drawn: DrawnNode, theme: Theme, is_measured: bool) -> Iterator[Shape]:
    rect, (first, bar_left, bar_right, last) = drawn.rect, drawn.splits
    fill, border = theme.fill("feed-forward"), theme.border("feed-forward")
    # An activation has no parameters and no matrix product.
    bar_fill = theme.surface if is_measured else theme.shade("feed-forward", theme.tint * 2.2)
    top, bottom, middle = rect.y, rect.bottom, rect.middle[1]
    is_gated = drawn.form == "gated feed-forward"
    narrow = NARROW * 1.25 if is_gated else NARROW
    high, low = middle - narrow / 2, middle + narrow / 2

    def polygon(*points: Point) -> Shape:
        return Shape(points, 4, True, fill, border)

    down = polygon((last, top), (rect.right, high), (rect.right, low), (last, bottom))
    upper, lower = middle - HALF_GAP, middle + HALF_GAP
    bar_height = upper - top if is_gated else rect.height
    bar = _rounded(Rect(bar_left, top, bar_right - bar_left, bar_height), 3, bar_fill, border)
    if not is_gated:
        yield polygon((rect.x, high), (first, top), (first, bottom), (rect.x, low))
        yield from (bar, down)
        return
    yield polygon((rect.x, high), (first, top), (first, upper), (rect.x, upper))
    yield polygon((rect.x, lower), (first, lower), (first, bottom), (rect.x, low))
    yield bar
    x = (bar_right + last) / 2
    quarter = (rect.height / 2 - HALF_GAP) / 2
    for points in (
        ((bar_right, top + quarter), (x, top + quarter), (x, middle)),
        ((first, bottom - quarter), (x, bottom - quarter), (x, middle)),
        ((x, middle), (last, middle)),
    ):
        yield Shape(points, 5, False, "", border, 1.4)
    hue = theme.parts["feed-forward"]
    yield _rounded(Rect(x - 9, middle - 9, 18, 18), 9, theme.surface, hue, 1.5)
    for way in (1, -1):
        ends = ((x - 3.5, middle - 3.5 * way), (x + 3.5, middle + 3.5 * way))
        yield Shape(ends, 0, False, "", hue, 1.6)
    yield down


def _rounded(rect: Rect, radius: float, fill: str, stroke: str = "", width: float = 1.0) -> Shape:
    right, bottom = rect.right, rect.bottom
    corners = ((rect.x, rect.y), (right, rect.y), (right, bottom), (rect.x, bottom))
    return Shape(corners, radius, True, fill, stroke, width)


def _distance(a: Point, b: Point) -> float:
    return hypot(a[0] - b[0], a[1] - b[1])


def _towards(start: Point, end: Point, length: float) -> Point:
    whole = _distance(start, end)
    if not whole:
        return start
    share = length / whole
    return start[0] + (end[0] - start[0]) * share, start[1] + (end[1] - start[1]) * share
