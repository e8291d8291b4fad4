"""Points of a chart's lines, found by position, selection or key."""

from collections.abc import Iterator, Sequence
from math import isfinite

from msgspec import Struct
from PySide6.QtCore import Qt

from bertviewer.charts.chart import LineChart
from bertviewer.charts.selection_key import SelectionKey, closest_keys
from bertviewer.plots.canvas_plot import Point

Values = Sequence[float | None]


class LinePoints(Struct, frozen=True, eq=False):
    """Points by line and x; ``heights`` are the positions of their values on the axis."""

    chart: LineChart
    heights: tuple[Values, ...]

    def height(self, point: Point) -> float | None:
        """Return the position of a point on the left axis, ``None`` where its line has a gap."""
        return finite_at(self.heights[point[0]], point[1])

    def key(self, point: Point) -> SelectionKey | None:
        """Return the selection key of a point, ``None`` for none."""
        line, x = point
        places = self.chart.lines[line].keys
        return places[x] if x < len(places) else None

    def at(self, x: int) -> list[Point]:
        """Return the points at an x, the highest first."""
        found = [(line, x) for line in range(len(self.heights))]
        drawn = [point for point in found if self.height(point) is not None]
        return sorted(drawn, key=self._height, reverse=True)

    def nearest(self, x: int, height: float) -> Point | None:
        """Return the point at an x that is nearest to a position on the left axis."""
        return min(
            sorted(self.at(x)), key=lambda point: abs(self._height(point) - height), default=None
        )

    def same(self, point: Point, other: "LinePoints") -> Point | None:
        """Return the point of another chart's line with the same label, ``None`` for none."""
        label = other.chart.lines[point[0]].label
        found = ((n, point[1]) for n, line in enumerate(self.chart.lines) if line.label == label)
        return next((one for one in found if self.height(one) is not None), None)

    def chosen(self, selection: SelectionKey) -> Iterator[Point]:
        """Yield the points of a selection."""
        # All lines together: of a layer and its selected part, only the part counts.
        lines = enumerate(self.chart.lines)
        places = {(n, x): place for n, line in lines for x, place in enumerate(line.keys)}
        points, found = list(places), closest_keys(list(places.values()), selection)
        # A module at several x, such as ALBERT's layer, means none of them.
        if len({points[index][1] for index in found}) == 1:
            yield from (points[index] for index in found)

    def next(self, start: Point | None, key: int) -> Point | None:
        """Return the point that a key leads to: along a line, on that above or below, or an end.

        Without a point to start from, any of these keys leads to the first.
        """
        if key not in _KEYS:
            return None
        if start is None:
            ends = [(n, x) for n, line in enumerate(self.heights) for x in range(len(line))]
            return next((point for point in ends if self.height(point) is not None), None)
        line, x = start
        if key in (Qt.Key.Key_Up, Qt.Key.Key_Down):
            here = self.at(x)
            if start not in here:
                return here[0] if here else None
            number = here.index(start) + (1 if key == Qt.Key.Key_Down else -1)
            return here[number] if 0 <= number < len(here) else None
        count = len(self.heights[line])
        further = {
            Qt.Key.Key_Left: range(x - 1, -1, -1),
            Qt.Key.Key_Right: range(x + 1, count),
            Qt.Key.Key_Home: range(x),
            Qt.Key.Key_End: range(count - 1, x, -1),
        }
        points = ((line, place) for place in further[Qt.Key(key)])
        return next((point for point in points if self.height(point) is not None), None)

    def _height(self, point: Point) -> float:
        return self.height(point) or 0.0


_KEYS = (
    *(Qt.Key.Key_Left, Qt.Key.Key_Right, Qt.Key.Key_Up, Qt.Key.Key_Down),
    *(Qt.Key.Key_Home, Qt.Key.Key_End),
)


def finite_at(values: Values | None, x: int) -> float | None:
    """Return a finite value, ``None`` where there is none."""
    value = values[x] if values is not None and x < len(values) else None
    return value if value is not None and isfinite(value) else None
