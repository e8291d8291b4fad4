"""The lines between two columns: each has its own upright, in an order with few crossings.

Where lines arrive at a node, so that no two of them share an end.

Edges as lines: from node to node through channels, and around to the next row.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from msgspec import Struct

from bertviewer.charts.graph.columns import Item, Skeleton
from bertviewer.charts.graph.coordinates import spread
from bertviewer.charts.graph.drawing import DrawnNode, Line, LineWeight, Point, simplified
from bertviewer.charts.graph.node_shapes import ABOVE_LINE, NARROW, Glyph
from bertviewer.charts.graph.paths import SIDE_ROLES
from bertviewer.charts.graph.rows import ROW_GAP, Places, Text

_SAME = 3.0
"""Lines nearer than that would look like one."""

_MERGED = 100
_MARGIN = 7.0
_ROUNDS = 8


class Net(Struct, frozen=True):
    """What leaves one item for the next column.

    Attributes:
        source: the item.
        left: the height at which it leaves.
        pins: the heights at which it arrives.
    """

    source: int
    left: float
    pins: tuple[float, ...]

    @property
    def is_straight(self) -> bool:
        """Whether it needs no upright."""
        return all(abs(pin - self.left) < 0.01 for pin in self.pins)

    @property
    def top(self) -> float:
        """The upper end of its upright."""
        return min(self.left, *self.pins)

    @property
    def bottom(self) -> float:
        """The lower end of its upright."""
        return max(self.left, *self.pins)


def tracks_of(nets: Sequence[Net]) -> dict[int, int]:
    """Return for each net that has an upright which one from the left it is, by its source."""
    bent = sorted((net for net in nets if not net.is_straight), key=lambda net: net.left)
    costs = {(a.source, b.source): _cost(a, b) for a in bent for b in bent if a.source != b.source}
    for _ in range(_ROUNDS):
        was = list(bent)
        for net in was:
            bent.remove(net)
            bent.insert(_best_place(net, bent, costs), net)
        if bent == was:
            break
    tracks: dict[int, int] = {}
    for place, net in enumerate(bent):
        before = [
            tracks[other.source] + 1
            for other in bent[:place]
            if other.top - _MARGIN < net.bottom and net.top - _MARGIN < other.bottom
        ]
        tracks[net.source] = max(before, default=0)
    return tracks


def _best_place(net: Net, others: Sequence[Net], costs: Mapping[tuple[int, int], int]) -> int:
    """Return where a net goes among others so that it crosses them least, left if it may."""
    cost = sum(costs[net.source, other.source] for other in others)
    best, least = 0, cost
    for place, other in enumerate(others, 1):
        cost += costs[other.source, net.source] - costs[net.source, other.source]
        if cost < least:
            best, least = place, cost
    return best


def _cost(left: Net, right: Net) -> int:
    """Return how often two nets cross if the first one's upright is left of the other's."""
    crossed = sum(right.top < pin < right.bottom for pin in left.pins)
    crossed += left.top < right.left < left.bottom
    merged = sum(abs(pin - right.left) < _SAME for pin in left.pins)
    return crossed + _MERGED * merged


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


_ASIDE = ("mask", "position")


class Ways(Struct, frozen=True):
    """Draws the edges of a strip."""

    skeleton: Skeleton
    heights: Mapping[int, float]
    arriving: Mapping[int, Arrival]
    tracks: Mapping[int, Mapping[int, int]]
    counts: Mapping[int, int]
    places: Places
    placed: Mapping[str, DrawnNode]

    def lines(self) -> list[Line]:
        """Return the edges' lines."""
        spine = set(pairwise(self.skeleton.spine))
        has_residual = any(edge.role == "residual" for edge in self.skeleton.edges)
        has_stack = any(self.placed[key].node.repeat is not None for key in self.skeleton.spine)
        found = []
        for number, edge in enumerate(self.skeleton.edges):
            points = self._points(number)
            is_main = (edge.source, edge.target) in spine and self._is_level(number)
            weight: LineWeight = "data"
            if edge.role in _ASIDE or self.placed[edge.source].form == "dashed pill":
                weight = "side"
            elif is_main and (has_residual or has_stack):
                weight = "residual"
            has_head = self.placed[edge.target].form == "output"
            found.append(Line(edge, simplified(points), weight, has_head))
        return found

    def _is_level(self, number: int) -> bool:
        return all(self.heights[each] == 0.0 for each in self.skeleton.chains[number])

    def _points(self, number: int) -> list[Point]:
        chain = self.skeleton.chains[number]
        source = self.placed[self.skeleton.edges[number].source]
        target = self.placed[self.skeleton.edges[number].target]
        points = [(source.rect.right, self._y(chain[0], self.heights[chain[0]]))]
        for one, other in pairwise(chain):
            left = self.heights[one]
            is_last = other == chain[-1]
            height = self.arriving[number].height if is_last else self.heights[other]
            column = self.skeleton.items[other].column
            here, there = (self.places.row_of(each) for each in (column - 1, column))
            if here != there:
                corridor = here.bottom + ROW_GAP / 2
                right = here.right
                points += [
                    (right, here.line + left),
                    (right, corridor),
                    (0.0, corridor),
                    (0.0, there.line + left),
                ]
            if abs(height - left) > 0.01:
                track = self.tracks[column][one]
                x = self.places.track(column, track, self.counts[column])
                points += [(x, there.line + left), (x, there.line + height)]
        line = self.places.row_of(self.skeleton.items[chain[-1]].column).line
        arrival = self.arriving[number]
        if arrival.beyond:
            x = target.rect.x + target.rect.width / 2
            is_below = arrival.height > self.heights[chain[-1]]
            points.append((x, line + arrival.height))
            points.append((x, target.rect.bottom if is_below else target.rect.y))
        elif target.form == "output":
            points.append((target.rect.right, line + arrival.height))
        else:
            points.append((target.rect.x, line + arrival.height))
        return points

    def _y(self, number: int, height: float) -> float:
        return self.places.row_of(self.skeleton.items[number].column).line + height


