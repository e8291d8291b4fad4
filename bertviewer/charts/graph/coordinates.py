"""Heights of items that cross over one another: in an order with few crossings, and even.

How high items stand: what all paths pass is on one line, parallel parts have lanes.

A part is cut where one item alone stands in a column; what lies between two cuts falls apart into
lanes, and each lane is a part again. A line that leads straight on stays on top and the lanes hang
below it; without one they are centred. What cannot be cut is evened out column by column.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from math import inf

from msgspec import Struct

from bertviewer.charts.graph.columns import Item

_SWEEPS, _ROUNDS, _STILL = 8, 60, 0.05
_STEP = 14.0
_PASSING_WEIGHT = 4.0
"""Lines that pass give way less than nodes do."""


def evened(
    columns: Mapping[int, Sequence[int]],
    items: Sequence[Item],
    links: Mapping[int, Sequence[int]],
    gap: float,
) -> tuple[dict[int, float], float, float]:
    """Return heights about 0, and how far they reach above and below."""
    inside = {number for column in columns.values() for number in column}
    near = {number: [each for each in links[number] if each in inside] for number in inside}
    ordered = _ordered(columns, near, items)
    heights = {
        number: height
        for column in ordered
        for number, height in zip(column, _packed(column, items, gap), strict=True)
    }
    for _ in range(_ROUNDS):
        before = dict(heights)
        for column in ordered:
            wished, weights = [], []
            for number in column:
                # Lines that pass should be straight: who has such neighbours follows them.
                others = near[number] or [number]
                others = [each for each in others if not items[each].key] or others
                wished.append(sum(heights[each] for each in others) / len(others))
                weights.append(1.0 if items[number].key else _PASSING_WEIGHT)
            room = [
                items[upper].room.below + gap + items[lower].room.above
                for upper, lower in pairwise(column)
            ]
            heights |= dict(zip(column, spread(wished, room, weights), strict=True))
        if all(abs(heights[each] - before[each]) < _STILL for each in inside):
            break
    _straighten(ordered, heights, near, items, gap)
    _close(heights, items, gap)
    top = min(heights[number] - items[number].room.above for number in inside)
    bottom = max(heights[number] + items[number].room.below for number in inside)
    middle = (top + bottom) / 2
    return (
        {number: height - middle for number, height in heights.items()},
        middle - top,
        bottom - middle,
    )


def _close(heights: dict[int, float], items: Sequence[Item], gap: float) -> None:
    """Close gaps in which nothing stands in any column."""
    order = sorted(heights, key=lambda number: heights[number] - items[number].room.above)
    shift, bottom = 0.0, inf
    for number in order:
        room = items[number].room
        shift += max(0.0, heights[number] - room.above - bottom - gap)
        bottom = max(heights[number] + room.below, bottom if bottom < inf else -inf)
        heights[number] -= shift


def _straighten(
    ordered: Sequence[Sequence[int]],
    heights: dict[int, float],
    near: Mapping[int, Sequence[int]],
    items: Sequence[Item],
    gap: float,
) -> None:
    """Give lines that pass several columns one height, where they have room for it."""
    seen: set[int] = set()
    place = {each: (column, spot) for column in ordered for spot, each in enumerate(column)}

    def fits(number: int, height: float) -> bool:
        column, spot = place[number]
        room = items[number].room
        for other, way in ((spot - 1, -1), (spot + 1, 1)):
            if 0 <= other < len(column):
                beside = items[column[other]].room
                least = beside.below + room.above if way < 0 else room.below + beside.above
                if (heights[column[other]] - height) * way < least + gap / 2:
                    return False
        return True

    for start in sorted(place):
        if items[start].key or start in seen:
            continue
        chain = [start]
        for number in chain:
            chain += [each for each in near[number] if not items[each].key and each not in chain]
        seen.update(chain)
        ends = [each for number in chain for each in near[number] if items[each].key]
        wishes = sorted(heights[each] for each in (*ends, *chain))
        for wish in (*(heights[each] for each in ends), wishes[len(wishes) // 2]):
            if all(fits(number, wish) for number in chain):
                heights.update(dict.fromkeys(chain, wish))
                break
    for number in (number for column in ordered for number in column):
        # A step of a few pixels looks like a mistake.
        before = [each for each in near[number] if items[each].column < items[number].column]
        if items[number].key and len(before) == 1:
            wish = heights[before[0]]
            if 0 < abs(wish - heights[number]) < _STEP and fits(number, wish):
                heights[number] = wish


def spread(
    wished: Sequence[float],
    room: Sequence[float],
    weights: Sequence[float] | None = None,
    within: tuple[float, float] = (-inf, inf),
) -> list[float]:
    """Return the numbers nearest to those wished of which each has its room after the last.

    Nearest by the sum of squares: neighbours that would collide share their mean
    (pool adjacent violators). All are within two bounds, if these leave them room.
    """
    offsets = [0.0]
    for each in room:
        offsets.append(offsets[-1] + each)
    pools: list[tuple[float, float, int]] = []
    for place, wish in enumerate(wished):
        weight = weights[place] if weights else 1.0
        value, count = wish - offsets[place], 1
        while pools and pools[-1][0] >= value:
            other, heavy, many = pools.pop()
            value = (value * weight + other * heavy) / (weight + heavy)
            weight, count = weight + heavy, count + many
        pools.append((value, weight, count))
    low, high = within[0], within[1] - offsets[-1]
    values = [max(low, min(high, value)) for value, _, count in pools for _ in range(count)]
    return [value + offset for value, offset in zip(values, offsets, strict=False)]


def _packed(column: Sequence[int], items: Sequence[Item], gap: float) -> list[float]:
    found, y = [], 0.0
    for number in column:
        found.append(y + items[number].room.above)
        y += items[number].room.above + items[number].room.below + gap
    return [height - (y - gap) / 2 for height in found]


def _ordered(
    columns: Mapping[int, Sequence[int]],
    near: Mapping[int, Sequence[int]],
    items: Sequence[Item],
) -> list[list[int]]:
    """Return columns sorted so that few lines cross: by the mean place of their neighbours."""
    ordered = [sorted(column) for column in columns.values()]
    places = {
        number: place / len(column) for column in ordered for place, number in enumerate(column)
    }
    best, least = ordered, _crossings(ordered, near, items)
    for sweep in range(_SWEEPS):
        if not least:
            break
        way = 1 if sweep % 2 == 0 else -1
        after = []
        for column in ordered[::way]:

            def mean(number: int, way: int = way) -> float:
                others = [
                    places[each]
                    for each in near[number]
                    if (items[each].column - items[number].column) * way < 0
                ]
                return sum(others) / len(others) if others else places[number]

            after.append(sorted(column, key=mean))
            for place, number in enumerate(after[-1]):
                places[number] = place / len(column)
        ordered = after[::way]
        found = _crossings(ordered, near, items)
        if found < least:
            best, least = ordered, found
    return best


def _crossings(
    ordered: Sequence[Sequence[int]], near: Mapping[int, Sequence[int]], items: Sequence[Item]
) -> int:
    place = {number: place for column in ordered for place, number in enumerate(column)}
    total = 0
    for column in ordered:
        ends = [
            [place[each] for each in near[number] if items[each].column > items[number].column]
            for number in column
        ]
        for upper, those in enumerate(ends):
            for others in ends[upper + 1 :]:
                total += sum(a > b for a in those for b in others)
    return total


LANE_GAP, HANGING, _ALIKE = 12.0, 26.0, 70.0
"""Between two lanes, and between a straight line and the lane below it."""


class Part(Struct, frozen=True):
    """Items with their heights; 0 is the part's line, ``above`` and ``below`` are its extent."""

    heights: Mapping[int, float]
    above: float
    below: float


