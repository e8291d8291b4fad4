"""Edge router: where edges arrive, their vertical tracks between columns, and their polylines."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from msgspec import Struct

from bertviewer.charts.graph.columns import Item, LayeredGraph
from bertviewer.charts.graph.coordinates import spread
from bertviewer.charts.graph.drawing import DrawnNode, Line, LineWeight, Point, simplified
from bertviewer.charts.graph.node_shapes import ABOVE_LINE, NARROW, Glyph
from bertviewer.charts.graph.paths import SIDE_ROLES
from bertviewer.charts.graph.rows import ROW_GAP, EndLabel, RowLayout

_PORTS_APART, _CORNER = 28.0, 8.0
_STAYS = 1000.0
"""Weight of an edge that remains straight."""

_SAME = 0.01
"""Maximum difference of heights that are equal but for rounding."""
_MARGIN = 7.0
"""Minimum vertical distance of two lines on one track."""


class Arrival(Struct, frozen=True):
    """The height at which an edge arrives: at the left side of its target.

    ``is_vertical``: above or below the centre of a sign, which it enters from there.
    """

    height: float
    is_vertical: bool = False


class Net(Struct, frozen=True):
    """The edges from an item to the next column: heights at which they leave and arrive."""

    source: int
    left: float
    pins: tuple[float, ...]

    @property
    def is_straight(self) -> bool:
        """Whether it needs no vertical track."""
        return all(abs(pin - self.left) < _SAME for pin in self.pins)

    @property
    def top(self) -> float:
        """Upper end of its vertical line."""
        return min(self.left, *self.pins)

    @property
    def bottom(self) -> float:
        """Lower end of its vertical line."""
        return max(self.left, *self.pins)


class EdgeRouter:
    """Routes the edges of a layered graph with known y coordinates.

    ``counts`` has the number of vertical tracks before each column.
    """

    def __init__(
        self, graph: LayeredGraph, heights: Mapping[int, float], glyphs: Mapping[str, Glyph]
    ) -> None:
        self._graph, self._heights, self._glyphs = graph, heights, glyphs
        self._columns = graph.columns
        self._arrivals = self._all_arrivals()
        self._nets = self._all_nets()
        self._tracks = {column: _tracks(nets) for column, nets in self._nets.items()}
        self.counts = {
            column: max(tracks.values(), default=-1) + 1 for column, tracks in self._tracks.items()
        }

    def end_labels(self) -> list[EndLabel]:
        """Return the labels above inputs and outputs."""
        occupied = self._occupied()
        after = max(occupied, default=0) + 1
        sources = {chain[0] for chain in self._graph.chains}
        found = []
        for item in self._graph.items:
            if not item.extent.text:
                continue
            is_output = item.number not in sources
            line = self._heights[item.number]
            ways = range(item.column - 1, -1, -1) if is_output else range(item.column + 1, after)
            stop = -1 if is_output else after
            for column in ways:
                nets = self._nets.get(column + 1 if is_output else column, ())
                verticals = ((net.top, net.bottom) for net in nets if not net.is_straight)
                if any(
                    top < line - 1 and bottom > line - ABOVE_LINE
                    for top, bottom in (*occupied[column], *verticals)
                ):
                    stop = column
                    break
            found.append(EndLabel(item.column, item.extent.text, is_output, stop))
        return found

    def lines(self, rows: RowLayout, drawn: Mapping[str, DrawnNode]) -> list[Line]:
        """Return the lines of all edges."""
        graph = self._graph
        path = set(pairwise(graph.main_path))
        has_main_path = any(edge.role == "residual" for edge in graph.edges) or any(
            drawn[key].node.repeat is not None for key in graph.main_path
        )
        found = []
        for number, edge in enumerate(graph.edges):
            source, target = drawn[edge.source], drawn[edge.target]
            is_level = all(self._heights[each] == 0.0 for each in graph.chains[number])
            weight: LineWeight = "data"
            if edge.role in ("mask", "position") or source.form == "dashed pill":
                weight = "side"
            elif has_main_path and is_level and (edge.source, edge.target) in path:
                weight = "residual"
            points = simplified(self._points(number, source, target, rows))
            found.append(Line(edge, points, weight, target.form == "output"))
        return found

    def _points(
        self, number: int, source: DrawnNode, target: DrawnNode, rows: RowLayout
    ) -> list[Point]:
        chain, arrival = self._graph.chains[number], self._arrivals[number]
        column = self._graph.items[chain[0]].column
        points = [(source.rect.right, rows.row_of(column).line + self._heights[chain[0]])]
        for one, other in pairwise(chain):
            left = self._heights[one]
            height = arrival.height if other == chain[-1] else self._heights[other]
            column = self._graph.items[other].column
            here, there = rows.row_of(column - 1), rows.row_of(column)
            if here != there:
                between = here.bottom + ROW_GAP / 2
                points += [
                    (here.right, here.line + left),
                    (here.right, between),
                    (0.0, between),
                    (0.0, there.line + left),
                ]
            if abs(height - left) > _SAME:
                x = rows.track(column, self._tracks[column][one], self.counts[column])
                points += [(x, there.line + left), (x, there.line + height)]
        y = rows.row_of(column).line + arrival.height
        if arrival.is_vertical:
            x = target.rect.middle[0]
            is_below = arrival.height > self._heights[chain[-1]]
            points += [(x, y), (x, target.rect.bottom if is_below else target.rect.y)]
        else:
            is_output = target.form == "output"
            points.append((target.rect.right if is_output else target.rect.x, y))
        return points

    def _all_arrivals(self) -> dict[int, Arrival]:
        """Return where each edge arrives, by its number."""
        into: dict[int, list[int]] = {}
        for number, chain in enumerate(self._graph.chains):
            into.setdefault(chain[-1], []).append(number)
        found: dict[int, Arrival] = {}
        for target, numbers in into.items():
            item = self._graph.items[target]
            if self._glyphs[item.key].drawn.form != "sign":
                found |= self._ports(item, numbers)
                continue
            for number in numbers:
                height = self._heights[self._graph.chains[number][-2]]
                is_free = self._is_free(item, height)
                found[number] = Arrival(height if is_free else self._heights[target], is_free)
        return found

    def _is_free(self, sign: Item, height: float) -> bool:
        """Tell whether an edge can enter a sign vertically from a height."""
        at, below = self._heights[sign.number], self._glyphs[sign.key].below
        if abs(height - at) <= below + _CORNER or (height > at and sign.extent.below > below):
            return False
        top, bottom = min(height, at), max(height, at)
        return not any(
            self._heights[other.number] - other.extent.above < bottom + _CORNER
            and self._heights[other.number] + other.extent.below > top - _CORNER
            for other in self._columns[sign.column]
            if other.key and other is not sign
        )

    def _ports(self, target: Item, numbers: Sequence[int]) -> dict[int, Arrival]:
        """Return separate ports at the left side of a node."""
        glyph, line = self._glyphs[target.key], self._heights[target.number]
        form = glyph.drawn.form
        if len(numbers) == 1 or form in ("input", "output"):
            return dict.fromkeys(numbers, Arrival(line))
        edges = self._graph.edges
        coming = {each: self._heights[self._graph.chains[each][-2]] for each in numbers}
        order = sorted(
            numbers, key=lambda each: (coming[each], edges[each].role in SIDE_ROLES, each)
        )
        # One of the level edges remains straight.
        level = [place for place, each in enumerate(order) if coming[each] == line]
        # A feed-forward is narrow at its ends.
        is_narrow = form in ("feed-forward", "gated feed-forward")
        reach = (NARROW / 2 if is_narrow else glyph.drawn.rect.height - glyph.line) - _CORNER
        apart = min(_PORTS_APART, 2 * reach / (len(order) - 1))
        weights = [1.0] * len(order)
        straight = None
        if level:
            straight = level[0] + ((len(level) - 1) // 2 if len(level) > 2 else 0)
            weights[straight] = _STAYS
            apart = min(apart, reach / max(straight, len(order) - 1 - straight))
        wished = [coming[each] for each in order]
        gaps = [apart] * (len(order) - 1)
        found = spread(wished, gaps, weights, (line - reach, line + reach))
        if straight is not None:
            found[straight] = line
        return dict(zip(order, map(Arrival, found), strict=True))

    def _all_nets(self) -> dict[int, list[Net]]:
        """Return the nets that end in each column."""
        pins: dict[int, list[float]] = {}
        for number, chain in enumerate(self._graph.chains):
            for one, other in pairwise(chain):
                is_last = other == chain[-1]
                height = self._arrivals[number].height if is_last else self._heights[other]
                pins.setdefault(one, []).append(height)
        found: dict[int, list[Net]] = {}
        for number, ends in pins.items():
            column = self._graph.items[number].column + 1
            found.setdefault(column, []).append(Net(number, self._heights[number], tuple(ends)))
        return found

    def _occupied(self) -> dict[int, list[tuple[float, float]]]:
        """Return the vertical spans of the nodes, edges and arrivals of each column."""
        found: dict[int, list[tuple[float, float]]] = {}
        for item in self._graph.items:
            height, extent = self._heights[item.number], item.extent
            span = (height - extent.above, height + extent.below) if item.key else (height, height)
            found.setdefault(item.column, []).append(span)
        for number, arrival in self._arrivals.items():
            target = self._graph.items[self._graph.chains[number][-1]]
            if arrival.is_vertical:
                ends = arrival.height, self._heights[target.number]
                found[target.column].append((min(ends), max(ends)))
        return found


def _tracks(nets: Sequence[Net]) -> dict[int, int]:
    """Return the track of each net that needs one, counted from the left, by its source.

    Nets that go up have the left tracks, the upper ones first, and nets that go down the right
    ones, the lower ones first, which avoids most crossings.
    """
    bent = sorted((net for net in nets if not net.is_straight), key=lambda net: net.left)
    up = [net for net in bent if net.top < net.left - _SAME]
    down = [net for net in bent if net not in up]
    tracks: dict[int, int] = {}
    done: list[Net] = []
    for net in (*up, *reversed(down)):
        taken = [
            tracks[other.source] + 1
            for other in done
            if other.top - _MARGIN < net.bottom and net.top - _MARGIN < other.bottom
        ]
        tracks[net.source] = max(taken, default=0)
        done.append(net)
    return tracks
