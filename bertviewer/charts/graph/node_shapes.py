"""Size and labels of a node's shape, before it has a position."""

from collections.abc import Callable, Sequence
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
    name_labels,
    widths_text,
)
from bertviewer.charts.parts import NORMS
from bertviewer.core.schema.flow import Node

ABOVE_LINE = 24.0
"""How far the label of an input or output reaches above its line."""

NARROW, HALF_GAP = 56.0, 3.0
"""Height of a feed-forward shape at its ends; half the gap between a gate and what it gates."""

_DOT, _SIGN, _ARROW = 10.0, 22.0, 28.0
_SIDE_PILL, _PILL, _NORM = 22.0, 28.0, 30.0
_BOX, _BOX_WITHOUT_REMARK, _BRIEF_BOX, _MIN_BOX, _LINE = 42.0, 34.0, 30.0, 58.0, 15.0
_DECK, _MIN_DECK, _MAX_CARDS = 58.0, 96.0, 4
_MAX_TEXT, _MAX_LAYER_NAME = 170.0, 120.0
_TILES_WIDE, _TILES_HIGH, _BRIEF_TILES, _MAX_TILES = 180.0, 114.0, 96.0, 160
_MARGIN, _CAPTION = 9.0, 24.0
_WIDE, _GATED_WIDE, _MIN_LAYER, _BAR, _GATE, _GAP = 128.0, 148.0, 70.0, 20.0, 32.0, 2.0


class Glyph(Struct, frozen=True):
    """A node's shape with its upper left corner at (0, 0).

    Attributes:
        drawn: the shape.
        width: its width.
        line: the y coordinate at which edges meet it.
        above, below: the extent from there, labels included.
        text: the width of the label above an input or output.
    """

    drawn: DrawnNode
    width: float
    line: float
    above: float
    below: float
    text: float = 0.0

    @classmethod
    def of(cls, drawn: DrawnNode) -> "Glyph":
        """Return the glyph of a shape whose labels are all inside."""
        half = drawn.rect.height / 2
        return cls(drawn, drawn.rect.width, half, half, half)


def glyph_of(node: Node, label: NodeLabel, texts: Typography) -> Glyph:
    """Return the shape of a node on the path of data."""
    if node.kind in ("input", "output"):
        return _end(node, label, texts)
    if node.repeat is not None:
        return _deck(node, label, texts)
    if node.kind in ("constant", "parameter"):
        return _pill(node, label, texts, "dashed pill" if node.kind == "constant" else "pill")
    if node.operation in SIGNS and node.kind != "module":
        return _sign(node, label, texts)
    if _is_feed_forward(node):
        return Glyph.of(_feed_forward(node, label, texts))
    if node.operation in _GLYPHS:
        return _GLYPHS[node.operation](node, label, texts)
    if node.kind == "operation":
        return _pill(node, label, texts)
    return _box_glyph(node, label, texts)


def side_pill(node: Node, label: NodeLabel, texts: Typography) -> Glyph:
    """Return the small shape of a side node."""
    form: NodeForm = "pill"
    if node.kind == "output":
        form = "exit"
    elif node.kind in ("constant", "input"):
        form = "dashed pill"
    return _pill(node, label, texts, form, _SIDE_PILL)


def _end(node: Node, label: NodeLabel, texts: Typography) -> Glyph:
    size = texts.small + 0.5
    text = _cut(label.title, texts, "caption", size)
    is_input = node.kind == "input"
    width, x = (_DOT, 0.0) if is_input else (_ARROW, _ARROW)
    y = _DOT / 2 - 9.3 - 0.7 * size
    title = Label(text, x, y, "caption", size, "start" if is_input else "end", "muted")
    form: NodeForm = "input" if is_input else "output"
    drawn = DrawnNode(node, form, label.part, Rect(0, 0, width, _DOT), (title,))
    text_width = texts.measure(text, "caption", size)
    return Glyph(drawn, width, _DOT / 2, ABOVE_LINE * texts.growth, _DOT, text_width)


def _sign(node: Node, label: NodeLabel, texts: Typography) -> Glyph:
    sign, half = SIGNS[node.operation or ""], _SIGN / 2
    # Plus and times are drawn as lines.
    labels = () if sign in "+×" else (Label(sign, half, half, "strong", texts.normal),)
    return Glyph.of(DrawnNode(node, "sign", label.part, Rect(0, 0, _SIGN, _SIGN), labels))


def _norm(node: Node, label: NodeLabel, texts: Typography) -> Glyph:
    size = texts.normal - 0.5
    width = texts.measure(label.title, "strong", size) + 16
    title = Label(label.title, width / 2, _NORM / 2, "strong", size)
    return Glyph.of(DrawnNode(node, "norm", "norm", Rect(0, 0, width, _NORM), (title,)))


