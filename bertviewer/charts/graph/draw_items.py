"""Nodes and lines as outlines with their colours.

Other colours for a drawing's nodes, with a figure in each: what is measured of them.

A drawing as lines, filled shapes and texts with their colours: all that a painter must know.
"""

from collections.abc import Iterator, Mapping, Sequence
from math import hypot

from msgspec import Struct
from msgspec.structs import replace

from bertviewer.charts.graph.drawing import CARD, Drawing, DrawnNode, Label, Line, Point, Rect
from bertviewer.charts.graph.node_shapes import HALF_GAP, NARROW
from bertviewer.charts.theme import SMALL, Part, Theme
from bertviewer.core.expressions.symbols import shape_text
from bertviewer.core.schema.flow import Edge, Node

KAPPA = 0.5523
"""A curve with this share of its corner's sides as handles is nearly a quarter of a circle."""

_CORNER, _ROUND = 7.0, 8.0
_HEAD = 8.0


class Shape(Struct, frozen=True):
    """A line or an outline; colours are ``#rrggbb``, empty for none."""

    points: tuple[Point, ...]
    radius: float = 0.0
    is_closed: bool = True
    fill: str = ""
    stroke: str = ""
    width: float = 1.0
    is_dashed: bool = False

    def corners(self) -> Iterator[tuple[Point, Point, Point]]:
        """Yield for each corner where its curve begins, the corner itself, and where it ends."""
        count = len(self.points)
        for place, corner in enumerate(self.points):
            if not self.is_closed and place in (0, count - 1):
                yield corner, corner, corner
                continue
            before, after = self.points[place - 1], self.points[(place + 1) % count]
            radius = min(self.radius, _distance(before, corner) / 2, _distance(corner, after) / 2)
            yield _towards(corner, before, radius), corner, _towards(corner, after, radius)


def line_shapes(line: Line, theme: Theme) -> Iterator[Shape]:
    """Yield an edge's line and its head."""
    width = {"residual": 3.0, "data": 1.4, "side": 1.2}[line.weight]
    color = theme.faint if line.weight == "side" else theme.flow
    points = line.points
    if line.has_head and len(points) > 1:
        tip, before = points[-1], points[-2]
        head = _HEAD + width
        yield _head(tip, before, head if line.weight != "side" else 6.0, color)
        points = (*points[:-1], _towards(tip, before, head / 2))
    yield Shape(points, _CORNER, False, "", color, width, line.weight == "side")


def _head(tip: Point, before: Point, size: float, color: str) -> Shape:
    base = _towards(tip, before, size)
    away = ((tip[1] - base[1]) * 0.45, (base[0] - tip[0]) * 0.45)
    ends = ((base[0] + away[0], base[1] + away[1]), (base[0] - away[0], base[1] - away[1]))
    return Shape((tip, *ends), 1.5, True, color)


def node_shapes(placed: DrawnNode, theme: Theme, *, is_measured: bool = False) -> Iterator[Shape]:
    """Yield a node's outlines, what is behind first.

    Where the fill ``is_measured``, its strength shows the node's value. A node without a value is
    not filled.
    """
    rect, part = placed.rect, placed.part
    fill, border = theme.fill(part), theme.border(part)
    match placed.form:
        case "input":
            yield _rounded(rect, rect.height / 2, theme.flow)
        case "pill":
            yield _rounded(rect, rect.height / 2, fill, border)
        case "dashed pill":
            whole = _outline(rect)
            half = rect.height / 2
            yield Shape(whole, half, True, theme.surface, theme.faint, 1.0, True)
        case "norm":
            yield _rounded(rect, 6, theme.fill("norm"), theme.border("norm"))
        case "sign":
            yield from _sign(placed, theme)
        case "deck":
            yield from _deck(placed, fill, border)
        case "attention":
            yield from _attention(placed, theme, is_measured)
        case "feed-forward" | "gated feed-forward":
            yield from _feed_forward(placed, theme, is_measured)
        case "box":
            yield _rounded(rect, _ROUND, fill, border)
        case _:
            return


def _sign(placed: DrawnNode, theme: Theme) -> Iterator[Shape]:
    rect = placed.rect
    x, y = rect.x + rect.width / 2, rect.y + rect.height / 2
    yield _rounded(rect, rect.width / 2, theme.surface, theme.flow, 2.0)
    if placed.labels:
        return
    arm = rect.width * 0.25
    is_sum = placed.node.operation in ("residual", "add")
    turned = 0.0 if is_sum else 0.75 * arm
    for ends in (
        ((x - arm, y), (x + arm, y))
        if is_sum
        else ((x - turned, y - turned), (x + turned, y + turned)),
        ((x, y - arm), (x, y + arm))
        if is_sum
        else ((x - turned, y + turned), (x + turned, y - turned)),
    ):
        yield Shape(ends, 0, False, "", theme.flow, 2.0)


def _deck(placed: DrawnNode, fill: str, border: str) -> Iterator[Shape]:
    rect = placed.rect
    out = CARD * (placed.copies - 1)
    for card in range(placed.copies - 1, -1, -1):
        shift = CARD * card
        front = Rect(rect.x + shift, rect.y + out - shift, rect.width - out, rect.height - out)
        yield _rounded(front, _ROUND, fill, border)


