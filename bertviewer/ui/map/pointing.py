"""What of the map is at a place."""

from collections.abc import Sequence

from bertviewer.charts.flow.drawing import Placed
from bertviewer.charts.map.part import Part
from bertviewer.core.frozen import frozen
from bertviewer.ui.map.sheets import Sheets
from bertviewer.ui.map.sight import Level

_AROUND = 4.0
"""So many pixels beside a small sign are still the sign."""
_SEEN = 0.5


@frozen
class Hit:
    """A node that was pointed at; ``tile`` is the head whose picture it was, if it was one."""

    part: Part
    placed: Placed
    tile: int | None = None


def hit(levels: Sequence[Level], sheets: Sheets, x: float, y: float) -> Hit | None:
    """Return the innermost node at a place that is seen there, ``None`` if there is none."""
    for level in reversed(levels):
        if level.opacity < _SEEN:
            continue
        box = level.box
        if box is not None and not (box.x <= x <= box.right and box.y <= y <= box.bottom):
            continue
        drawing = sheets.drawing(level.part)
        a, b = level.camera.drawn(x, y)
        around = _AROUND / level.camera.scale
        for placed in reversed(() if drawing is None else drawing.nodes):
            rect = placed.rect
            room = around if min(rect.width, rect.height) < 24 else 0.0
            if rect.x - room <= a <= rect.right + room and rect.y - room <= b <= rect.bottom + room:
                return Hit(level.part, placed, _tile(placed, a, b))
    return None


def _tile(placed: Placed, x: float, y: float) -> int | None:
    for number, tile in enumerate(placed.tiles):
        if tile.x <= x <= tile.right and tile.y <= y <= tile.bottom:
            return number
    return None
