"""A model as nested rectangles, each as large as what its module has.

Unequal rectangles are squarified: M. Bruls, K. Huizing and J. J. van Wijk, "Squarified Treemaps",
2000. Equal layers stand side by side in their order, each as large as the others.
"""

from collections.abc import Iterator, Sequence
from math import ceil, inf

from msgspec import Struct

from bertviewer.charts.graph.drawing import Rect

TITLE = 17.0
_LEAST_TITLED, _LEAST_WIDE = 40.0, 44.0
_MARGIN, _GAP = 3.0, 2.0
_LEAST = 3.0
"""What is smaller shows nothing of what is in it."""


class Area(Struct, frozen=True):
    """A module with what is in it, before it has a place.

    Attributes:
        path: the module.
        name: what it is called; a module's own tensors have none.
        value: how large it is.
        parts: what is in it, in order.
        is_layer: it is one of equal layers.
    """

    path: str
    name: str
    value: float
    parts: tuple["Area", ...] = ()
    is_layer: bool = False


class Cell(Struct, frozen=True):
    """A module in its place; ``title`` is the room for its name above what is in it."""

    area: Area
    rect: Rect
    depth: int
    title: Rect | None = None
    cells: tuple["Cell", ...] = ()

    def all_cells(self) -> Iterator["Cell"]:
        """Yield this cell and all in it, what is behind first."""
        yield self
        for cell in self.cells:
            yield from cell.all_cells()


def treemap(area: Area, room: Rect, depth: int = 0) -> Cell:
    """Return a module and all in it as rectangles within a room."""
    inside, title = room, None
    if area.parts:
        has_title = room.height >= _LEAST_TITLED and room.width >= _LEAST_WIDE
        top = TITLE if has_title else min(_MARGIN, room.height / 8)
        if has_title:
            title = Rect(room.x + _MARGIN, room.y, room.width - 2 * _MARGIN, TITLE)
        side = min(_MARGIN, room.width / 8, room.height / 8)
        inside = Rect(room.x + side, room.y + top, room.width - 2 * side, room.height - top - side)
    parts = [part for part in area.parts if part.value > 0]
    if not parts or min(inside.width, inside.height) < _LEAST:
        return Cell(area, room, depth, title)
    if len(parts) > 1 and all(part.is_layer for part in parts):
        rects = side_by_side([part.value for part in parts], inside)
    else:
        rects = squarified([part.value for part in parts], inside)
    cells = tuple(
        treemap(part, _shrunk(rect), depth + 1) for part, rect in zip(parts, rects, strict=True)
    )
    return Cell(area, room, depth, title, cells)


def squarified(values: Sequence[float], room: Rect) -> list[Rect]:
    """Return a rectangle for each value, all of the room shared out by them, in their order.

    Their sides are as nearly equal as the algorithm of Bruls, Huizing and van Wijk makes them: the
    largest value goes first, and a row along the shorter side takes values as long as that makes
    the worst of them no worse.
    """
    total = sum(values)
    if total <= 0 or room.width <= 0 or room.height <= 0:
        return [Rect(room.x, room.y, 0.0, 0.0) for _ in values]
    scale = room.width * room.height / total
    order = sorted(range(len(values)), key=lambda place: -values[place])
    found: dict[int, Rect] = {}
    left, row = room, list[int]()
    for place in order:
        short = min(left.width, left.height)
        before = [values[each] * scale for each in row]
        if row and _worst([*before, values[place] * scale], short) > _worst(before, short):
            left = _lay(row, before, left, found)
            row = []
        row.append(place)
    _lay(row, [values[each] * scale for each in row], left, found)
    return [found[place] for place in range(len(values))]


def side_by_side(values: Sequence[float], room: Rect) -> list[Rect]:
    """Return a rectangle for each value in rows that are read like a text, of equal rectangles."""
    count, total = len(values), sum(values)
    if not count or total <= 0:
        return [Rect(room.x, room.y, 0.0, 0.0) for _ in values]
    rows = min(range(1, count + 1), key=lambda each: _unevenness(count, each, room))
    found: list[Rect] = []
    y, begin = room.y, 0
    for row in range(rows):
        end = begin + ceil((count - begin) / (rows - row))
        held = sum(values[begin:end])
        height = room.height * held / total
        x = room.x
        for value in values[begin:end]:
            width = room.width * value / held if held else 0.0
            found.append(Rect(x, y, width, height))
            x += width
        y, begin = y + height, end
    return found


def _unevenness(count: int, rows: int, room: Rect) -> float:
    """Return how far from squares so many rows make their rectangles."""
    width, height = room.width / ceil(count / rows), room.height / rows
    if width <= 0 or height <= 0:
        return inf
    return max(width / height, height / width)


def _worst(areas: Sequence[float], short: float) -> float:
    """Return the largest ratio of sides in a row of such areas along a side."""
    total = sum(areas)
    if total <= 0 or short <= 0 or min(areas) <= 0:
        return inf
    return max(
        short * short * max(areas) / (total * total), total * total / (short * short * min(areas))
    )


def _lay(row: Sequence[int], areas: Sequence[float], left: Rect, found: dict[int, Rect]) -> Rect:
    """Put a row at the shorter side of what is left, and return the rest."""
    total = sum(areas)
    if not row:
        return left
    is_upright = left.width >= left.height
    length = left.height if is_upright else left.width
    # Of a rest as thin as rounding the quotient may be wider than all that is left.
    room = left.width if is_upright else left.height
    breadth = min(total / length, room) if length > 0 else 0.0
    place = left.y if is_upright else left.x
    for key, area in zip(row, areas, strict=True):
        side = length * area / total if total > 0 else 0.0
        found[key] = (
            Rect(left.x, place, breadth, side) if is_upright else Rect(place, left.y, side, breadth)
        )
        place += side
    if is_upright:
        return Rect(left.x + breadth, left.y, max(left.width - breadth, 0.0), left.height)
    return Rect(left.x, left.y + breadth, left.width, max(left.height - breadth, 0.0))


def _shrunk(rect: Rect) -> Rect:
    """Return a rectangle with a gap between it and its neighbours, as far as it is not too thin."""
    x, y = min(_GAP, rect.width / 4) / 2, min(_GAP, rect.height / 4) / 2
    return Rect(rect.x + x, rect.y + y, rect.width - 2 * x, rect.height - 2 * y)
