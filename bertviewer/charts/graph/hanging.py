"""Where that stands which hangs below a node or between two."""

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from bertviewer.charts.graph.drawing import Line, Placed, Point, Weight
from bertviewer.charts.graph.glyphs import Glyph
from bertviewer.charts.graph.hangers import Between, Hanger
from bertviewer.charts.graph.ways import simplified
from bertviewer.core.schema.flow import Edge

HANGER_GAP, HANGERS_APART = 12.0, 10.0


def hanging_size(hangers: Sequence[Hanger], pills: Mapping[str, Glyph]) -> tuple[float, float]:
    """Return how wide and how deep that is which hangs below a node."""
    if not hangers:
        return 0.0, 0.0
    sizes = [_hanger_size(hanger, pills) for hanger in hangers]
    width = sum(size[0] for size in sizes) + HANGERS_APART * (len(sizes) - 1)
    return width, max(size[1] for size in sizes)


def _hanger_size(hanger: Hanger, pills: Mapping[str, Glyph]) -> tuple[float, float]:
    rect = pills[hanger.node.id].placed.rect
    width, depth = hanging_size(hanger.hangers, pills)
    return max(rect.width, width), HANGER_GAP + rect.height + depth


def hung(
    below: Mapping[str, tuple[Hanger, ...]],
    pairs: Sequence[Between],
    pills: Mapping[str, Glyph],
    placed: Mapping[str, Placed],
) -> tuple[list[Placed], list[Line]]:
    """Return what hangs below nodes and between them, with its lines."""
    nodes: list[Placed] = []
    lines: list[Line] = []

    def hang(hangers: Sequence[Hanger], above: Placed) -> None:
        width, _ = hanging_size(hangers, pills)
        x = above.rect.x + above.rect.width / 2 - width / 2
        if above.form == "input":
            x = above.rect.x
        for hanger in hangers:
            room, _ = _hanger_size(hanger, pills)
            glyph = pills[hanger.node.id]
            left = x + (room - glyph.placed.rect.width) / 2
            pill = glyph.placed.moved(left, above.rect.bottom + HANGER_GAP)
            pill = replace(pill, is_again=hanger.is_again)
            nodes.append(pill)
            lines.extend(_thread(edge, above, pill) for edge in hanger.edges)
            hang(hanger.hangers, pill)
            x += room + HANGERS_APART

    for key, hangers in below.items():
        if key in placed:
            hang(hangers, placed[key])
    for pair in pairs:
        upper, lower = placed[pair.upper], placed[pair.lower]
        glyph = pills[pair.hanger.node.id].placed
        x = upper.rect.x + (upper.rect.width - glyph.rect.width) / 2
        y = (upper.rect.bottom + lower.rect.y - glyph.rect.height) / 2
        pill = glyph.moved(x, y)
        middle = x + glyph.rect.width / 2
        nodes.append(pill)
        lines += [_thread(edge, upper, pill) for edge in pair.hanger.edges]
        lines += [
            Line(edge, ((middle, pill.rect.bottom), (middle, lower.rect.y)), "side")
            for edge in pair.lower_edges
        ]
    return nodes, lines


def _thread(edge: Edge, above: Placed, below: Placed) -> Line:
    """Return the short line between a node and what hangs on it."""
    middle = below.rect.x + below.rect.width / 2
    x = min(max(middle, above.rect.x + 6), above.rect.right - 6)
    x = middle if above.rect.x <= middle <= above.rect.right else x
    y, low = above.rect.bottom, below.rect.y
    half = (y + low) / 2
    points: tuple[Point, ...] = ((x, y), (x, half), (middle, half), (middle, low))
    if edge.target == above.node.id:
        points = tuple(reversed(points))
    weight: Weight = "side" if below.form == "dashed pill" else "data"
    return Line(edge, simplified(points), weight, edge.target == below.node.id)