def _attention(placed: DrawnNode, theme: Theme, is_measured: bool) -> Iterator[Shape]:
    hue = theme.parts["attention"]
    fill = theme.shade("attention", theme.tint * (1.0 if is_measured else 0.6))
    yield _rounded(placed.rect, _ROUND + 1, fill, hue, 1.8)
    pale, strong = theme.shade("attention", 0.2), theme.shade("attention", 0.55)
    if is_measured:
        pale, strong = theme.surface, theme.line
    for tile in placed.tiles:
        yield _rounded(tile, min(3.0, tile.width / 8), pale)
        inset = tile.width * 0.1
        x, y, right, bottom = (
            tile.x + inset,
            tile.y + inset,
            tile.right - inset,
            tile.bottom - inset,
        )
        if placed.is_causal:
            # Queries go down, keys to the right: no token reads a later one.
            yield Shape(((x, y), (right, bottom), (x, bottom)), 1.0, True, strong)
        else:
            band = tile.width * 0.1
            yield Shape(
                (
                    (x, y),
                    (x + band, y),
                    (right, bottom - band),
                    (right, bottom),
                    (right - band, bottom),
                    (x, y + band),
                ),
                0.5,
                True,
                strong,
            )


def _feed_forward(placed: DrawnNode, theme: Theme, is_measured: bool) -> Iterator[Shape]:
    rect, splits = placed.rect, placed.splits
    fill, border = theme.fill("feed-forward"), theme.border("feed-forward")
    bar = theme.shade("feed-forward", theme.tint * 2.2)
    if is_measured:
        bar = theme.surface  # an activation has no parameters and no matrix product
    top, bottom, middle = rect.y, rect.bottom, rect.y + rect.height / 2
    is_gated = placed.form == "gated feed-forward"
    narrow = NARROW if not is_gated else NARROW * 1.25
    high, low = middle - narrow / 2, middle + narrow / 2
    first, bar_left, bar_right, last = splits
    down = ((last, top), (rect.right, high), (rect.right, low), (last, bottom))
    if not is_gated:
        up = ((rect.x, high), (first, top), (first, bottom), (rect.x, low))
        yield Shape(up, 4, True, fill, border)
        yield _rounded(Rect(bar_left, top, bar_right - bar_left, rect.height), 3, bar, border)
        yield Shape(down, 4, True, fill, border)
        return
    upper, lower = middle - HALF_GAP, middle + HALF_GAP
    yield Shape(
        ((rect.x, high), (first, top), (first, upper), (rect.x, upper)), 4, True, fill, border
    )
    yield Shape(
        ((rect.x, lower), (first, lower), (first, bottom), (rect.x, low)), 4, True, fill, border
    )
    yield _rounded(Rect(bar_left, top, bar_right - bar_left, upper - top), 3, bar, border)
    x = (bar_right + last) / 2
    quarter = (rect.height / 2 - HALF_GAP) / 2
    line = theme.border("feed-forward")
    for points in (
        ((bar_right, top + quarter), (x, top + quarter), (x, middle)),
        ((first, bottom - quarter), (x, bottom - quarter), (x, middle)),
        ((x, middle), (last, middle)),
    ):
        yield Shape(points, 5, False, "", line, 1.4)
    ring = Rect(x - 9, middle - 9, 18, 18)
    yield _rounded(ring, 9, theme.surface, theme.parts["feed-forward"], 1.5)
    for way in (1, -1):
        ends = ((x - 3.5, middle - 3.5 * way), (x + 3.5, middle + 3.5 * way))
        yield Shape(ends, 0, False, "", theme.parts["feed-forward"], 1.6)
    yield Shape(down, 4, True, fill, border)


def _rounded(rect: Rect, radius: float, fill: str, stroke: str = "", width: float = 1.0) -> Shape:
    return Shape(_outline(rect), radius, True, fill, stroke, width)


def _outline(rect: Rect) -> tuple[Point, ...]:
    return (
        (rect.x, rect.y),
        (rect.right, rect.y),
        (rect.right, rect.bottom),
        (rect.x, rect.bottom),
    )


def _distance(a: Point, b: Point) -> float:
    return hypot(a[0] - b[0], a[1] - b[1])


def _towards(start: Point, end: Point, length: float) -> Point:
    whole = _distance(start, end)
    if not whole:
        return start
    share = length / whole
    return start[0] + (end[0] - start[0]) * share, start[1] + (end[1] - start[1]) * share


def handles(begin: Point, corner: Point, end: Point) -> Sequence[Point]:
    """Return the two handles of the curve around a corner."""
    return [
        (a + (c - a) * KAPPA, b + (d - b) * KAPPA)
        for (a, b), (c, d) in ((begin, corner), (end, corner))
    ]


MAX_STRENGTH = 0.5
"""Letters can be read on a fill that has no more of its hue."""

_BELOW = 9.0


