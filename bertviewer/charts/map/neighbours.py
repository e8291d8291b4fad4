"""From one node to the next, as arrow keys go: along the flow, and between branches."""

from collections.abc import Iterable, Sequence
from typing import Literal

from bertviewer.charts.graph.drawing import Drawing, DrawnNode, Point

Direction = Literal["left", "right", "up", "down"]


def first_node(drawing: Drawing) -> DrawnNode | None:
    """Return the node that one begins at: the first input, or what is furthest to the left."""
    nodes = list(_nodes(drawing))
    inputs = [placed for placed in nodes if placed.form == "input"]
    return min(inputs or nodes, key=lambda each: (each.rect.x, each.rect.y), default=None)


def last_node(drawing: Drawing) -> DrawnNode | None:
    """Return the node at which all ends: the first output, or what is furthest to the right."""
    nodes = list(_nodes(drawing))
    outputs = [placed for placed in nodes if placed.form == "output"]
    if outputs:
        return outputs[0]
    return max(nodes, key=lambda each: (each.rect.right, each.rect.y), default=None)


def neighbour(drawing: Drawing, key: str, way: Direction) -> DrawnNode | None:
    """Return the node in that direction from another, ``None`` if there is none.

    To the right it is one that reads it, to the left one that it reads, as nearly as high as
    there is. Where no edge leads on, and upwards and downwards, it is the nearest one there.
    """
    nodes = {placed.node.id: placed for placed in reversed(list(_nodes(drawing)))}
    here = nodes.get(key)
    if here is None:
        return None
    if way in ("left", "right"):
        edges = [line.edge for line in drawing.lines]
        keys = (
            [edge.target for edge in edges if edge.source == key]
            if way == "right"
            else [edge.source for edge in edges if edge.target == key]
        )
        connected = [nodes[each] for each in keys if each in nodes and each != key]
        ahead = [each for each in connected if _goes(here, each, way)]
        if ahead or connected:
            return _nearest(here, ahead or connected, way)
    others = [each for each in nodes.values() if each is not here and _goes(here, each, way)]
    return _nearest(here, others, way)


def _nodes(drawing: Drawing) -> Iterable[DrawnNode]:
    return (placed for placed in drawing.nodes if not placed.is_again)


def _goes(here: DrawnNode, there: DrawnNode, way: Direction) -> bool:
    """Tell whether a node lies in that direction from another."""
    (a, b), (c, d) = _middle(here), _middle(there)
    match way:
        case "left":
            return c < a
        case "right":
            return c > a
        case "up":
            return d < b - 1
        case "down":
            return d > b + 1


def _nearest(here: DrawnNode, others: Sequence[DrawnNode], way: Direction) -> DrawnNode | None:
    a, b = _middle(here)

    def away(other: DrawnNode) -> float:
        c, d = _middle(other)
        # What lies aside counts more than what is far ahead.
        along, aside = (
            (abs(c - a), abs(d - b))
            if way in ("left", "right")
            else (
                abs(d - b),
                abs(c - a),
            )
        )
        return along + 3 * aside

    return min(others, key=away, default=None)


def _middle(placed: DrawnNode) -> Point:
    rect = placed.rect
    return rect.x + rect.width / 2, rect.y + rect.height / 2
