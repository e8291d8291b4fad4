"""How much room a drawing takes without its title, and where another one fits into a node."""

from bertviewer.charts.graph.drawing import Drawing, Placed, Rect
from bertviewer.charts.graph.glyphs import CARD

_AROUND = 9.0
_INSET = 0.05


def bounds_of(drawing: Drawing) -> Rect:
    """Return the rectangle of all that is drawn but the title, with a little room around it."""
    xs = [x for line in drawing.lines for x, _ in line.points]
    ys = [y for line in drawing.lines for _, y in line.points]
    for placed in drawing.nodes:
        xs += (placed.rect.x, placed.rect.right)
        ys += (placed.rect.y, placed.rect.bottom)
        ys += (label.y - 8 for label in placed.labels)
    for label in drawing.labels:
        xs.append(label.x)
        ys.append(label.y - 8)
    if not xs or not ys:
        return Rect(0, 0, drawing.width, drawing.height)
    left, top = min(xs) - _AROUND, min(ys) - _AROUND
    return Rect(left, top, max(xs) + _AROUND - left, max(ys) + _AROUND - top)


def box_of(placed: Placed) -> Rect:
    """Return the rectangle in which what is inside of a node is drawn."""
    rect = placed.rect
    if placed.form == "deck":
        out = CARD * (placed.copies - 1)
        rect = Rect(rect.x, rect.y + out, rect.width - out, rect.height - out)
    return rect


def room_in(placed: Placed) -> Rect:
    """Return that rectangle with a margin."""
    rect = box_of(placed)
    margin = _INSET * min(rect.width, rect.height)
    return Rect(rect.x + margin, rect.y + margin, rect.width - 2 * margin, rect.height - 2 * margin)
