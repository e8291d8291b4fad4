"""Where the blocks of a strip stand: side by side, or as a deck of narrow cards."""

from collections.abc import Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from bertviewer.charts.graph.drawing import Rect
from bertviewer.charts.map.blocks import MAX_SIDE_BY_SIDE, Block
from bertviewer.core.util.text import printable

GAP = 8.0
_PADDING, _LEAST, _MOST = 20.0, 56.0, 104.0
_LAYER, _LEAST_LAYER = 66.0, 24.0
_OPEN = 76.0
_CARDS_APART = 3.0
_MOST_NAME, _AFTER_NAME = 80.0, 10.0


class Seat(Struct, frozen=True):
    """A block in its place; a card of a deck has room for a number at most."""

    block: Block
    rect: Rect
    is_card: bool = False


def room_for(names: Sequence[str], width_of: Callable[[str], float]) -> float:
    """Return the room that strips' names take at their left, none if they have none."""
    widest = max((width_of(printable(name)) for name in names), default=0.0)
    return min(widest, _MOST_NAME) + _AFTER_NAME if widest else 0.0


def seats_of(
    blocks: Sequence[Block],
    room: Rect,
    width_of: Callable[[str], float],
    opened: Sequence[Block] = (),
) -> tuple[Seat, ...]:
    """Return the places of blocks in a row.

    Args:
        blocks: in the order of execution.
        room: the row.
        width_of: how wide a text is.
        opened: those that a deck shows as wide as they need, as far as they are in it.
    """
    layers = [block for block in blocks if block.is_layer]
    others = [block for block in blocks if not block.is_layer]
    named = max((width_of(block.name) + _PADDING / 2 for block in layers), default=0.0)
    whole = {block: max(width_of(block.name) + _PADDING, _LEAST) for block in others}
    whole |= dict.fromkeys(layers, max(named, _LAYER))
    has_room = sum(whole.values()) + GAP * (len(blocks) - 1) <= room.width
    if has_room and len(layers) <= 2 * MAX_SIDE_BY_SIDE:
        return tuple(_in_a_row(blocks, room, whole, frozenset()))
    widths = {block: min(max(width_of(block.name) + _PADDING, _LEAST), _MOST) for block in others}
    between = GAP * max(len(others) - 1, 0) + (GAP if layers and others else 0.0)
    left = room.width - sum(widths.values()) - between
    needed = (_LEAST_LAYER + GAP) * len(layers) - GAP
    if layers and others and left < needed:
        # A long name gives way before layers become cards.
        spare = sum(width - _LEAST for width in widths.values())
        share = min((needed - left) / spare, 1.0) if spare else 0.0
        less = {block: width - (width - _LEAST) * share for block, width in widths.items()}
        if room.width - sum(less.values()) - between >= needed:
            widths = less
        left = room.width - sum(widths.values()) - between
    if left < 0 or (layers and left < 2 * _OPEN):
        # A pane as narrow as this leaves no more to the others than to the layers.
        share = max((room.width - GAP * len(blocks)) / max(len(others) + len(layers), 1), 6.0)
        widths = {block: min(width, max(share, _LEAST_LAYER)) for block, width in widths.items()}
        left = max(room.width - sum(widths.values()) - GAP * len(others), 40.0)
    count = len(layers)
    each = (left - GAP * (count - 1)) / count if count else 0.0
    if not count or (each >= _LEAST_LAYER and count <= 2 * MAX_SIDE_BY_SIDE):
        widths |= dict.fromkeys(layers, min(each, max(named, _LAYER), _MOST))
        return tuple(_in_a_row(blocks, room, widths, frozenset()))
    wide = [block for block in layers if block in opened]
    thin = count - len(wide)
    card = (left - (_OPEN + GAP) * len(wide) - _CARDS_APART * max(thin - 1, 0)) / max(thin, 1)
    cards = frozenset(block for block in layers if block not in wide)
    widths |= dict.fromkeys(wide, _OPEN) | dict.fromkeys(cards, max(card, 1.0))
    return tuple(_in_a_row(blocks, room, widths, cards))


def _in_a_row(
    blocks: Sequence[Block], room: Rect, widths: dict[Block, float], cards: frozenset[Block]
) -> list[Seat]:
    found: list[Seat] = []
    x, before = room.x, None
    count = len(cards)
    for block in blocks:
        if before is not None:
            both = before in cards and block in cards
            # Of a hundred cards each is narrow, and so is what is between them.
            x += (_CARDS_APART if count < 60 else 1.0) if both else GAP
        found.append(Seat(block, Rect(x, room.y, widths[block], room.height), block in cards))
        x += widths[block]
        before = block
    if found and x > room.right:
        # However narrow the pane is, all of it is there.
        share = room.width / (x - room.x)
        return [
            replace(
                seat,
                rect=Rect(
                    room.x + (seat.rect.x - room.x) * share,
                    room.y,
                    seat.rect.width * share,
                    room.height,
                ),
            )
            for seat in found
        ]
    return found