class Arranging(Struct, frozen=True):
    """What arranging needs to know of the whole.

    Attributes:
        items: by number.
        links: neighbours in the next and in the last column, by item.
        ranks: where a link goes among those of its target, by its two items.
        crooked: items of edges that are no straight line, as keys and masks are none.
        apart: how far at least the lines of two items must be from one another.
        ends: the input and the output of the main line.
    """

    items: Sequence[Item]
    links: Mapping[int, Sequence[int]]
    ranks: Mapping[tuple[int, int], tuple[int, int]]
    crooked: frozenset[int]
    apart: Mapping[tuple[int, int], float]
    ends: frozenset[int]

    def part(self, numbers: Sequence[int]) -> Part:
        """Return the heights of items."""
        lanes = self._lanes(numbers)
        if len(lanes) > 1:
            return self._stacked([self.part(lane) for lane in lanes], is_centred=True)
        columns = self._columns(numbers)
        cuts = [column for column, inside in columns.items() if len(inside) == 1]
        if not cuts:
            return self._evened(columns)
        if self._starts_lane(columns, cuts):
            cuts = cuts[1:]
        return self._series(columns, cuts) if cuts else self._evened(columns)

    def _series(self, columns: Mapping[int, list[int]], cuts: Sequence[int]) -> Part:
        """Return a part whose line passes single items, with what lies between them."""
        heights = {columns[cut][0]: 0.0 for cut in cuts}
        above = max(self.items[number].room.above for number in heights)
        below = max(self.items[number].room.below for number in heights)
        hanging: list[list[Part]] = []
        edges = [min(columns) - 1, *cuts, max(columns) + 1]
        for first, last in pairwise(edges):
            inside = [number for column in range(first + 1, last) for number in columns[column]]
            if not inside:
                continue
            lanes = self._lanes(inside)
            straight = next((lane for lane in lanes if self._is_straight(lane, first, last)), None)
            if straight is None:
                part = self._beside(lanes, columns[first] if first in cuts else [])
                heights |= part.heights
                above, below = max(above, part.above), max(below, part.below)
                continue
            heights |= dict.fromkeys(straight, 0.0)
            if len(lanes) > 1:
                hanging.append([self.part(lane) for lane in lanes if lane is not straight])
        # Lanes that hang on one line have theirs at one height, if that takes none far away.
        least = min((parts[0].above for parts in hanging), default=0.0)
        alike = [parts[0].above for parts in hanging if parts[0].above <= least + _ALIKE]
        for upper, *others in hanging:
            depth = max(upper.above, *alike) if upper.above in alike else upper.above
            lowered = Part(upper.heights, depth + HANGING, upper.below)
            part = self._stacked([lowered, *others], is_centred=False)
            heights |= part.heights
            below = max(below, part.below)
        return Part(heights, above, below)

    def _beside(self, lanes: Sequence[Sequence[int]], before: Sequence[int]) -> Part:
        """Return lanes centred, or below the only one that goes on from what is before them."""
        near = {other for number in before for other in self.links[number]}
        on = [lane for lane in lanes if near & set(lane)]
        if len(on) != 1 or len(lanes) == 1:
            return self._stacked([self.part(lane) for lane in lanes], is_centred=True)
        main = self.part(on[0])
        others = [self.part(lane) for lane in lanes if lane is not on[0]]
        stacked = self._stacked([main, *others], is_centred=False)
        heights = {number: height - main.above for number, height in stacked.heights.items()}
        return Part(heights, main.above, stacked.below - main.above)

    def _starts_lane(self, columns: Mapping[int, list[int]], cuts: Sequence[int]) -> bool:
        """Tell whether the first cut begins one of several lanes, and the others by themselves."""
        if cuts[0] != min(columns) or len(cuts) == 1:
            return False
        between = [each for column in range(cuts[0] + 1, cuts[1]) for each in columns[column]]
        near = self.links[columns[cuts[0]][0]]
        return any(not set(lane) & set(near) for lane in self._lanes(between))

    def _is_straight(self, lane: Sequence[int], first: int, last: int) -> bool:
        """Tell whether a lane is nothing but an edge from one cut to the next."""
        return len(lane) == last - first - 1 and not any(
            (self.items[each].key and each not in self.ends) or each in self.crooked
            for each in lane
        )

    def _stacked(self, parts: Sequence[Part], is_centred: bool) -> Part:
        """Return parts one below the other, the first one's upper end or their middle at 0."""
        heights: dict[int, float] = {}
        y = 0.0
        for place, part in enumerate(parts):
            line = y + part.above
            line += self._missing(heights, part, line)
            heights |= {number: line + height for number, height in part.heights.items()}
            y = line + part.below + (LANE_GAP if place < len(parts) - 1 else 0.0)
        shift = y / 2 if is_centred else 0.0
        if is_centred and len(parts) == 1:
            shift = parts[0].above
        return Part(
            {number: height - shift for number, height in heights.items()}, shift, y - shift
        )

    def _missing(self, heights: Mapping[int, float], part: Part, line: float) -> float:
        """Return how much farther down a part must go for what hangs between it and another."""
        missing = (
            heights[upper] + least - (line + part.heights[lower])
            for (upper, lower), least in self.apart.items()
            if upper in heights and lower in part.heights
        )
        return max(0.0, *missing, 0.0)

    def _evened(self, columns: Mapping[int, list[int]]) -> Part:
        return Part(*evened(columns, self.items, self.links, LANE_GAP))

    def _columns(self, numbers: Iterable[int]) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {}
        for number in numbers:
            found.setdefault(self.items[number].column, []).append(number)
        return {column: found[column] for column in sorted(found)}

    def _lanes(self, numbers: Sequence[int]) -> list[list[int]]:
        """Return the items that hang together, each group in a list, in the order of lanes."""
        left = set(numbers)
        lanes = []
        for start in numbers:
            if start not in left:
                continue
            left.discard(start)
            lane = [start]
            for number in lane:
                for other in self.links[number]:
                    if other in left:
                        left.discard(other)
                        lane.append(other)
            lanes.append(sorted(lane))
        return sorted(lanes, key=self._rank)

    def _rank(self, lane: Sequence[int]) -> tuple[int, int, int]:
        """Return a lane's place by the operands of what it leads to, else by the flow's order."""
        inside = set(lane)
        leading = (
            self.ranks[number, other]
            for number in lane
            for other in self.links[number]
            if other not in inside and (number, other) in self.ranks
        )
        return (*min(leading, default=(len(self.items), 0)), min(lane))
