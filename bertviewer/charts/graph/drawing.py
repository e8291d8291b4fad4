"""Drawing of a graph: nodes, lines and labels with coordinates, without Qt and colours."""

from collections.abc import Callable, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from bertviewer.charts.theme import NORMAL, SMALL, Part
from bertviewer.core.schema.flow import Edge, Node

NodeForm = Literal[
    "input",
    "output",
    "box",
    "deck",
    "norm",
    "pill",
    "dashed pill",
    "exit",
    "sign",
    "attention",
    "feed-forward",
    "gated feed-forward",
    "list",
]
"""Shape of a node. ``deck``: cards behind one another, for identical layers. ``exit``: an output
below the main path. ``sign``: a small circle with an operator."""

TextStyle = Literal["strong", "text", "mono", "caption"]
"""Font of a label: bold for names, plain for words, monospaced for sizes, plain for remarks."""

LabelColor = Literal["text", "muted", "part"]
"""``part`` is the hue of the node."""

LineWeight = Literal["residual", "data", "side"]
"""Thick, plain, or pale and dashed (masks and positions)."""

Point = tuple[float, float]

_COMPACT = 17.0
"""Font size of a drawing with names only."""

MIDDLE = 0.36
"""Distance from the baseline to the middle of lower-case letters, as a share of the font size."""

CARD = 5.0
"""Offset between the cards of a deck."""

_AROUND, _INSET = 9.0, 0.05

TextWidth = Callable[[str, TextStyle, float], float]
"""Returns the width of a text in a style and font size in pixels."""


class Typography(Struct, frozen=True):
    """Font sizes of a drawing, and the function that measures texts.

    Attributes:
        measure: returns the width of a text.
        normal: font size of names.
        small: font size of everything else.
        is_brief: only names are drawn, and larger.
    """

    measure: TextWidth
    normal: float = NORMAL
    small: float = SMALL
    is_brief: bool = False

    @classmethod
    def brief(cls, measure: TextWidth) -> "Typography":
        """Return the font sizes of a drawing that is displayed small."""
        return cls(measure, _COMPACT, _COMPACT, is_brief=True)

    @property
    def growth(self) -> float:
        """Size of names relative to the usual size."""
        return self.normal / NORMAL


class Label(Struct, frozen=True):
    """A text; ``y`` is the middle of its letters. Rotated labels read upwards.

    Subscripts are exempt from the minimum font size.
    """

    text: str
    x: float
    y: float
    style: TextStyle = "text"
    size: float = NORMAL
    anchor: Literal["start", "middle", "end"] = "middle"
    ink: LabelColor = "text"
    is_turned: bool = False
    is_subscript: bool = False

    def moved(self, x: float, y: float) -> "Label":
        """Return the label moved by a distance."""
        return replace(self, x=self.x + x, y=self.y + y)


class Rect(Struct, frozen=True):
    """A rectangle by its upper left corner."""

    x: float
    y: float
    width: float
    height: float

    @property
    def right(self) -> float:
        """Right side."""
        return self.x + self.width

    @property
    def bottom(self) -> float:
        """Lower side."""
        return self.y + self.height

    @property
    def middle(self) -> Point:
        """Centre."""
        return self.x + self.width / 2, self.y + self.height / 2

    def moved(self, x: float, y: float) -> "Rect":
        """Return the rectangle moved by a distance."""
        return replace(self, x=self.x + x, y=self.y + y)


