"""Layout of a row of blocks: side by side, or with the layers as narrow cards."""

from collections.abc import Callable, Sequence

from msgspec import Struct

from bertviewer.charts.graph.drawing import Rect
from bertviewer.charts.map.blocks import MAX_SIDE_BY_SIDE, Block
from bertviewer.core.util.text import printable

GAP = 8.0
_PADDING, _MIN_WIDTH, _MAX_WIDTH = 20.0, 56.0, 104.0
_LAYER_WIDTH, _MIN_LAYER_WIDTH = 66.0, 24.0
_OPEN_CARD_WIDTH = 76.0
_CARD_GAP, _MANY_CARDS_GAP, _MANY_CARDS = 3.0, 1.0, 60
_MAX_NAME_WIDTH, _NAME_GAP = 80.0, 10.0

TextWidth = Callable[[str], float]
Widths = dict[Block, float]


class PlacedBlock(Struct, frozen=True):
    """A block with its rectangle; a card has room for a number only."""

    block: Block
    rect: Rect
    is_card: bool = False


def names_width(names: Sequence[str], text_width: TextWidth) -> float:
    """Return the width of the names of rows with a gap, 0 without names."""
    widest = max((text_width(printable(name)) for name in names), default=0.0)
    return min(widest, _MAX_NAME_WIDTH) + _NAME_GAP if widest else 0.0


def place_blocks(
    blocks: Sequence[Block], row: Rect, text_width: TextWidth, opened: Sequence[Block] = ()
) -> tuple[PlacedBlock, ...]:
    """Return the rectangles of blocks in a row.

    Args:
        blocks: in the order of execution.
        row: the available rectangle.
        text_width: returns the width of a text in pixels.
        opened: layers that are shown wide among cards.
    """
    layers = [block for block in blocks if block.is_layer]
    others = [block for block in blocks if not block.is_layer]
    may_be_wide = len(layers) <= 2 * MAX_SIDE_BY_SIDE
    widest_name = max((text_width(block.name) + _PADDING / 2 for block in layers), default=0.0)
    layer_width = max(widest_name, _LAYER_WIDTH)
    natural = {block: max(text_width(block.name) + _PADDING, _MIN_WIDTH) for block in others}
    whole = natural | dict.fromkeys(layers, layer_width)
    if may_be_wide and sum(whole.values()) + GAP * (len(blocks) - 1) <= row.width:
        return _in_a_row(blocks, row, whole)
    widths, left = _shrink(natural, len(layers), row.width)
    count = len(layers)
    each = (left - GAP * (count - 1)) / count if count else 0.0
    if not count or (each >= _MIN_LAYER_WIDTH and may_be_wide):
        widths |= dict.fromkeys(layers, min(each, layer_width, _MAX_WIDTH))
        return _in_a_row(blocks, row, widths)
    wide = [block for block in layers if block in opened]
    cards = [block for block in layers if block not in wide]
    gaps = _CARD_GAP * max(len(cards) - 1, 0)
    card = (left - (_OPEN_CARD_WIDTH + GAP) * len(wide) - gaps) / max(len(cards), 1)
    widths |= dict.fromkeys(wide, _OPEN_CARD_WIDTH) | dict.fromkeys(cards, max(card, 1.0))
    return _in_a_row(blocks, row, widths, frozenset(cards))


def _shrink(natural: Widths, layers: int, row_width: float) -> tuple[Widths, float]:
    """Return widths of the blocks that are no layers, and the width left for the layers."""
    widths = {block: min(width, _MAX_WIDTH) for block, width in natural.items()}
    gaps = GAP * max(len(widths) - 1, 0) + (GAP if layers and widths else 0.0)

    def left() -> float:
        return row_width - sum(widths.values()) - gaps

    needed = (_MIN_LAYER_WIDTH + GAP) * layers - GAP
    if layers and widths and left() < needed:
        # Long names are elided before layers become cards.
        spare = sum(width - _MIN_WIDTH for width in widths.values())
        share = min((needed - left()) / spare, 1.0) if spare else 0.0
        narrow = {block: width - (width - _MIN_WIDTH) * share for block, width in widths.items()}
        if row_width - sum(narrow.values()) - gaps >= needed:
            widths = narrow
    if left() < 0 or (layers and left() < 2 * _OPEN_CARD_WIDTH):
        # In a very narrow panel all blocks get the same width.
        share = max((row_width - GAP * (len(widths) + layers)) / max(len(widths) + layers, 1), 6.0)
        widths = {block: min(w, max(share, _MIN_LAYER_WIDTH)) for block, w in widths.items()}
        return widths, max(row_width - sum(widths.values()) - GAP * len(widths), 40.0)
    return widths, left()


def _in_a_row(
    blocks: Sequence[Block], row: Rect, widths: Widths, cards: frozenset[Block] = frozenset()
) -> tuple[PlacedBlock, ...]:
    card_gap = _CARD_GAP if len(cards) < _MANY_CARDS else _MANY_CARDS_GAP
    starts: list[float] = []
    x, before = 0.0, None
    for block in blocks:
        if before is not None:
            x += card_gap if before in cards and block in cards else GAP
        starts.append(x)
        x += widths[block]
        before = block
    scale = min(row.width / x, 1.0) if x else 1.0  # all blocks stay inside the row
    return tuple(
        PlacedBlock(
            block,
            Rect(row.x + start * scale, row.y, widths[block] * scale, row.height),
            block in cards,
        )
        for block, start in zip(blocks, starts, strict=True)
    )
