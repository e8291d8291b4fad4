"""Edges as lines: from node to node through channels, and around to the next row."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from msgspec import Struct

from bertviewer.charts.graph.drawing import Line, Placed, Point, Weight
from bertviewer.charts.graph.places import ROW_GAP, Places
from bertviewer.charts.graph.ports import Arrival
from bertviewer.charts.graph.skeleton import Skeleton

_ASIDE = ("mask", "position")


class Ways(Struct, frozen=True):
    """Draws the edges of a strip."""

    skeleton: Skeleton
    heights: Mapping[int, float]
    arriving: Mapping[int, Arrival]
    tracks: Mapping[int, Mapping[int, int]]
    counts: Mapping[int, int]
    places: Places
    placed: Mapping[str, Placed]

    def lines(self) -> list[Line]:
        """Return the edges' lines."""
        spine = set(pairwise(self.skeleton.spine))
        has_residual = any(edge.role == "residual" for edge in self.skeleton.edges)
        has_stack = any(self.placed[key].node.repeat is not None for key in self.skeleton.spine)
        found = []
        for number, edge in enumerate(self.skeleton.edges):
            points = self._points(number)
            is_main = (edge.source, edge.target) in spine and self._is_level(number)
            weight: Weight = "data"
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


def simplified(points: Sequence[Point]) -> tuple[Point, ...]:
    """Return a line without corners that are none."""
    found: list[Point] = []
    for point in points:
        while len(found) > 1 and _is_between(found[-2], found[-1], point):
            found.pop()
        if not found or found[-1] != point:
            found.append(point)
    return tuple(found)


def _is_between(a: Point, b: Point, c: Point) -> bool:
    return any(abs(a[axis] - b[axis]) < 0.01 and abs(b[axis] - c[axis]) < 0.01 for axis in (0, 1))
