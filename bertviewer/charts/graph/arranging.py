"""How high items stand: what all paths pass is on one line, parallel parts have lanes.

A part is cut where one item alone stands in a column; what lies between two cuts falls apart into
lanes, and each lane is a part again. A line that leads straight on stays on top and the lanes hang
below it; without one they are centred. What cannot be cut is evened out column by column.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from msgspec import Struct

from bertviewer.charts.graph.evening import evened
from bertviewer.charts.graph.skeleton import Item

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