class NodeColor(Struct, frozen=True):
    """How one node is coloured.

    Attributes:
        hue: the colour that its fill is mixed from, empty for none.
        strength: how much of it, from 0 to ``MOST_STRENGTH``.
        figure: what is written in it, empty for nothing.
    """

    hue: str = ""
    strength: float = 0.0
    figure: str = ""


NodeColors = Mapping[str, NodeColor]
"""Tints by the nodes' ids."""


def part_color(part: Part, figure: str, theme: Theme) -> NodeColor:
    """Return how a module is coloured as the part of a model that it is."""
    color = theme.parts["norm" if part == "plain" else part]
    return NodeColor(color, theme.tint * 1.6, figure)


def tinted_theme(theme: Theme, tint: NodeColor) -> Theme:
    """Return the colours in which a node is drawn."""
    hue = tint.hue or theme.faint
    # Lines keep their colour.
    parts = {part: color if part == "residual" else hue for part, color in theme.parts.items()}
    return replace(theme, parts=parts, tint=tint.strength)


def with_figure(placed: DrawnNode, figure: str) -> DrawnNode:
    """Return a node with a figure in place of its remark, or below it where it has none."""
    if not figure or placed.form in ("sign", "input", "output", "exit", "list", "dashed pill"):
        return placed
    rect, labels = placed.rect, placed.labels
    if placed.form in ("box", "deck"):
        for place in reversed(range(1, len(labels))):
            if labels[place].ink == "muted":
                told = replace(labels[place], text=figure, style="mono")
                return replace(placed, labels=(*labels[:place], told, *labels[place + 1 :]))
    if placed.form == "attention" and labels:
        # At the right the selected head is named.
        caption = replace(labels[0], text=f"{labels[0].text} · {figure}")
        return replace(placed, labels=(caption, *labels[1:]))
    middle = rect.x + rect.width / 2
    told = Label(figure, middle, rect.bottom + _BELOW, "mono", SMALL, ink="muted")
    return replace(placed, labels=(*labels, told))


class ColoredLabel(Struct, frozen=True):
    """A text with its colour, and that of nothing else."""

    label: Label
    color: str


class DrawItem(Struct, frozen=True):
    """What belongs together: a node or an edge, with what is told where one points at it."""

    kind: str
    key: str
    tip: str
    shapes: tuple[Shape, ...]
    texts: tuple[ColoredLabel, ...] = ()


def draw_items(
    drawing: Drawing, theme: Theme, tints: NodeColors | None = None
) -> Iterator[DrawItem]:
    """Yield all marks of a drawing, what is behind first; with ``tints`` in other colours."""
    order = ("side", "data", "residual")
    for line in sorted(drawing.lines, key=lambda each: order.index(each.weight)):
        key = f"{line.edge.source} {line.edge.target}"
        yield DrawItem("edge", key, edge_tip(line.edge), tuple(line_shapes(line, theme)))
    for placed in drawing.nodes:
        yield _node_mark(placed, theme, tints or {}, has_figures=not drawing.is_brief)
    rest = (*drawing.title, *drawing.labels)
    yield DrawItem(
        "text", "", "", (), tuple(ColoredLabel(each, _plain_ink(each, theme)) for each in rest)
    )


def _node_mark(
    placed: DrawnNode, theme: Theme, tints: NodeColors, *, has_figures: bool
) -> DrawItem:
    tint = tints.get(placed.node.id)
    if tint is None:
        shapes = tuple(node_shapes(placed, theme))
    else:
        placed = with_figure(placed, tint.figure if has_figures else "")
        # What is part of nothing would have no fill.
        filled = replace(placed, part="attention") if placed.part == "plain" else placed
        shapes = tuple(node_shapes(filled, tinted_theme(theme, tint), is_measured=True))
    texts = tuple(ColoredLabel(label, _ink(label, placed, theme)) for label in placed.labels)
    return DrawItem("node", placed.node.id, node_tooltip(placed.node), shapes, texts)


def node_tooltip(node: Node) -> str:
    """Return what is told of a node beside its name."""
    facts = [node.path or node.name]
    if node.repeat is not None:
        facts[0] += f" ({node.repeat.first} to {node.repeat.last})"
    facts += [text for text in (node.class_name, node.operation) if text]
    if node.shape:
        facts.append(shape_text(node.shape))
    if node.symbolic_shape:
        facts.append(shape_text(node.symbolic_shape))
    if node.macs:
        facts.append(f"{node.macs:,} multiply-adds")
    return "\n".join(facts)


def edge_tip(edge: Edge) -> str:
    """Return what is told of an edge."""
    shapes = " = ".join(shape_text(shape) for shape in (edge.shape, edge.symbolic_shape) if shape)
    facts = (edge.role or "", shapes, ", ".join(edge.views))
    return "\n".join(fact for fact in facts if fact)


def _ink(label: Label, placed: DrawnNode, theme: Theme) -> str:
    return theme.parts[placed.part] if label.ink == "part" else _plain_ink(label, theme)


def _plain_ink(label: Label, theme: Theme) -> str:
    return theme.text if label.ink == "text" else theme.muted
