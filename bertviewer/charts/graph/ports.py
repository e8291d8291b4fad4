"""Where lines arrive at a node, so that no two of them share an end."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from bertviewer.charts.graph.evening import spread
from bertviewer.charts.graph.feed_forwards import NARROW
from bertviewer.charts.graph.glyphs import Glyph
from bertviewer.charts.graph.hangers import SIDE_ROLES
from bertviewer.charts.graph.skeleton import Item, Skeleton

PORTS_APART, CORNER = 28.0, 8.0
_STRAIGHT = 1000.0


class Arrival(Struct, frozen=True):
    """Where an edge arrives: at a height of the left side, or at a sign's middle from ``beyond``.

    Attributes:
        height: at which it comes out of the channel.
        beyond: below or above a sign: it goes on to its middle and then up or down.
    """

    height: float
    beyond: bool = False


def arrivals(
    skeleton: Skeleton, heights: Mapping[int, float], glyphs: Mapping[str, Glyph]
) -> dict[int, Arrival]:
    """Return where each edge arrives, by its place among the edges."""
    into: dict[int, list[int]] = {}
    for number, chain in enumerate(skeleton.chains):
        into.setdefault(chain[-1], []).append(number)
    columns: dict[int, list[Item]] = {}
    for item in skeleton.items:
        if item.key:
            columns.setdefault(item.column, []).append(item)
    found = {}
    for target, numbers in into.items():
        item = skeleton.items[target]
        glyph = glyphs[item.key]
        if glyph.placed.form == "sign":
            for number in numbers:
                height = heights[skeleton.chains[number][-2]]
                is_free = _is_free(item, height, columns[item.column], heights, glyph)
                found[number] = Arrival(height, True) if is_free else Arrival(heights[target])
        else:
            found |= _at_side(target, numbers, skeleton, heights, glyph)
    return found


def _is_free(
    sign: Item,
    height: float,
    column: Sequence[Item],
    heights: Mapping[int, float],
    glyph: Glyph,
) -> bool:
    """Tell whether the way from a height to a sign's middle is free."""
    at = heights[sign.number]
    if abs(height - at) <= glyph.below + CORNER:
        return False
    if height > at and sign.room.below > glyph.below:
        return False
    top, bottom = min(height, at), max(height, at)
    return not any(
        heights[other.number] - other.room.above < bottom + CORNER
        and heights[other.number] + other.room.below > top - CORNER
        for other in column
        if other.number != sign.number
    )


def _at_side(
    target: int,
    numbers: Sequence[int],
    skeleton: Skeleton,
    heights: Mapping[int, float],
    glyph: Glyph,
) -> dict[int, Arrival]:
    if len(numbers) == 1 or glyph.placed.form in ("input", "output"):
        return dict.fromkeys(numbers, Arrival(heights[target]))
    line, edges = heights[target], skeleton.edges
    coming = {number: heights[skeleton.chains[number][-2]] for number in numbers}
    order = sorted(
        numbers, key=lambda number: (coming[number], edges[number].role in SIDE_ROLES, number)
    )
    # Of those that lead straight on one stays straight.
    straight = next((place for place, each in enumerate(order) if coming[each] == line), None)
    # A feed-forward is narrow where lines arrive.
    is_narrow = glyph.placed.form in ("feed-forward", "gated feed-forward")
    reach = (NARROW / 2 if is_narrow else glyph.placed.rect.height - glyph.line) - CORNER
    apart = min(PORTS_APART, 2 * reach / (len(order) - 1))
    weights = [1.0] * len(order)
    if straight is not None:
        alike = sum(coming[each] == line for each in order)
        straight += (alike - 1) // 2 if alike > 2 else 0
        weights[straight] = _STRAIGHT
        apart = min(apart, reach / max(straight, len(order) - 1 - straight))
    wished = [coming[number] for number in order]
    room = [apart] * (len(order) - 1)
    found = spread(wished, room, weights, (line - reach, line + reach))
    if straight is not None:
        found[straight] = line
    return {number: Arrival(height) for number, height in zip(order, found, strict=True)}
