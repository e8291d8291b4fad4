"""Y coordinates of a layered graph, by recursive series-parallel composition.

A block is cut at the columns with a single item. Between two cuts the items fall apart into
connected lanes, each of which is a block again. A straight line stays on top and the other lanes
are placed below it; without one, lanes are centred. A block that cannot be cut is a general
graph: its columns are ordered by barycentres to reduce crossings, then evened out.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from math import inf

from msgspec import Struct

from bertviewer.charts.graph.columns import Item, LayeredGraph
from bertviewer.charts.graph.paths import SIDE_ROLES, components

_LANE_GAP, _BELOW_LINE, _ALIKE = 12.0, 26.0, 70.0
"""Between two lanes, and between a straight line and the lane below it; lanes whose upper ends
differ by less than the third are aligned."""

_ROLES = ("residual", "query", "key", "value", None, "gate", "routing", *SIDE_ROLES)
_NEVER_STRAIGHT = ("key", "value", "gate", "routing", *SIDE_ROLES)

_SWEEPS, _ROUNDS, _CONVERGED = 8, 60, 0.05
_MIN_STEP = 14.0
"""Smaller steps of a line look like a mistake."""
_EDGE_WEIGHT = 4.0
"""Placeholders of edges give way less than nodes do."""

Columns = Mapping[int, Sequence[Item]]


def y_coordinates(
    graph: LayeredGraph, apart: Mapping[tuple[int, int], float], ends: frozenset[int]
) -> Mapping[int, float]:
    """Return the y coordinate of each item's line, by number; 0 is the main path.

    Args:
        graph: the graph.
        apart: minimum distances between pairs of items, the upper one first.
        ends: the input and the output of the main path.
    """
    links: dict[int, list[int]] = {item.number: [] for item in graph.items}
    ranks: dict[tuple[int, int], tuple[int, int]] = {}
    crooked: set[int] = set()
    for number, (edge, chain) in enumerate(zip(graph.edges, graph.chains, strict=True)):
        rank = _ROLES.index(edge.role if edge.role in _ROLES else None), number
        if edge.role in _NEVER_STRAIGHT:
            crooked.update(chain[1:-1])
        for one, other in pairwise(chain):
            links[one].append(other)
            links[other].append(one)
            ranks[one, other] = min(ranks.get((one, other), rank), rank)
    composer = _Composer(links, ranks, frozenset(crooked), apart, ends)
    return composer.block(graph.items).heights


class _Block(Struct, frozen=True):
    """Items with their y coordinates; 0 is the block's line, ``above`` and ``below`` its extent."""

    heights: Mapping[int, float]
    above: float
    below: float


