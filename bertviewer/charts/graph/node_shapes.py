"""The feed-forward's shape: it widens, bends and narrows, and a gate multiplies.

How large a node's shape is and what stands in it, before it has a place.
"""

from collections.abc import Sequence
from math import ceil

from msgspec import Struct
from msgspec.structs import replace

from bertviewer.charts.graph.drawing import (
    CARD,
    DrawnNode,
    Label,
    NodeForm,
    Rect,
    TextStyle,
    Typography,
)
from bertviewer.charts.graph.node_labels import (
    ARROW,
    POSITION_BIAS,
    SIGNS,
    NodeLabel,
    elided,
    named,
    widths_text,
)
from bertviewer.charts.parts import NORMS
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


def feed_forward(node: Node, words: NodeLabel, letters: Typography) -> DrawnNode:
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
    return DrawnNode(node, "feed-forward", words.part, rect, labels, splits=splits)


def _gated(
    node: Node, words: NodeLabel, layers: Sequence[Node], name: str, letters: Typography
) -> DrawnNode:
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
    return DrawnNode(node, "gated feed-forward", words.part, rect, labels, splits=splits)


def _width(layer: Node, letters: Typography) -> float:
    name = letters.measure(_name(layer, letters), "strong", letters.normal)
    sizes = letters.measure(_sizes(layer, letters), "mono", letters.small)
    return max(LEAST_WIDTH, name + 22, sizes + 20)


def _name(layer: Node, letters: Typography) -> str:
    room = _MOST_NAME * letters.growth
    return elided(layer.name, room, letters.measure, "strong", letters.normal)


def _sizes(layer: Node, letters: Typography, parts: int = 1) -> str:
    return "" if letters.is_brief else widths_text(layer, ARROW, parts)


def _named(
    layer: Node, x: float, y: float, letters: Typography, subscript: str = ""
) -> tuple[Label, ...]:
    name, sizes = _name(layer, letters), _sizes(layer, letters, 2 if subscript else 1)
    if not sizes:
        return named(name, subscript, x, y, letters)
    size = Label(sizes, x, y + 8, "mono", letters.small, ink="muted")
    return *named(name, subscript, x, y - 8, letters), size


def _bar(name: str, x: float, y: float, room: float, letters: Typography) -> Label:
    size = letters.normal - 1
    if letters.measure(name, "strong", size) > room:
        # "GELU (tanh)" is one of GELU's forms; which one is told where one points at it.
        name = name.partition(" (")[0]
    text = elided(name, room, letters.measure, "strong", size)
    return Label(text, x, y, "strong", size, is_turned=True)


def _inner_activation(node: Node) -> str:
    found = (each for each in node.nodes or () if each.operation == "activation")
    return next((str(each.details.get("activation") or each.name) for each in found), "")


DOT, SIGN, ARROW_ROOM = 10.0, 22.0, 28.0
SIDE_PILL, PILL_HEIGHT, NORM_HEIGHT, BOX_HEIGHT, LOW_BOX = 22.0, 28.0, 30.0, 42.0, 34.0
BRIEF_BOX = 30.0
LEAST_BOX, MOST_TEXT, LINE = 58.0, 170.0, 15.0
TILE_GAP, TILES_WIDE, TILES_HIGH, BRIEF_TILES, MARGIN, CAPTION = 4.0, 180.0, 114.0, 96.0, 9.0, 24.0
MOST_TILES = 160
_LAYERS = ("linear", "embedding", "convolution", POSITION_BIAS)
ABOVE_LINE = 24.0
"""How far above its line a text of an input or an output reaches."""


class Glyph(Struct, frozen=True):
    """How a node is drawn, with its upper left corner at 0, and the room that it takes.

    ``line`` is where the tensors' line meets it; ``above`` and ``below`` are counted from there,
    texts beside the shape included. ``text`` is how wide the text above an input or an output is.
    """

    placed: DrawnNode
    width: float
    line: float
    above: float
    below: float
    text: float = 0.0

    @classmethod
    def of(cls, placed: DrawnNode) -> "Glyph":
        """Return the glyph of a shape that has no texts beside it."""
        half = placed.rect.height / 2
        return cls(placed, placed.rect.width, half, half, half)


