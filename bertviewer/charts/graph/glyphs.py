"""How large a node's shape is and what stands in it, before it has a place."""

from math import ceil

from msgspec import Struct
from msgspec.structs import replace

from bertviewer.charts.graph.drawing import Form, Label, Letters, Placed, Rect, Style
from bertviewer.charts.graph.feed_forwards import feed_forward, is_feed_forward
from bertviewer.charts.graph.hangers import POSITION_BIAS
from bertviewer.charts.graph.lettering import cut_in_middle, named
from bertviewer.charts.graph.words import SIGNS, Words
from bertviewer.charts.parts import NORMS
from bertviewer.core.schema.flow import Node

DOT, SIGN, ARROW_ROOM = 10.0, 22.0, 28.0
SIDE_PILL, PILL_HEIGHT, NORM_HEIGHT, BOX_HEIGHT, LOW_BOX = 22.0, 28.0, 30.0, 42.0, 34.0
BRIEF_BOX = 30.0
LEAST_BOX, MOST_TEXT, LINE = 58.0, 170.0, 15.0
CARD = 5.0
"""How far a card of a deck stands out behind the one before it."""

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

    placed: Placed
    width: float
    line: float
    above: float
    below: float
    text: float = 0.0

    @classmethod
    def of(cls, placed: Placed) -> "Glyph":
        """Return the glyph of a shape that has no texts beside it."""
        half = placed.rect.height / 2
        return cls(placed, placed.rect.width, half, half, half)


def glyph_of(node: Node, words: Words, letters: Letters) -> Glyph:
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


def side_pill(node: Node, words: Words, letters: Letters) -> Glyph:
    """Return the small pill of what hangs beside a node: masks, tables, further outputs."""
    form: Form = "pill"
    if node.kind == "output":
        form = "exit"
    elif node.kind in ("constant", "input"):
        form = "dashed pill"
    return _pill(node, words, letters, form, SIDE_PILL)


def _end(node: Node, words: Words, letters: Letters) -> Glyph:
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
    placed = Placed(
        node, "input" if is_input else "output", words.part, Rect(0, 0, room, DOT), (label,)
    )
    width = letters.measure(text, "caption", size)
    return Glyph(placed, room, DOT / 2, ABOVE_LINE * letters.growth, DOT, width)


def _sign(node: Node, words: Words, letters: Letters) -> Glyph:
    sign = SIGNS[node.operation or ""]
    labels = () if sign in "+×" else (Label(sign, SIGN / 2, SIGN / 2, "strong", letters.normal),)
    return Glyph.of(Placed(node, "sign", words.part, Rect(0, 0, SIGN, SIGN), labels))


def _norm(node: Node, words: Words, letters: Letters) -> Glyph:
    size = letters.normal - 0.5
    width = letters.measure(words.title, "strong", size) + 16
    label = Label(words.title, width / 2, NORM_HEIGHT / 2, "strong", size)
    rect = Rect(0, 0, width, NORM_HEIGHT)
    return Glyph.of(Placed(node, "norm", "norm", rect, (label,)))


def _pill(
    node: Node, words: Words, letters: Letters, form: Form, height: float = PILL_HEIGHT
) -> Glyph:
    size = letters.small + 0.5
    text = _cut(words.title, letters, "text", size)
    is_small = form == "dashed pill" or height < PILL_HEIGHT
    width = letters.measure(text, "text", size) + (24 if is_small else 28)
    label = Label(text, width / 2, height / 2, "text", size, ink="muted" if is_small else "text")
    return Glyph.of(Placed(node, form, words.part, Rect(0, 0, width, height), (label,)))


def _box(node: Node, words: Words, letters: Letters, form: Form = "box") -> Placed:
    """Return a title, and a remark below it, in a box."""
    title = _cut(words.title, letters, "strong", letters.normal)
    name = named(title, words.subscript, 0, 0, letters)
    width = sum(letters.measure(label.text, "strong", label.size) for label in name)
    if not words.remark or letters.is_brief:
        height = BRIEF_BOX if letters.is_brief else LOW_BOX
        rect = Rect(0, 0, max(LEAST_BOX, width + 16), height)
        labels = tuple(label.moved(rect.width / 2, rect.height / 2) for label in name)
        return Placed(node, form, words.part, rect, labels)
    style: Style = "mono" if words.remark[:1].isdigit() else "caption"
    remark = _cut(words.remark, letters, style, letters.small)
    width = max(width, letters.measure(remark, style, letters.small))
    rect = Rect(0, 0, max(LEAST_BOX, width + 16), BOX_HEIGHT)
    x, y = rect.width / 2, rect.height / 2
    labels = tuple(label.moved(x, y - LINE / 2) for label in name)
    below = Label(remark, x, y + LINE / 2, style, letters.small, ink="muted")
    return Placed(node, form, words.part, rect, (*labels, below))


def _deck(node: Node, words: Words, letters: Letters) -> Glyph:
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


def _attention(node: Node, words: Words, letters: Letters) -> Glyph:
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
    placed = Placed(node, "attention", words.part, rect, labels, tiles=tiles, is_causal=causal)
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


def _cut(text: str, letters: Letters, style: Style, size: float) -> str:
    return cut_in_middle(text, MOST_TEXT * letters.growth, letters.measure, style, size)


def _heads_text(node: Node, count: int) -> str:
    text = "1 head" if count == 1 else f"{count} heads"
    shared = node.details.get("key_value_heads")
    if isinstance(shared, int) and shared != count:
        return f"{text}, {shared} for K and V"
    size = node.details.get("head_size")
    return f"{text} of {size}" if size else text