class _Composer(Struct, frozen=True):
    """Composes blocks.

    Attributes:
        links: neighbours in the adjacent columns, by item.
        ranks: order among the links of a target, by source and target.
        crooked: placeholders of edges that are never the straight line.
        apart: minimum distances between pairs of items.
        ends: the input and the output of the main path.
    """

    links: Mapping[int, Sequence[int]]
    ranks: Mapping[tuple[int, int], tuple[int, int]]
    crooked: frozenset[int]
    apart: Mapping[tuple[int, int], float]
    ends: frozenset[int]

    def block(self, items: Sequence[Item]) -> _Block:
        """Return the block of some items."""
        lanes = self._lanes(items)
        if len(lanes) > 1:
            return self._stacked(map(self.block, lanes), is_centred=True)
        columns: dict[int, list[Item]] = {}
        for item in items:
            columns.setdefault(item.column, []).append(item)
        columns = {column: columns[column] for column in sorted(columns)}
        cuts = [column for column, inside in columns.items() if len(inside) == 1]
        if cuts and self._starts_lane(columns, cuts):
            cuts = cuts[1:]
        return self._series(columns, cuts) if cuts else _general(columns, self.links)

    def _series(self, columns: Columns, cuts: Sequence[int]) -> _Block:
        """Return a block whose line passes single items, with lanes between them."""
        line = [columns[cut][0] for cut in cuts]
        heights = {item.number: 0.0 for item in line}
        above = max(item.extent.above for item in line)
        below = max(item.extent.below for item in line)
        hanging: list[list[_Block]] = []
        for first, last in pairwise([min(columns) - 1, *cuts, max(columns) + 1]):
            lanes = self._lanes(_between(columns, first, last))
            straight = next((lane for lane in lanes if self._is_straight(lane, first, last)), None)
            if straight is not None:
                heights |= dict.fromkeys((item.number for item in straight), 0.0)
                if len(lanes) > 1:
                    hanging.append([self.block(lane) for lane in lanes if lane is not straight])
            elif lanes:
                block = self._parallel(lanes, columns[first] if first in cuts else ())
                heights |= block.heights
                above, below = max(above, block.above), max(below, block.below)
        # Align the upper lanes, unless that moves one far away.
        least = min((blocks[0].above for blocks in hanging), default=0.0)
        alike = [blocks[0].above for blocks in hanging if blocks[0].above <= least + _ALIKE]
        for upper, *others in hanging:
            depth = max(alike) if upper.above in alike else upper.above
            lowered = _Block(upper.heights, depth + _BELOW_LINE, upper.below)
            block = self._stacked([lowered, *others], is_centred=False)
            heights |= block.heights
            below = max(below, block.below)
        return _Block(heights, above, below)

    def _parallel(self, lanes: Sequence[Sequence[Item]], before: Sequence[Item]) -> _Block:
        """Return lanes centred, or below the only one that continues the line before them."""
        near = {other for item in before for other in self.links[item.number]}
        on = [lane for lane in lanes if any(item.number in near for item in lane)]
        if len(on) != 1 or len(lanes) == 1:
            return self._stacked(map(self.block, lanes), is_centred=True)
        main = self.block(on[0])
        others = [self.block(lane) for lane in lanes if lane is not on[0]]
        stacked = self._stacked([main, *others], is_centred=False)
        heights = {number: height - main.above for number, height in stacked.heights.items()}
        return _Block(heights, main.above, stacked.below - main.above)

    def _starts_lane(self, columns: Columns, cuts: Sequence[int]) -> bool:
        """Tell whether the first cut only begins one of several lanes."""
        if cuts[0] != min(columns) or len(cuts) == 1:
            return False
        near = set(self.links[columns[cuts[0]][0].number])
        lanes = self._lanes(_between(columns, cuts[0], cuts[1]))
        return any(near.isdisjoint(item.number for item in lane) for lane in lanes)

    def _is_straight(self, lane: Sequence[Item], first: int, last: int) -> bool:
        """Tell whether a lane is only an edge from one cut to the next."""
        return len(lane) == last - first - 1 and not any(
            (item.key and item.number not in self.ends) or item.number in self.crooked
            for item in lane
        )

    def _stacked(self, blocks: Iterable[_Block], *, is_centred: bool) -> _Block:
        """Return blocks below one another, with the upper end of the first or the middle at 0."""
        heights: dict[int, float] = {}
        known = list(blocks)
        y = 0.0
        for block in known:
            y += _LANE_GAP if heights else 0.0
            line = y + block.above
            missing = (
                heights[upper] + least - (line + block.heights[lower])
                for (upper, lower), least in self.apart.items()
                if upper in heights and lower in block.heights
            )
            line += max(0.0, *missing, 0.0)
            heights |= {number: line + height for number, height in block.heights.items()}
            y = line + block.below
        shift = y / 2 if is_centred else 0.0
        if is_centred and len(known) == 1:
            shift = known[0].above
        return _Block(
            {number: height - shift for number, height in heights.items()}, shift, y - shift
        )

    def _lanes(self, items: Sequence[Item]) -> list[list[Item]]:
        """Return the connected items, in the order of lanes."""
        by_number = {item.number: item for item in items}
        lanes = [
            [by_number[number] for number in sorted(lane)]
            for lane in components(by_number, self.links)
        ]
        return sorted(lanes, key=self._rank)

    def _rank(self, lane: Sequence[Item]) -> tuple[int, int, int]:
        """Return the order of a lane: by the operands of its target, else as in the graph."""
        inside = {item.number for item in lane}
        leading = (
            self.ranks[number, other]
            for number in inside
            for other in self.links[number]
            if other not in inside and (number, other) in self.ranks
        )
        return (*min(leading, default=(len(self.links), 0)), min(inside))


