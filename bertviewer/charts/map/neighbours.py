"""Keyboard navigation between nodes: along edges, and between branches."""

from collections.abc import Sequence
from typing import Literal

from bertviewer.charts.graph.drawing import Drawing, DrawnNode

Direction = Literal["left", "right", "up", "down"]


def first_node(drawing: Drawing) -> DrawnNode | None:
    """Return the first input, or else the leftmost node."""
    nodes = _nodes(drawing)
    inputs = [drawn for drawn in nodes if drawn.form == "input"]
    return min(inputs or nodes, key=lambda each: (each.rect.x, each.rect.y), default=None)


def last_node(drawing: Drawing) -> DrawnNode | None:
    """Return the first output, or else the rightmost node."""
    nodes = _nodes(drawing)
    output = next((drawn for drawn in nodes if drawn.form == "output"), None)
    return output or max(nodes, key=lambda each: (each.rect.right, each.rect.y), default=None)


def neighbour(drawing: Drawing, key: str, way: Direction) -> DrawnNode | None:
    """Return the next node in a direction, ``None`` without any.

    To the right and to the left it is the closest successor or predecessor, if there is one, and
    otherwise the closest node there.
    """
    nodes = {drawn.node.id: drawn for drawn in reversed(_nodes(drawing))}
    here = nodes.get(key)
    if here is None:
        return None
    ends = [(line.edge.source, line.edge.target) for line in drawing.lines]
    keys = {
        "right": [target for source, target in ends if source == key],
        "left": [source for source, target in ends if target == key],
    }.get(way, [])
    connected = [nodes[each] for each in keys if each in nodes and each != key]
    ahead = [each for each in connected if _is_ahead(here, each, way)]
    others = [each for each in nodes.values() if each is not here and _is_ahead(here, each, way)]
    return _closest(here, ahead or connected or others, way)


def _nodes(drawing: Drawing) -> list[DrawnNode]:
    return [drawn for drawn in drawing.nodes if not drawn.is_again]


def _is_ahead(here: DrawnNode, there: DrawnNode, way: Direction) -> bool:
    """Tell whether a node is in a direction from another."""
    (a, b), (c, d) = here.rect.middle, there.rect.middle
    match way:
        case "left":
            return c < a
        case "right":
            return c > a
        case "up":
            return d < b - 1
        case "down":
            return d > b + 1


def _closest(here: DrawnNode, others: Sequence[DrawnNode], way: Direction) -> DrawnNode | None:
    a, b = here.rect.middle

    def distance(other: DrawnNode) -> float:
        c, d = other.rect.middle
        along, aside = abs(c - a), abs(d - b)
        if way in ("up", "down"):
            along, aside = aside, along
        return along + 3 * aside

    return min(others, key=distance, default=None)
