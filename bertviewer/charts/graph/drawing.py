"""A flow as it stands on the canvas: plain data with places, free of Qt and of colours.

How much room a drawing takes without its title, and where another one fits into a node.
"""

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
"""What a node looks like. An ``exit`` is an output beside the main line; a ``sign`` is a
small circle with what it does: plus, times."""

TextStyle = Literal["strong", "text", "mono", "caption"]
"""How a text is set: a name, a word, a size or a path, a remark."""

Ink = Literal["text", "muted", "part"]
"""A text's colour; ``part`` is the hue of what it stands in."""

LineWeight = Literal["residual", "data", "side"]
"""How a line is drawn: thick, plain, or pale and dashed as what follows from masks is."""

Point = tuple[float, float]

_BRIEF = 17.0
"""All letters of a drawing that has no more than names: a line of them fits into any shape."""

MIDDLE = 0.36
"""Small letters' middle is so much of the size above the line on which they stand."""

TextWidth = Callable[[str, TextStyle, float], float]
"""How wide a text of that style and size in pixels is."""


class Typography(Struct, frozen=True):
    """How a drawing's texts are set.

    Attributes:
        measure: how wide they are.
        normal: the size of names, in a drawing as large as it is laid out.
        small: the size of what stands beside them.
        is_brief: names alone are written, which leaves room for larger ones.
    """

    measure: TextWidth
    normal: float = NORMAL
    small: float = SMALL
    is_brief: bool = False

    @classmethod
    def brief(cls, measure: TextWidth) -> "Typography":
        """Return the letters of a drawing that is seen small."""
        return cls(measure, _BRIEF, _BRIEF, is_brief=True)

    @property
    def growth(self) -> float:
        """How many times as large as usual names are."""
        return self.normal / NORMAL


class Label(Struct, frozen=True):
    """A text: ``y`` is the middle of its letters. One that ``is_turned`` reads upwards.

    A subscript is smaller than the text that it belongs to, and may be where texts are smallest.
    """

    text: str
    x: float
    y: float
    style: TextStyle = "text"
    size: float = NORMAL
    anchor: Literal["start", "middle", "end"] = "middle"
    ink: Ink = "text"
    is_turned: bool = False
    is_subscript: bool = False

    def moved(self, x: float, y: float) -> "Label":
        """Return the same text elsewhere."""
        return replace(self, x=self.x + x, y=self.y + y)


class Rect(Struct, frozen=True):
    """A rectangle by its upper left corner."""

    x: float
    y: float
    width: float
    height: float

    @property
    def right(self) -> float:
        """The right side."""
        return self.x + self.width

    @property
    def bottom(self) -> float:
        """The lower side."""
        return self.y + self.height

    def moved(self, x: float, y: float) -> "Rect":
        """Return the same rectangle elsewhere."""
        return replace(self, x=self.x + x, y=self.y + y)


class DrawnNode(Struct, frozen=True):
    """A node in its place.

    Attributes:
        node: what it shows.
        form: what it looks like.
        part: what it is part of.
        rect: what it covers, the cards behind a deck included.
        labels: its texts, in places on the canvas.
        tiles: one for each head of an attention; where to draw its picture after a run.
        splits: the sides of a feed-forward's shapes from left to right.
        copies: how many cards of a deck are seen.
        is_causal: no token reads a later one.
        is_again: the node stands elsewhere too: a mask stands beside each that it masks.
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
        """Return the same node elsewhere."""
        return replace(
            self,
            rect=self.rect.moved(x, y),
            labels=tuple(label.moved(x, y) for label in self.labels),
            tiles=tuple(tile.moved(x, y) for tile in self.tiles),
            splits=tuple(split + x for split in self.splits),
        )


class Line(Struct, frozen=True):
    """An edge's way, from one node's border to another's, with corners that are to be rounded."""

    edge: Edge
    points: tuple[Point, ...]
    weight: LineWeight = "data"
    has_head: bool = False

    def moved(self, x: float, y: float) -> "Line":
        """Return the same line elsewhere."""
        return replace(self, points=tuple((a + x, b + y) for a, b in self.points))


class Picture(Struct, frozen=True):
    """Nodes, lines and texts without a title and margins."""

    nodes: Sequence[DrawnNode]
    lines: Sequence[Line]
    labels: Sequence[Label] = ()


class Drawing(Struct, frozen=True):
    """A whole picture, its upper left corner at 0.

    Attributes:
        width: of the canvas.
        height: likewise.
        title: the line above: path, class, parameters, shapes.
        nodes: in their places.
        lines: the edges; those that only change rows have several.
        labels: texts that belong to no node.
        is_brief: no more than names are written.
    """

    width: float
    height: float
    title: tuple[Label, ...]
    nodes: tuple[DrawnNode, ...]
    lines: tuple[Line, ...]
    labels: tuple[Label, ...] = ()
    is_brief: bool = False


CARD = 5.0
"""How far a card of a deck stands out behind the one before it."""

_AROUND = 9.0
_INSET = 0.05


def drawing_bounds(drawing: Drawing) -> Rect:
    """Return the rectangle of all that is drawn but the title, with a little room around it."""
    xs = [x for line in drawing.lines for x, _ in line.points]
    ys = [y for line in drawing.lines for _, y in line.points]
    for placed in drawing.nodes:
        xs += (placed.rect.x, placed.rect.right)
        ys += (placed.rect.y, placed.rect.bottom)
        ys += (label.y - 8 for label in placed.labels)
    for label in drawing.labels:
        xs.append(label.x)
        ys.append(label.y - 8)
    if not xs or not ys:
        return Rect(0, 0, drawing.width, drawing.height)
    left, top = min(xs) - _AROUND, min(ys) - _AROUND
    return Rect(left, top, max(xs) + _AROUND - left, max(ys) + _AROUND - top)


def front_rect(placed: DrawnNode) -> Rect:
    """Return the rectangle in which what is inside of a node is drawn."""
    rect = placed.rect
    if placed.form == "deck":
        out = CARD * (placed.copies - 1)
        rect = Rect(rect.x, rect.y + out, rect.width - out, rect.height - out)
    return rect


def inner_rect(placed: DrawnNode) -> Rect:
    """Return that rectangle with a margin."""
    rect = front_rect(placed)
    margin = _INSET * min(rect.width, rect.height)
    return Rect(rect.x + margin, rect.y + margin, rect.width - 2 * margin, rect.height - 2 * margin)


def simplified(points: Sequence[Point]) -> tuple[Point, ...]:
    """Return a line without corners that are none."""
    found: list[Point] = []
    for point in points:
        while len(found) > 1 and _is_between(found[-2], found[-1], point):
            found.pop()
        if not found or found[-1] != point:
            found.append(point)
    return tuple(found)


def _is_between(a: Point, b: Point, c: Point) -> bool:
    return any(abs(a[axis] - b[axis]) < 0.01 and abs(b[axis] - c[axis]) < 0.01 for axis in (0, 1))
