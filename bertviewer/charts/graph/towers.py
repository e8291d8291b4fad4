"""A second main line: the encoder, whose states a decoder reads, stands above it as one more."""

from collections.abc import Sequence

from msgspec import Struct

from bertviewer.charts.graph.reaching import in_order, reached, stations
from bertviewer.charts.graph.skeleton import spine_of
from bertviewer.core.schema.flow import Edge, Node

_LEAST = 2
"""So many modules make a line of their own; one input or table only hangs on another line."""


class Tower(Struct, frozen=True):
    """A flow in two: what reads its own input and ends in one node, and the rest.

    Attributes:
        nodes: of the tower.
        edges: between those.
        end: the node from which lines lead to the rest.
        crossing: those lines.
        rest: all other nodes.
        rest_edges: between those.
        name: the module that the tower is in, empty where paths do not say it.
        rest_name: of the rest.
    """

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    end: str
    crossing: tuple[Edge, ...]
    rest: tuple[Node, ...]
    rest_edges: tuple[Edge, ...]
    name: str
    rest_name: str

    @property
    def keys(self) -> frozenset[str]:
        """The ids of its nodes."""
        return frozenset(node.id for node in self.nodes)


def tower_of(nodes: Sequence[Node], edges: Sequence[Edge]) -> Tower | None:
    """Return the largest part that stands as a line of its own, ``None`` if there is none.

    Raises:
        CycleError: the flow goes in a circle.
    """
    spine = spine_of(nodes, edges)
    early = reached(spine[:1], edges)
    fixed = (
        set(stations(spine[0], spine[-1], in_order([node.id for node in nodes], edges), edges))
        if spine
        else set()
    )
    found: Tower | None = None
    for inside in _pieces([node.id for node in nodes if node.id not in early], edges):
        crossing = tuple(e for e in edges if e.source in inside and e.target not in inside)
        ends = {edge.source for edge in crossing}
        tower = tuple(node for node in nodes if node.id in inside)
        if (
            sum(node.kind == "module" for node in tower) < _LEAST
            or len(ends) != 1
            or not {edge.target for edge in crossing} <= fixed
            or any(e.source in ends and e.target in inside for e in edges)
        ):
            continue
        if found is None or len(tower) > len(found.nodes):
            rest = tuple(node for node in nodes if node.id not in inside)
            found = Tower(
                tower,
                tuple(e for e in edges if e.source in inside and e.target in inside),
                ends.pop(),
                crossing,
                rest,
                tuple(e for e in edges if e.source not in inside and e.target not in inside),
                *_names(tower, rest),
            )
    return found


def _pieces(keys: Sequence[str], edges: Sequence[Edge]) -> list[set[str]]:
    left = set(keys)
    near: dict[str, list[str]] = {}
    for edge in edges:
        if edge.source in left and edge.target in left:
            near.setdefault(edge.source, []).append(edge.target)
            near.setdefault(edge.target, []).append(edge.source)
    found = []
    for start in keys:
        if start not in left:
            continue
        left.discard(start)
        piece = [start]
        for key in piece:
            for other in near.get(key, ()):
                if other in left:
                    left.discard(other)
                    piece.append(other)
        found.append(set(piece))
    return found


def _names(tower: Sequence[Node], rest: Sequence[Node]) -> tuple[str, str]:
    """Return the modules that both are in, by the first name of paths in which most differ."""
    paths, others = (
        [node.path.split(".") for node in nodes if node.path and "." in node.path]
        for nodes in (tower, rest)
    )
    for depth in range(min(map(len, (*paths, *others)), default=0)):
        names = [path[depth] for path in paths], [path[depth] for path in others]
        if not all(names):
            break
        found, other = (max(each, key=each.count) for each in names)
        if found != other:
            return found, other
    return "", ""