def _pill(
    node: Node,
    label: NodeLabel,
    texts: Typography,
    form: NodeForm = "pill",
    height: float = _PILL,
) -> Glyph:
    size = texts.small + 0.5
    text = _cut(label.title, texts, "text", size)
    is_small = form == "dashed pill" or height < _PILL
    width = texts.measure(text, "text", size) + (24 if is_small else 28)
    title = Label(text, width / 2, height / 2, "text", size, ink="muted" if is_small else "text")
    return Glyph.of(DrawnNode(node, form, label.part, Rect(0, 0, width, height), (title,)))


def _box(node: Node, label: NodeLabel, texts: Typography) -> DrawnNode:
    """Return a box with a title and a remark."""
    title = _cut(label.title, texts, "strong", texts.normal)
    name = name_labels(title, label.subscript, 0, 0, texts)
    width = sum(texts.measure(each.text, "strong", each.size) for each in name)
    style: TextStyle = "mono" if label.remark[:1].isdigit() else "caption"
    remark = ""
    if label.remark and not texts.is_brief:
        remark = _cut(label.remark, texts, style, texts.small)
        width = max(width, texts.measure(remark, style, texts.small))
    height = _BOX if remark else _BRIEF_BOX if texts.is_brief else _BOX_WITHOUT_REMARK
    rect = Rect(0, 0, max(_MIN_BOX, width + 16), height)
    x, y = rect.middle
    up = _LINE / 2 if remark else 0.0
    labels = [each.moved(x, y - up) for each in name]
    if remark:
        labels.append(Label(remark, x, y + up, style, texts.small, ink="muted"))
    return DrawnNode(node, "box", label.part, rect, tuple(labels))


def _box_glyph(node: Node, label: NodeLabel, texts: Typography) -> Glyph:
    return Glyph.of(_box(node, label, texts))


def _deck(node: Node, label: NodeLabel, texts: Typography) -> Glyph:
    """Return identical layers, or experts: cards behind one another, with their number."""
    layers = 0 if node.repeat is None else node.repeat.count
    copies = _MAX_CARDS if node.operation == "experts" else min(_MAX_CARDS, layers or 1)
    out = CARD * (copies - 1)
    front = _box(node, label, texts)
    height = max(front.rect.height + 12, _DECK)
    count = f"×{layers}" if layers else ""
    chip = texts.measure(count, "strong", texts.normal) + 14 if count else 0.0
    width = max(front.rect.width, _MIN_DECK) + chip
    x = (width - chip - front.rect.width) / 2
    y = out + (height - front.rect.height) / 2
    labels = [each.moved(x, y) for each in front.labels]
    if count:
        middle = out + height / 2
        size = texts.normal
        labels.append(Label(count, width - 12, middle, "strong", size, "end", ink="part"))
    rect = Rect(0, 0, width + out, height + out)
    drawn = replace(front, form="deck", rect=rect, labels=tuple(labels), copies=copies)
    # Edges meet the front card.
    return Glyph(drawn, rect.width, height / 2 + out, height / 2 + out, height / 2)


def _attention(node: Node, label: NodeLabel, texts: Typography) -> Glyph:
    heads = node.details.get("heads")
    count = heads if isinstance(heads, int) and heads > 0 else 1
    drawn = min(count, _MAX_TILES)
    gap = 4.0 if drawn <= 24 else 2.5
    high = _BRIEF_TILES if texts.is_brief else _TILES_HIGH
    across, tile = _tile_grid(drawn, gap, high)
    down = ceil(drawn / across)
    caption, size = "" if texts.is_brief else _heads_text(node, count), texts.small
    inner = max(across * tile + (across - 1) * gap, texts.measure(caption, "caption", size))
    # As high as Q, K and V together, so that their edges are straight.
    top = _MARGIN + (high - down * tile - (down - 1) * gap) / 2
    left = _MARGIN + (inner - across * tile - (across - 1) * gap) / 2
    tiles = tuple(
        Rect(left + column * (tile + gap), top + row * (tile + gap), tile, tile)
        for row, column in (divmod(number, across) for number in range(drawn))
    )
    bottom = _MARGIN + high
    rect = Rect(0, 0, inner + 2 * _MARGIN, bottom + (_CAPTION if caption else _MARGIN))
    y = bottom + _CAPTION / 2 + 0.5
    labels = (Label(caption, _MARGIN, y, "caption", size, "start", "muted"),) if caption else ()
    is_causal = bool(node.details.get("causal"))
    return Glyph.of(
        DrawnNode(node, "attention", label.part, rect, labels, tiles=tiles, is_causal=is_causal)
    )


def _tile_grid(count: int, gap: float, high: float) -> tuple[int, float]:
    """Return the number of tiles side by side, and their size: as large as possible.

    Full rows are preferred to slightly larger tiles.
    """
    sizes = {
        across: min(
            (_TILES_WIDE - gap * (across - 1)) / across,
            (high - gap * (ceil(count / across) - 1)) / ceil(count / across),
        )
        for across in range(1, count + 1)
    }
    largest = max(sizes.values())
    full = [across for across in sizes if not count % across and sizes[across] > 0.8 * largest]
    across = max(full or sizes, key=lambda number: sizes[number])
    return across, sizes[across]