def glyph_of(node: Node, words: NodeLabel, letters: Typography) -> Glyph:
    """Return how a node is drawn."""
    if node.kind in ("input", "output"):
        return _end(node, words, letters)
    if node.repeat is not None:
        return _deck(node, words, letters)
    if node.kind in ("constant", "parameter"):
        return _pill(node, words, letters, "dashed pill" if node.kind == "constant" else "pill")
    if node.operation == "attention":
        return _attention(node, words, letters)
    if is_feed_forward(node):
        return Glyph.of(feed_forward(node, words, letters))
    if node.operation == "experts":
        return _deck(node, words, letters)
    if node.operation in NORMS:
        return _norm(node, words, letters)
    if node.operation in SIGNS and node.kind != "module":
        return _sign(node, words, letters)
    if node.operation in _LAYERS:
        return Glyph.of(_box(node, words, letters))
    if node.operation in ("rotary", "activation") or node.kind == "operation":
        return _pill(node, words, letters, "pill")
    return Glyph.of(_box(node, words, letters))


def side_pill(node: Node, words: NodeLabel, letters: Typography) -> Glyph:
    """Return the small pill of what hangs beside a node: masks, tables, further outputs."""
    form: NodeForm = "pill"
    if node.kind == "output":
        form = "exit"
    elif node.kind in ("constant", "input"):
        form = "dashed pill"
    return _pill(node, words, letters, form, SIDE_PILL)


def _end(node: Node, words: NodeLabel, letters: Typography) -> Glyph:
    size = letters.small + 0.5
    text = _cut(words.title, letters, "caption", size)
    is_input = node.kind == "input"
    room = DOT if is_input else ARROW_ROOM
    label = Label(
        text,
        0.0 if is_input else room,
        DOT / 2 - 9.3 - 0.7 * size,
        "caption",
        size,
        "start" if is_input else "end",
        "muted",
    )
    placed = DrawnNode(
        node, "input" if is_input else "output", words.part, Rect(0, 0, room, DOT), (label,)
    )
    width = letters.measure(text, "caption", size)
    return Glyph(placed, room, DOT / 2, ABOVE_LINE * letters.growth, DOT, width)


def _sign(node: Node, words: NodeLabel, letters: Typography) -> Glyph:
    sign = SIGNS[node.operation or ""]
    labels = () if sign in "+×" else (Label(sign, SIGN / 2, SIGN / 2, "strong", letters.normal),)
    return Glyph.of(DrawnNode(node, "sign", words.part, Rect(0, 0, SIGN, SIGN), labels))


def _norm(node: Node, words: NodeLabel, letters: Typography) -> Glyph:
    size = letters.normal - 0.5
    width = letters.measure(words.title, "strong", size) + 16
    label = Label(words.title, width / 2, NORM_HEIGHT / 2, "strong", size)
    rect = Rect(0, 0, width, NORM_HEIGHT)
    return Glyph.of(DrawnNode(node, "norm", "norm", rect, (label,)))


def _pill(
    node: Node, words: NodeLabel, letters: Typography, form: NodeForm, height: float = PILL_HEIGHT
) -> Glyph:
    size = letters.small + 0.5
    text = _cut(words.title, letters, "text", size)
    is_small = form == "dashed pill" or height < PILL_HEIGHT
    width = letters.measure(text, "text", size) + (24 if is_small else 28)
    label = Label(text, width / 2, height / 2, "text", size, ink="muted" if is_small else "text")
    return Glyph.of(DrawnNode(node, form, words.part, Rect(0, 0, width, height), (label,)))


def _box(node: Node, words: NodeLabel, letters: Typography, form: NodeForm = "box") -> DrawnNode:
    """Return a title, and a remark below it, in a box."""
    title = _cut(words.title, letters, "strong", letters.normal)
    name = named(title, words.subscript, 0, 0, letters)
    width = sum(letters.measure(label.text, "strong", label.size) for label in name)
    if not words.remark or letters.is_brief:
        height = BRIEF_BOX if letters.is_brief else LOW_BOX
        rect = Rect(0, 0, max(LEAST_BOX, width + 16), height)
        labels = tuple(label.moved(rect.width / 2, rect.height / 2) for label in name)
        return DrawnNode(node, form, words.part, rect, labels)
    style: TextStyle = "mono" if words.remark[:1].isdigit() else "caption"
    remark = _cut(words.remark, letters, style, letters.small)
    width = max(width, letters.measure(remark, style, letters.small))
    rect = Rect(0, 0, max(LEAST_BOX, width + 16), BOX_HEIGHT)
    x, y = rect.width / 2, rect.height / 2
    labels = tuple(label.moved(x, y - LINE / 2) for label in name)
    below = Label(remark, x, y + LINE / 2, style, letters.small, ink="muted")
    return DrawnNode(node, form, words.part, rect, (*labels, below))


