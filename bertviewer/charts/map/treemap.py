"""Treemap: modules as nested rectangles with areas proportional to their sizes.

Rectangles are squarified: M. Bruls, K. Huizing and J. J. van Wijk, "Squarified Treemaps", 2000.
Identical layers are side by side in their order.
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

AreaKind = Literal["parameters", "macs", "memory"]
AREA_KINDS: tuple[AreaKind, ...] = ("parameters", "macs", "memory")

_BYTES = {"64": 8, "32": 4, "16": 2, "8": 1}
_TITLE, _MARGIN, _GAP = 17.0, 3.0, 2.0
_MIN_TITLED = Rect(0, 0, 44.0, 40.0)
_MIN_SIDE = 3.0
"""Cells with shorter sides do not show what is in them."""


class Area(Struct, frozen=True):
    """A module with its size.

    Attributes:
        path: the module.
        name: its name, "" for a module's own tensors.
        value: its size.
        parts: the modules in it, in order.
        is_layer: it is one of identical layers.
    """

    path: str
    name: str
    value: float
    parts: tuple["Area", ...] = ()
    is_layer: bool = False


class Cell(Struct, frozen=True):
    """A module with its rectangle; ``title`` is the part of it for its name."""

    area: Area
    rect: Rect
    depth: int
    title: Rect | None = None
    cells: tuple["Cell", ...] = ()

    def all_cells(self) -> Iterator["Cell"]:
        """Yield this cell and all in it, from back to front."""
        yield self
        for cell in self.cells:
            yield from cell.all_cells()


def areas_of(
    architecture: Architecture, kind: AreaKind, run: ActivationRun | None = None, path: str = ""
) -> Area:
    """Return the sizes of a module and all modules in it.

    What a module has in addition to its children is a part without a name. Memory is that of the
    weights, each in its own dtype.

    Args:
        architecture: the model.
        kind: what is measured.
        run: the run whose multiply-adds count; without one those of the formulas.
        path: the module.
    """
    sizes = _sizes(architecture, kind, run)
    nodes = {node.path: node for node in architecture.modules}

    def area(node: ModuleNode) -> Area:
        parts = [area(child) for child in architecture.children(node.path)]
        held = sum(part.value for part in parts)
        value = max(sizes.get(node.path, held), held)
        if parts and value - held > 1e-6 * value:
            parts.append(Area(node.path, "", value - held))
        parts = [part for part in parts if part.value > 0]
        name = node.name or node.class_name
        return Area(node.path, name, value, tuple(parts), node.repeat is not None)

    return area(nodes[path])


def _sizes(
    architecture: Architecture, kind: AreaKind, run: ActivationRun | None
) -> Mapping[str, float]:
    if kind == "macs" and run is not None:
        return {each.path: float(each.macs) for each in run.modules if each.macs is not None}
    values = bindings(architecture) if kind == "macs" else {}
    found = {}
    for node in architecture.modules:
        size: int | None = node.parameters
        if kind == "macs":
            size = _macs(architecture, node.path, values)
        elif kind == "memory":
            tensors = architecture.tensors_below(node.path)
            sizes = (t.numel * _element_size(t.dtype) for t in tensors if t.tied_to is None)
            size = sum(sizes)
        if size is not None:
            found[node.path] = float(size)
    return found


def _macs(architecture: Architecture, path: str, values: Mapping[str, int]) -> int | None:
    """Return multiply-adds by the formulas, or those of the traced graph without any."""
    if architecture.costs is not None:
        return architecture.costs.macs(path, values)
    flow = None if architecture.flows is None else architecture.flows.flow(path)
    return None if flow is None else flow.macs


def _element_size(dtype: str) -> int:
    """Return the bytes of an element."""
    if dtype.startswith("bool"):
        return 1
    digits = "".join(letter for letter in dtype.partition("_")[0] if letter.isdecimal())
    return _BYTES.get(digits, 4)


def treemap(area: Area, room: Rect, depth: int = 0) -> Cell:
    """Return the nested rectangles of a module."""
    inside, title = room, None
    if area.parts:
        top = min(_MARGIN, room.height / 8)
        if room.height >= _MIN_TITLED.height and room.width >= _MIN_TITLED.width:
            top = _TITLE
            title = Rect(room.x + _MARGIN, room.y, room.width - 2 * _MARGIN, _TITLE)
        side = min(_MARGIN, room.width / 8, room.height / 8)
        inside = Rect(room.x + side, room.y + top, room.width - 2 * side, room.height - top - side)
    parts = [part for part in area.parts if part.value > 0]
    if not parts or min(inside.width, inside.height) < _MIN_SIDE:
        return Cell(area, room, depth, title)
    is_stack = len(parts) > 1 and all(part.is_layer for part in parts)
    place = side_by_side if is_stack else squarified
    rects = place([part.value for part in parts], inside)
    cells = tuple(
        treemap(part, _shrunk(rect), depth + 1) for part, rect in zip(parts, rects, strict=True)
    )
    return Cell(area, room, depth, title, cells)


def squarified(values: Sequence[float], room: Rect) -> list[Rect]:
    """Return rectangles that fill a room, with areas proportional to values, in their order.

    By the algorithm of Bruls, Huizing and van Wijk: the largest values come first, and a row along
    the shorter side takes values while the largest aspect ratio in it does not increase.
    """
    total = sum(values)
    if total <= 0 or room.width <= 0 or room.height <= 0:
        return [Rect(room.x, room.y, 0.0, 0.0) for _ in values]
    areas = [value * (room.width * room.height / total) for value in values]
    found: dict[int, Rect] = {}
    left, row = room, dict[int, float]()
    for key in sorted(range(len(values)), key=lambda key: -values[key]):
        short = min(left.width, left.height)
        longer = [*row.values(), areas[key]]
        if row and _worst_ratio(longer, short) > _worst_ratio([*row.values()], short):
            left = _add_row(row, left, found)
            row = {}
        row[key] = areas[key]
    _add_row(row, left, found)
    return [found[key] for key in range(len(values))]


def _worst_ratio(areas: Sequence[float], short: float) -> float:
    """Return the largest aspect ratio in a row of areas along a side."""
    total = sum(areas)
    if total <= 0 or short <= 0 or min(areas) <= 0:
        return inf
    square = short * short
    return max(square * max(areas) / (total * total), total * total / (square * min(areas)))


def _add_row(areas: Mapping[int, float], left: Rect, found: dict[int, Rect]) -> Rect:
    """Add a row along the shorter side of the remaining rectangle, and return what remains."""
    is_wide = left.width >= left.height
    rest = left if is_wide else _transposed(left)
    total = sum(areas.values())
    # The quotient may be too large by rounding.
    width = min(total / rest.height, rest.width) if rest.height > 0 else 0.0
    y = rest.y
    for key, area in areas.items():
        height = rest.height * area / total if total > 0 else 0.0
        cell = Rect(rest.x, y, width, height)
        found[key] = cell if is_wide else _transposed(cell)
        y += height
    rest = Rect(rest.x + width, rest.y, max(rest.width - width, 0.0), rest.height)
    return rest if is_wide else _transposed(rest)


def _transposed(rect: Rect) -> Rect:
    return Rect(rect.y, rect.x, rect.height, rect.width)


def side_by_side(values: Sequence[float], room: Rect) -> list[Rect]:
    """Return rectangles in rows from left to right, with areas proportional to values."""
    count, total = len(values), sum(values)
    if not count or total <= 0:
        return [Rect(room.x, room.y, 0.0, 0.0) for _ in values]

    def ratio(rows: int) -> float:
        width, height = room.width / ceil(count / rows), room.height / rows
        return inf if min(width, height) <= 0 else max(width / height, height / width)

    rows = min(range(1, count + 1), key=ratio)
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


def _shrunk(rect: Rect) -> Rect:
    """Return a rectangle with a gap to its neighbours, unless it is too thin."""
    x, y = min(_GAP, rect.width / 4) / 2, min(_GAP, rect.height / 4) / 2
    return Rect(rect.x + x, rect.y + y, rect.width - 2 * x, rect.height - 2 * y)


def cell_at(cell: Cell, x: float, y: float) -> Cell | None:
    """Return the innermost cell at a point."""
    rect = cell.rect
    if not (rect.x <= x <= rect.right and rect.y <= y <= rect.bottom):
        return None
    inner = (cell_at(each, x, y) for each in cell.cells)
    return next((found for found in inner if found is not None), cell)


def next_cell(whole: Cell, here: Cell, way: Direction) -> Cell | None:
    """Return the closest cell of the same depth in a direction, or else the closest leaf."""
    x, y = here.rect.middle

    def distance(cell: Cell) -> float:
        a, b = cell.rect.middle
        along, aside = abs(a - x), abs(b - y)
        if way in ("up", "down"):
            along, aside = aside, along
        return along + 2 * aside

    def is_ahead(cell: Cell) -> bool:
        match way:
            case "left":
                return cell.rect.right <= here.rect.x + 1
            case "right":
                return cell.rect.x >= here.rect.right - 1
            case "up":
                return cell.rect.bottom <= here.rect.y + 1
            case "down":
                return cell.rect.y >= here.rect.bottom - 1

    cells = [each for each in whole.all_cells() if each is not whole and each.area.name]
    ahead = [each for each in cells if is_ahead(each)]
    same = [each for each in ahead if each.depth == here.depth]
    leaves = [each for each in ahead if not each.cells]
    return min(same or leaves, key=distance, default=None)