def _heads_text(node: Node, count: int) -> str:
    text = "1 head" if count == 1 else f"{count} heads"
    shared = node.details.get("key_value_heads")
    if isinstance(shared, int) and shared != count:
        return f"{text}, {shared} for K and V"
    size = node.details.get("head_size")
    return f"{text} of {size}" if size else text


def _cut(text: str, texts: Typography, style: TextStyle, size: float) -> str:
    return elided(text, _MAX_TEXT * texts.growth, texts.measure, style, size)


def _is_feed_forward(node: Node) -> bool:
    """Tell whether a node is a feed-forward network with known linear layers."""
    return node.operation in ("feed-forward", "gated feed-forward") and len(_layers(node)) > 1


def _layers(node: Node) -> Sequence[Node]:
    """Return the linear layers of a feed-forward network, a gate before what it gates."""
    nodes = node.nodes or ()
    layers = [each for each in nodes if each.operation == "linear"]
    if len(layers) == 3:
        activations = {each.id for each in nodes if each.operation == "activation"}
        gates = {edge.source for edge in node.edges if edge.target in activations}
        layers[:2] = sorted(layers[:2], key=lambda layer: layer.id not in gates)
    return layers


def _feed_forward(node: Node, label: NodeLabel, texts: Typography) -> DrawnNode:
    """Return the shape of a feed-forward network, plain or gated: wide in the middle."""
    first, *rest = _layers(node)
    last = rest[-1]
    is_gated = node.operation == "gated feed-forward"
    height = _GATED_WIDE if is_gated else _WIDE
    before = (first, *rest[:-1]) if is_gated else (first,)
    left = max(_layer_width(each, texts) for each in before)
    splits = (left, left + _GAP, left + _GAP + _BAR)
    middle = height / 2
    labels: tuple[Label, ...]
    if not is_gated:
        end = left + 2 * _GAP + _BAR
        labels = _layer_labels(first, left / 2 + 4, middle, texts)
        bar = middle, height - 12
    else:
        end = left + _GAP + _BAR + _GATE
        upper, lower = height * 0.27 + 8, height * 0.73 - 8
        # A fused layer computes both halves.
        is_fused = len(rest) != 2
        second, names = (first, ("1", "2")) if is_fused else (rest[0], ("", ""))
        labels = (
            *_layer_labels(first, left / 2 + 5, upper, texts, names[0]),
            *_layer_labels(second, left / 2 + 5, lower, texts, names[1]),
        )
        bar = (middle - HALF_GAP) / 2, middle - 14
    right = _layer_width(last, texts)
    labels = (
        *labels,
        _activation_label(node, splits[1] + _BAR / 2, *bar, texts),
        *_layer_labels(last, end + right / 2 - 4, middle, texts),
    )
    form: NodeForm = "gated feed-forward" if is_gated else "feed-forward"
    rect = Rect(0, 0, end + right, height)
    return DrawnNode(node, form, label.part, rect, labels, splits=(*splits, end))


def _layer_width(layer: Node, texts: Typography) -> float:
    name = texts.measure(_layer_name(layer, texts), "strong", texts.normal)
    sizes = "" if texts.is_brief else widths_text(layer, ARROW)
    return max(_MIN_LAYER, name + 22, texts.measure(sizes, "mono", texts.small) + 20)


def _layer_name(layer: Node, texts: Typography) -> str:
    width = _MAX_LAYER_NAME * texts.growth
    return elided(layer.name, width, texts.measure, "strong", texts.normal)


def _layer_labels(
    layer: Node, x: float, y: float, texts: Typography, subscript: str = ""
) -> tuple[Label, ...]:
    """Return the name and sizes of a layer; with a subscript, of half of it."""
    name = _layer_name(layer, texts)
    sizes = "" if texts.is_brief else widths_text(layer, ARROW, 2 if subscript else 1)
    if not sizes:
        return name_labels(name, subscript, x, y, texts)
    size = Label(sizes, x, y + 8, "mono", texts.small, ink="muted")
    return *name_labels(name, subscript, x, y - 8, texts), size


def _activation_label(node: Node, x: float, y: float, room: float, texts: Typography) -> Label:
    """Return the rotated name of the activation."""
    inner = [each for each in node.nodes or () if each.operation == "activation"]
    names = [str(each.details.get("activation") or each.name) for each in inner]
    name = str(node.details.get("activation") or (names[0] if names else ""))
    size = texts.normal - 1
    if texts.measure(name, "strong", size) > room:
        # "GELU (tanh)": the tooltip has the approximation.
        name = name.partition(" (")[0]
    text = elided(name, room, texts.measure, "strong", size)
    return Label(text, x, y, "strong", size, is_turned=True)


_GLYPHS: dict[str | None, Callable[[Node, NodeLabel, Typography], Glyph]] = {
    "attention": _attention,
    "experts": _deck,
    **dict.fromkeys(NORMS, _norm),
    **dict.fromkeys(("linear", "embedding", "convolution", POSITION_BIAS), _box_glyph),
    "rotary": _pill,
    "activation": _pill,
}