def _deck(node: Node, words: NodeLabel, letters: Typography) -> Glyph:
    """Equal layers, or experts: cards behind one another, and how many there are."""
    copies = 4 if node.operation == "experts" else min(4, node.repeat.count if node.repeat else 1)
    out = CARD * (copies - 1)
    front = _box(node, words, letters)
    rect = front.rect
    height = max(rect.height + 12, 58.0)
    count = "" if node.repeat is None else f"×{node.repeat.count}"
    chip = letters.measure(count, "strong", letters.normal) + 14 if count else 0.0
    width = max(rect.width, 96.0) + chip
    shift = ((width - chip - rect.width) / 2, out + (height - rect.height) / 2)
    labels = [label.moved(*shift) for label in front.labels]
    if count:
        chips = Label(
            count, width - 12, out + height / 2, "strong", letters.normal, "end", ink="part"
        )
        labels.append(chips)
    whole = Rect(0, 0, width + out, height + out)
    placed = replace(front, form="deck", rect=whole, labels=tuple(labels), copies=copies)
    # Lines meet the front card: its middle is the glyph's.
    return Glyph(placed, whole.width, height / 2 + out, height / 2 + out, height / 2)


def _attention(node: Node, words: NodeLabel, letters: Typography) -> Glyph:
    heads = node.details.get("heads")
    count = heads if isinstance(heads, int) and heads > 0 else 1
    drawn = min(count, MOST_TILES)
    gap = TILE_GAP if drawn <= 24 else 2.5
    high = BRIEF_TILES if letters.is_brief else TILES_HIGH
    across, tile = _grid(drawn, gap, high)
    down = ceil(drawn / across)
    caption, size = "" if letters.is_brief else _heads_text(node, count), letters.small
    inner = max(across * tile + (across - 1) * gap, letters.measure(caption, "caption", size))
    # As high as Q, K and V are together, so that they go straight into it.
    top = MARGIN + (high - down * tile - (down - 1) * gap) / 2
    left = MARGIN + (inner - across * tile - (across - 1) * gap) / 2
    tiles = tuple(
        Rect(
            left + (number % across) * (tile + gap),
            top + (number // across) * (tile + gap),
            tile,
            tile,
        )
        for number in range(drawn)
    )
    bottom = MARGIN + high
    rect = Rect(0, 0, inner + 2 * MARGIN, bottom + (CAPTION if caption else MARGIN))
    label = Label(caption, MARGIN, bottom + CAPTION / 2 + 0.5, "caption", size, "start", "muted")
    labels = (label,) if caption else ()
    causal = bool(node.details.get("causal"))
    placed = DrawnNode(node, "attention", words.part, rect, labels, tiles=tiles, is_causal=causal)
    return Glyph.of(placed)


def _grid(count: int, gap: float, high: float) -> tuple[int, float]:
    """Return how many tiles stand side by side, and their size: the largest that fit.

    Rows that are all full go before slightly larger tiles.
    """
    sizes = {
        across: min(
            (TILES_WIDE - gap * (across - 1)) / across,
            (high - gap * (ceil(count / across) - 1)) / ceil(count / across),
        )
        for across in range(1, count + 1)
    }
    largest = max(sizes.values())
    full = [across for across in sizes if not count % across and sizes[across] > 0.8 * largest]
    across = max(full or sizes, key=lambda number: sizes[number])
    return across, sizes[across]


def _cut(text: str, letters: Typography, style: TextStyle, size: float) -> str:
    return elided(text, MOST_TEXT * letters.growth, letters.measure, style, size)


def _heads_text(node: Node, count: int) -> str:
    text = "1 head" if count == 1 else f"{count} heads"
    shared = node.details.get("key_value_heads")
    if isinstance(shared, int) and shared != count:
        return f"{text}, {shared} for K and V"
    size = node.details.get("head_size")
    return f"{text} of {size}" if size else text
