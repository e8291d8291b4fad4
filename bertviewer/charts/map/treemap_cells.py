"""Finds what of a treemap is where, and what is next to it."""

from bertviewer.charts.map.neighbours import Way
from bertviewer.charts.treemap import Cell


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


def next_cell(whole: Cell, here: Cell, way: Way) -> Cell | None:
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