def texts_of(
    skeleton: Skeleton,
    heights: Mapping[int, float],
    nets: Mapping[int, Sequence[Net]],
    arriving: Mapping[int, Arrival],
) -> list[Text]:
    """Return the texts above inputs and outputs."""
    standing = _standing(skeleton, heights, arriving)
    lines = {
        column: [(net.top, net.bottom) for net in found if not net.is_straight]
        for column, found in nets.items()
    }
    after = max(standing, default=0) + 1
    leaving = {chain[0] for chain in skeleton.chains}
    found = []
    for item in skeleton.items:
        if not item.room.text:
            continue
        is_before = item.number not in leaving
        line = heights[item.number]

        def is_free(column: int, channel: int, line: float = line) -> bool:
            """Tell whether there is nothing from a line to the upper end of the text above it."""
            return not any(
                top < line - 1 and bottom > line - ABOVE_LINE
                for top, bottom in (*standing[column], *lines.get(channel, ()))
            )

        ways = range(item.column - 1, -1, -1) if is_before else range(item.column + 1, after)
        stop = next(
            (each for each in ways if not is_free(each, each + 1 if is_before else each)),
            -1 if is_before else after,
        )
        found.append(Text(item.column, item.room.text, is_before, stop))
    return found


def _standing(
    skeleton: Skeleton, heights: Mapping[int, float], arriving: Mapping[int, Arrival]
) -> dict[int, list[tuple[float, float]]]:
    """Return from where to where something stands in each column, or a line goes to a sign."""
    found: dict[int, list[tuple[float, float]]] = {}
    for item in skeleton.items:
        height, room = heights[item.number], item.room
        ends = (height - room.above, height + room.below) if item.key else (height, height)
        found.setdefault(item.column, []).append(ends)
    for number, chain in enumerate(skeleton.chains):
        arrival = arriving[number]
        if arrival.beyond:
            height, other = arrival.height, heights[chain[-1]]
            ends = min(height, other), max(height, other)
            found[skeleton.items[chain[-1]].column].append(ends)
    return found