def _between(columns: Columns, first: int, last: int) -> list[Item]:
    return [item for column in range(first + 1, last) for item in columns[column]]


def spread(
    wished: Sequence[float],
    gaps: Sequence[float],
    weights: Sequence[float] | None = None,
    within: tuple[float, float] = (-inf, inf),
) -> list[float]:
    """Return the numbers closest to those wished, with minimum gaps between them.

    Closest by squared distance: numbers that would collide share their mean (pool adjacent
    violators). All are within two bounds, if these are far enough apart.
    """
    offsets = [0.0]
    for gap in gaps:
        offsets.append(offsets[-1] + gap)
    pools: list[tuple[float, float, int]] = []
    for number, wish in enumerate(wished):
        weight = weights[number] if weights else 1.0
        value, count = wish - offsets[number], 1
        while pools and pools[-1][0] >= value:
            other, heavy, many = pools.pop()
            value = (value * weight + other * heavy) / (weight + heavy)
            weight, count = weight + heavy, count + many
        pools.append((value, weight, count))
    low, high = within[0], within[1] - offsets[-1]
    values = [max(low, min(high, value)) for value, _, count in pools for _ in range(count)]
    return [value + offset for value, offset in zip(values, offsets, strict=False)]


def _general(columns: Columns, links: Mapping[int, Sequence[int]]) -> _Block:
    """Return a block that is not series-parallel, with its middle at 0."""
    inside = {item.number: item for items in columns.values() for item in items}
    near = {number: [inside[each] for each in links[number] if each in inside] for number in inside}
    ordered = _ordered(columns, near)
    heights = {}
    for column in ordered:
        tops = [0.0]
        for item in column:
            size = item.extent.above + item.extent.below + _LANE_GAP
            tops.append(tops[-1] + size)
        shift = (tops[-1] - _LANE_GAP) / 2
        for item, top in zip(column, tops, strict=False):
            heights[item.number] = top + item.extent.above - shift
    # Edges should be straight: items next to placeholders follow only these.
    edges = {n: [each.number for each in others if not each.key] for n, others in near.items()}
    followed = {n: edges[n] or [each.number for each in near[n]] or [n] for n in inside}
    for _ in range(_ROUNDS):
        before = dict(heights)
        for column in ordered:
            heights |= _evened(column, heights, followed)
        if all(abs(heights[each] - before[each]) < _CONVERGED for each in inside):
            break
    _straighten(ordered, heights, near)
    _close_gaps(heights, inside)
    top = min(heights[number] - item.extent.above for number, item in inside.items())
    bottom = max(heights[number] + item.extent.below for number, item in inside.items())
    middle = (top + bottom) / 2
    return _Block(
        {number: height - middle for number, height in heights.items()},
        middle - top,
        bottom - middle,
    )


def _evened(
    column: Sequence[Item], heights: Mapping[int, float], followed: Mapping[int, Sequence[int]]
) -> dict[int, float]:
    """Return a column's items as close as possible to the mean of the items that they follow."""
    numbers = [item.number for item in column]
    wished = [sum(heights[e] for e in followed[n]) / len(followed[n]) for n in numbers]
    gaps = [
        upper.extent.below + _LANE_GAP + lower.extent.above for upper, lower in pairwise(column)
    ]
    weights = [1.0 if item.key else _EDGE_WEIGHT for item in column]
    return dict(zip(numbers, spread(wished, gaps, weights), strict=True))