class DrawnNode(Struct, frozen=True):
    """A node with its shape and position.

    Attributes:
        node: the node of the graph.
        form: its shape.
        part: the part of the model that sets its hue.
        rect: its bounding box, including the cards behind a deck.
        labels: its texts.
        tiles: one square per attention head, in which attention is drawn after a run.
        splits: the x coordinates between the sections of a feed-forward shape.
        copies: the number of cards of a deck.
        is_causal: the attention is causal.
        is_again: the node is drawn elsewhere, too: a mask appears next to each node that reads it.
    """

    node: Node
    form: NodeForm
    part: Part
    rect: Rect
    labels: tuple[Label, ...] = ()
    tiles: tuple[Rect, ...] = ()
    splits: tuple[float, ...] = ()
    copies: int = 1
    is_causal: bool = False
    is_again: bool = False

    def moved(self, x: float, y: float) -> "DrawnNode":
        """Return the node moved by a distance."""
        return replace(
            self,
            rect=self.rect.moved(x, y),
            labels=tuple(label.moved(x, y) for label in self.labels),
            tiles=tuple(tile.moved(x, y) for tile in self.tiles),
            splits=tuple(split + x for split in self.splits),
        )


class Line(Struct, frozen=True):
    """An edge as a polyline from border to border; its corners are drawn rounded."""

    edge: Edge
    points: tuple[Point, ...]
    weight: LineWeight = "data"
    has_head: bool = False

    def moved(self, x: float, y: float) -> "Line":
        """Return the line moved by a distance."""
        return replace(self, points=tuple((a + x, b + y) for a, b in self.points))


class Picture(Struct, frozen=True):
    """Nodes, lines and labels without title and margins."""

    nodes: Sequence[DrawnNode]
    lines: Sequence[Line]
    labels: Sequence[Label] = ()


class Drawing(Struct, frozen=True):
    """A complete drawing with its upper left corner at (0, 0).

    Attributes:
        width, height: the size of the canvas.
        title: path, class, parameters and shapes in one line.
        nodes: all nodes.
        lines: all edges.
        labels: texts that belong to no node.
        is_brief: only names are drawn.
    """

    width: float
    height: float
    title: tuple[Label, ...]
    nodes: tuple[DrawnNode, ...]
    lines: tuple[Line, ...]
    labels: tuple[Label, ...] = ()
    is_brief: bool = False


def drawing_bounds(drawing: Drawing) -> Rect:
    """Return the bounding box of everything but the title, with a small margin."""
    xs = [x for line in drawing.lines for x, _ in line.points]
    ys = [y for line in drawing.lines for _, y in line.points]
    for drawn in drawing.nodes:
        xs += (drawn.rect.x, drawn.rect.right)
        ys += (drawn.rect.y, drawn.rect.bottom, *(label.y - 8 for label in drawn.labels))
    xs += (label.x for label in drawing.labels)
    ys += (label.y - 8 for label in drawing.labels)
    if not xs or not ys:
        return Rect(0, 0, drawing.width, drawing.height)
    left, top = min(xs) - _AROUND, min(ys) - _AROUND
    return Rect(left, top, max(xs) + _AROUND - left, max(ys) + _AROUND - top)


def front_rect(drawn: DrawnNode) -> Rect:
    """Return a node's rectangle; of a deck that of its front card."""
    if drawn.form != "deck":
        return drawn.rect
    rect, out = drawn.rect, CARD * (drawn.copies - 1)
    return Rect(rect.x, rect.y + out, rect.width - out, rect.height - out)


def inner_rect(drawn: DrawnNode) -> Rect:
    """Return the area of a node in which its own graph is drawn."""
    rect = front_rect(drawn)
    margin = _INSET * min(rect.width, rect.height)
    return Rect(rect.x + margin, rect.y + margin, rect.width - 2 * margin, rect.height - 2 * margin)


def simplified(points: Sequence[Point]) -> tuple[Point, ...]:
    """Return a polyline without repeated points and points on straight segments."""
    found: list[Point] = []
    for point in points:
        while len(found) > 1 and _is_straight(found[-2], found[-1], point):
            found.pop()
        if not found or found[-1] != point:
            found.append(point)
    return tuple(found)


def _is_straight(a: Point, b: Point, c: Point) -> bool:
    return any(abs(a[axis] - b[axis]) < 0.01 and abs(b[axis] - c[axis]) < 0.01 for axis in (0, 1))
