"""The feed-forward's shape: it widens, bends and narrows, and a gate multiplies."""

from collections.abc import Sequence

from bertviewer.charts.graph.drawing import Label, Letters, Placed, Rect
from bertviewer.charts.graph.lettering import cut_in_middle, named
from bertviewer.charts.graph.words import ARROW, Words, widths_text
from bertviewer.core.schema.flow import Node

NARROW, WIDE, GATED_WIDE = 56.0, 128.0, 148.0
"""How high the shape is at its ends and in the middle."""

LEAST_WIDTH, BAR, GATE_ROOM, BETWEEN = 70.0, 20.0, 32.0, 2.0
HALF_GAP = 3.0
_MOST_NAME = 120.0


def is_feed_forward(node: Node) -> bool:
    """Tell whether a node is a feed-forward whose two or three layers are known."""
    return node.operation in ("feed-forward", "gated feed-forward") and len(layers_of(node)) > 1


def layers_of(node: Node) -> tuple[Node, ...]:
    """Return the linear layers of a feed-forward, a gate before what it gates."""
    layers = [each for each in node.nodes or () if each.operation == "linear"]
    if len(layers) != 3:
        return tuple(layers)
    bent = {
        edge.source
        for edge in node.edges
        if any(
            each.id == edge.target and each.operation == "activation" for each in node.nodes or ()
        )
    }
    return (*sorted(layers[:2], key=lambda layer: layer.id not in bent), layers[2])


def feed_forward(node: Node, words: Words, letters: Letters) -> Placed:
    """Return the shape of a feed-forward, plain or gated."""
    layers = layers_of(node)
    name = str(node.details.get("activation") or _inner_activation(node))
    if node.operation == "gated feed-forward":
        return _gated(node, words, layers, name, letters)
    height = WIDE
    first, last = layers[0], layers[-1]
    left, right = (_width(each, letters) for each in (first, last))
    splits = (left, left + BETWEEN, left + BETWEEN + BAR, left + 2 * BETWEEN + BAR)
    width = splits[-1] + right
    labels = (
        *_named(first, left / 2 + 4, height / 2, letters),
        _bar(name, splits[1] + BAR / 2, height / 2, height - 12, letters),
        *_named(last, splits[-1] + right / 2 - 4, height / 2, letters),
    )
    rect = Rect(0, 0, width, height)
    return Placed(node, "feed-forward", words.part, rect, labels, splits=splits)


def _gated(node: Node, words: Words, layers: Sequence[Node], name: str, letters: Letters) -> Placed:
    height = GATED_WIDE
    down = layers[-1]
    left = max(_width(each, letters) for each in layers[:-1])
    right = _width(down, letters)
    splits = (left, left + BETWEEN, left + BETWEEN + BAR, left + BETWEEN + BAR + GATE_ROOM)
    upper, lower = height * 0.27, height * 0.73
    if len(layers) == 3:
        written = (
            *_named(layers[0], left / 2 + 5, upper + 8, letters),
            *_named(layers[1], left / 2 + 5, lower - 8, letters),
        )
    else:
        # One layer makes both, side by side.
        written = (
            *_named(layers[0], left / 2 + 5, upper + 8, letters, "1"),
            *_named(layers[0], left / 2 + 5, lower - 8, letters, "2"),
        )
    labels = (
        *written,
        _bar(name, splits[1] + BAR / 2, (height / 2 - HALF_GAP) / 2, height / 2 - 14, letters),
        *_named(down, splits[-1] + right / 2 - 4, height / 2, letters),
    )
    rect = Rect(0, 0, splits[-1] + right, height)
    return Placed(node, "gated feed-forward", words.part, rect, labels, splits=splits)


def _width(layer: Node, letters: Letters) -> float:
    name = letters.measure(_name(layer, letters), "strong", letters.normal)
    sizes = letters.measure(_sizes(layer, letters), "mono", letters.small)
    return max(LEAST_WIDTH, name + 22, sizes + 20)


def _name(layer: Node, letters: Letters) -> str:
    room = _MOST_NAME * letters.growth
    return cut_in_middle(layer.name, room, letters.measure, "strong", letters.normal)


def _sizes(layer: Node, letters: Letters, parts: int = 1) -> str:
    return "" if letters.is_brief else widths_text(layer, ARROW, parts)


def _named(
    layer: Node, x: float, y: float, letters: Letters, subscript: str = ""
) -> tuple[Label, ...]:
    name, sizes = _name(layer, letters), _sizes(layer, letters, 2 if subscript else 1)
    if not sizes:
        return named(name, subscript, x, y, letters)
    size = Label(sizes, x, y + 8, "mono", letters.small, ink="muted")
    return *named(name, subscript, x, y - 8, letters), size


def _bar(name: str, x: float, y: float, room: float, letters: Letters) -> Label:
    size = letters.normal - 1
    if letters.measure(name, "strong", size) > room:
        # "GELU (tanh)" is one of GELU's forms; which one is told where one points at it.
        name = name.partition(" (")[0]
    text = cut_in_middle(name, room, letters.measure, "strong", size)
    return Label(text, x, y, "strong", size, is_turned=True)


def _inner_activation(node: Node) -> str:
    found = (each for each in node.nodes or () if each.operation == "activation")
    return next((str(each.details.get("activation") or each.name) for each in found), "")
