"""Heights of items that cross over one another: in an order with few crossings, and even."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import inf

from bertviewer.charts.graph.skeleton import Item

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
