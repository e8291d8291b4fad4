"""A model as nested rectangles, each as large as what its module has.

Unequal rectangles are squarified: M. Bruls, K. Huizing and J. J. van Wijk, "Squarified Treemaps",
2000. Equal layers stand side by side in their order, each as large as the others.


How large modules are, for the treemap: parameters, multiply-adds or memory.

Finds what of a treemap is where, and what is next to it.
"""

from collections.abc import Iterator, Mapping, Sequence
from math import ceil, inf
from typing import Literal

from msgspec import Struct

from bertviewer.charts.graph.drawing import Rect
from bertviewer.charts.map.neighbours import Direction
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.bindings import bindings
from bertviewer.core.schema.modules import ModuleNode

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


AreaKind = Literal["parameters", "macs", "memory"]
AREA_KINDS: tuple[AreaKind, ...] = ("parameters", "macs", "memory")

_BYTES = {"64": 8, "32": 4, "16": 2, "8": 1}


def areas_of(
    architecture: Architecture, kind: AreaKind, run: ActivationRun | None = None, path: str = ""
) -> Area:
    """Return a module and all in it with how large they are.

    A module that has more than its parts have has the rest as a part of its own, without a name.
    Memory is that of the weights, each in its own dtype.

    Args:
        architecture: the model.
        kind: what is measured.
        run: its last run, whose multiply-adds count; without one those of the formulas.
        path: the module.
    """
    sizes = _sizes(architecture, kind, run)
    nodes = {node.path: node for node in architecture.modules}

    def area(node: ModuleNode) -> Area:
        parts = [area(child) for child in architecture.children(node.path)]
        held = sum(part.value for part in parts)
        value = max(sizes.get(node.path, held), held)
        rest = value - held
        if parts and rest > 1e-6 * value:
            parts.append(Area(node.path, "", rest))
        parts = [part for part in parts if part.value > 0]
        name = node.name or node.class_name
        return Area(node.path, name, value, tuple(parts), node.repeat is not None)

    return area(nodes[path])


def _sizes(
    architecture: Architecture, kind: AreaKind, run: ActivationRun | None
) -> Mapping[str, float]:
    match kind:
        case "parameters":
            return {node.path: float(node.parameters) for node in architecture.modules}
        case "memory":
            return {
                node.path: float(
                    sum(
                        tensor.numel * _width(tensor.dtype)
                        for tensor in architecture.tensors_below(node.path)
                        if tensor.tied_to is None
                    )
                )
                for node in architecture.modules
            }
        case "macs":
            return _macs(architecture, run)


def _macs(architecture: Architecture, run: ActivationRun | None) -> Mapping[str, float]:
    """Return multiply-adds as the run counted them, or by the formulas, or of the flows."""
    if run is not None:
        return {each.path: float(each.macs) for each in run.modules if each.macs is not None}
    costs, found = architecture.costs, dict[str, float]()
    values = bindings(architecture)
    flows = architecture.flows
    for node in architecture.modules:
        count = None if costs is None else costs.macs(node.path, values)
        if count is None and costs is None and flows is not None:
            flow = flows.flow(node.path)
            count = None if flow is None else flow.macs
        if count is not None:
            found[node.path] = float(count)
    return found


def _width(dtype: str) -> float:
    """Return how many bytes an element takes."""
    if dtype.startswith("bool"):
        return 1
    digits = "".join(letter for letter in dtype.partition("_")[0] if letter.isdecimal())
    return _BYTES.get(digits, 4)


def cell_at(cell: Cell, x: float, y: float) -> Cell | None:
    """Return the innermost cell at a place."""
    rect = cell.rect
    if not (rect.x <= x <= rect.right and rect.y <= y <= rect.bottom):
        return None
    for inner in cell.cells:
        found = cell_at(inner, x, y)
        if found is not None:
            return found
    return cell


def next_cell(whole: Cell, here: Cell, way: Direction) -> Cell | None:
    """Return the nearest cell in a direction: to the side of the same depth, or what it is in."""
    x, y = here.rect.x + here.rect.width / 2, here.rect.y + here.rect.height / 2

    def away(cell: Cell) -> float:
        a = cell.rect.x + cell.rect.width / 2 - x
        b = cell.rect.y + cell.rect.height / 2 - y
        along, aside = (abs(a), abs(b)) if way in ("left", "right") else (abs(b), abs(a))
        return along + 2 * aside

    def is_there(cell: Cell) -> bool:
        rect = cell.rect
        match way:
            case "left":
                return rect.right <= here.rect.x + 1
            case "right":
                return rect.x >= here.rect.right - 1
            case "up":
                return rect.bottom <= here.rect.y + 1
            case "down":
                return rect.y >= here.rect.bottom - 1

    cells = [cell for cell in whole.all_cells() if cell is not whole and cell.area.name]
    same = [cell for cell in cells if cell.depth == here.depth and is_there(cell)]
    leaves = [cell for cell in cells if not cell.cells and is_there(cell)]
    return min(same or leaves, key=away, default=None)
