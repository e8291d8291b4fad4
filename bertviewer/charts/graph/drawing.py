"""A flow as it stands on the canvas: plain data with places, free of Qt and of colours."""

from collections.abc import Callable, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from bertviewer.charts.theme import NORMAL, SMALL, Part
from bertviewer.core.schema.flow import Edge, Node

Form = Literal[
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

Style = Literal["strong", "text", "mono", "caption"]
"""How a text is set: a name, a word, a size or a path, a remark."""

Ink = Literal["text", "muted", "part"]
"""A text's colour; ``part`` is the hue of what it stands in."""

Weight = Literal["residual", "data", "side"]
"""How a line is drawn: thick, plain, or pale and dashed as what follows from masks is."""

Point = tuple[float, float]

_BRIEF = 17.0
"""All letters of a drawing that has no more than names: a line of them fits into any shape."""

MIDDLE = 0.36
"""Small letters' middle is so much of the size above the line on which they stand."""

Measure = Callable[[str, Style, float], float]
"""How wide a text of that style and size in pixels is."""


class Letters(Struct, frozen=True):
    """How a drawing's texts are set.

    Attributes:
        measure: how wide they are.
        normal: the size of names, in a drawing as large as it is laid out.
        small: the size of what stands beside them.
        is_brief: names alone are written, which leaves room for larger ones.
    """

    measure: Measure
    normal: float = NORMAL
    small: float = SMALL
    is_brief: bool = False

    @classmethod
    def brief(cls, measure: Measure) -> "Letters":
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
    style: Style = "text"
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


class Placed(Struct, frozen=True):
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
    form: Form
    part: Part
    rect: Rect
    labels: tuple[Label, ...] = ()
    tiles: tuple[Rect, ...] = ()
    splits: tuple[float, ...] = ()
    copies: int = 1
    is_causal: bool = False
    is_again: bool = False

    def moved(self, x: float, y: float) -> "Placed":
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
    weight: Weight = "data"
    has_head: bool = False

    def moved(self, x: float, y: float) -> "Line":
        """Return the same line elsewhere."""
        return replace(self, points=tuple((a + x, b + y) for a, b in self.points))


class Picture(Struct, frozen=True):
    """Nodes, lines and texts without a title and margins."""

    nodes: Sequence[Placed]
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
    nodes: tuple[Placed, ...]
    lines: tuple[Line, ...]
    labels: tuple[Label, ...] = ()
    is_brief: bool = False