def _close_gaps(heights: dict[int, float], items: Mapping[int, Item]) -> None:
    """Remove horizontal gaps that are empty in all columns."""
    shift, bottom = 0.0, inf
    for number in sorted(heights, key=lambda each: heights[each] - items[each].extent.above):
        extent = items[number].extent
        shift += max(0.0, heights[number] - extent.above - bottom - _LANE_GAP)
        bottom = max(heights[number] + extent.below, bottom if bottom < inf else -inf)
        heights[number] -= shift


def _straighten(
    ordered: Sequence[Sequence[Item]],
    heights: dict[int, float],
    near: Mapping[int, Sequence[Item]],
) -> None:
    """Give the placeholders of an edge one height and avoid small steps, where there is room."""
    at = {item.number: (column, spot) for column in ordered for spot, item in enumerate(column)}

    def fits(item: Item, height: float) -> bool:
        column, spot = at[item.number]
        neighbours = [(each, -1) for each in column[:spot][-1:]]
        neighbours += [(each, 1) for each in column[spot + 1 : spot + 2]]
        for other, sign in neighbours:
            upper, lower = (other, item) if sign < 0 else (item, other)
            least = upper.extent.below + lower.extent.above
            if (heights[other.number] - height) * sign < least + _LANE_GAP / 2:
                return False
        return True

    edges = sorted((i for column in ordered for i in column if not i.key), key=lambda i: i.number)
    chains = components(
        (item.number for item in edges),
        {i.number: [each.number for each in near[i.number] if not each.key] for i in edges},
    )
    by_number = {item.number: item for item in edges}
    for chain in chains:
        ends = [heights[e.number] for number in chain for e in near[number] if e.key]
        wishes = sorted([*ends, *(heights[number] for number in chain)])
        for wish in (*ends, wishes[len(wishes) // 2]):
            if all(fits(by_number[number], wish) for number in chain):
                heights.update(dict.fromkeys(chain, wish))
                break
    for item in (item for column in ordered for item in column):
        before = [each for each in near[item.number] if each.column < item.column]
        if item.key and len(before) == 1:
            wish = heights[before[0].number]
            if 0 < abs(wish - heights[item.number]) < _MIN_STEP and fits(item, wish):
                heights[item.number] = wish


def _ordered(columns: Columns, near: Mapping[int, Sequence[Item]]) -> list[list[Item]]:
    """Return columns ordered by the barycentres of their neighbours, with the fewest crossings."""
    ordered = [sorted(column, key=lambda item: item.number) for column in columns.values()]
    at = {item.number: n / len(column) for column in ordered for n, item in enumerate(column)}
    best, least = ordered, _crossings(ordered, near)
    for sweep in range(_SWEEPS):
        if not least:
            break
        way = 1 if sweep % 2 == 0 else -1
        after = []
        for column in ordered[::way]:

            def barycentre(item: Item, way: int = way) -> float:
                others = [
                    at[each.number]
                    for each in near[item.number]
                    if (each.column - item.column) * way < 0
                ]
                return sum(others) / len(others) if others else at[item.number]

            after.append(sorted(column, key=barycentre))
            for n, item in enumerate(after[-1]):
                at[item.number] = n / len(column)
        ordered = after[::way]
        found = _crossings(ordered, near)
        if found < least:
            best, least = ordered, found
    return best


def _crossings(ordered: Sequence[Sequence[Item]], near: Mapping[int, Sequence[Item]]) -> int:
    at = {item.number: n for column in ordered for n, item in enumerate(column)}
    total = 0
    for column in ordered:
        ends = [
            [at[each.number] for each in near[item.number] if each.column > item.column]
            for item in column
        ]
        for upper, those in enumerate(ends):
            for others in ends[upper + 1 :]:
                total += sum(a > b for a in those for b in others)
    return total
