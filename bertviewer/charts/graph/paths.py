"""What can be reached along edges, in which order, and what cannot be passed by.

A second main line: the encoder, whose states a decoder reads, stands above it as one more.

.
"""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from bertviewer.core.schema.flow import Edge, Node

SIDE_ROLES = ("mask", "position", "bias")


class CycleError(ValueError):
    """A flow goes in a circle."""


def topological_order(keys: Iterable[str], edges: Iterable[Edge]) -> list[str]:
    """Return nodes' ids, each after all those that lead to it.

    Raises:
        CycleError: the flow goes in a circle.
    """
    waits = dict.fromkeys(keys, 0)
    out: dict[str, list[str]] = {}
    for edge in edges:
        waits[edge.target] += 1
        out.setdefault(edge.source, []).append(edge.target)
    found = [key for key, count in waits.items() if not count]
    for key in found:
        for target in out.get(key, ()):
            waits[target] -= 1
            if not waits[target]:
                found.append(target)
    if len(found) < len(waits):
        raise CycleError("the data flow has a cycle")
    return found


def depths(order: Iterable[str], edges: Iterable[Edge]) -> dict[str, int]:
    """Return how many edges the longest way to each node has."""
    out: dict[str, list[str]] = {}
    for edge in edges:
        out.setdefault(edge.source, []).append(edge.target)
    depths = dict.fromkeys(order, 0)
    for key in depths:
        for target in out.get(key, ()):
            depths[target] = max(depths[target], depths[key] + 1)
    return depths


def reached(start: Iterable[str], edges: Iterable[Edge]) -> set[str]:
    """Return the nodes that can be reached, the first ones included."""
    out: dict[str, list[str]] = {}
    for edge in edges:
        out.setdefault(edge.source, []).append(edge.target)
    waiting = list(start)
    found = set(waiting)
    while waiting:
        for target in out.get(waiting.pop(), ()):
            if target not in found:
                found.add(target)
                waiting.append(target)
    return found


def common_path_nodes(
    first: str, last: str, order: Sequence[str], edges: Iterable[Edge]
) -> list[str]:
    """Return the nodes that every way from the first to the last passes, both included.

    ``order`` has each node after all those that lead to it: a node is passed by if an edge between
    nodes on such ways begins before it and ends after it.
    """
    known = list(edges)
    back = [Edge(edge.target, edge.source) for edge in known]
    inside = reached([first], known) & reached([last], back)
    place = {key: number for number, key in enumerate(order) if key in inside}
    found, farthest = [], -1
    ends: dict[str, int] = {}
    for edge in known:
        if edge.source in place and edge.target in place:
            ends[edge.source] = max(ends.get(edge.source, -1), place[edge.target])
    for key in order:
        if key in place:
            if farthest <= place[key]:
                found.append(key)
            farthest = max(farthest, ends.get(key, -1))
    return found


_LEAST = 2
"""So many modules make a line of their own; one input or table only hangs on another line."""


class EncoderSubgraph(Struct, frozen=True):
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


def encoder_subgraph(nodes: Sequence[Node], edges: Sequence[Edge]) -> EncoderSubgraph | None:
    """Return the largest part that stands as a line of its own, ``None`` if there is none.

    Raises:
        CycleError: the flow goes in a circle.
    """
    spine = main_path(nodes, edges)
    early = reached(spine[:1], edges)
    fixed = (
        set(
            common_path_nodes(
                spine[0], spine[-1], topological_order([node.id for node in nodes], edges), edges
            )
        )
        if spine
        else set()
    )
    found: EncoderSubgraph | None = None
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
            found = EncoderSubgraph(
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


_FIRST = ("div", "sub", "matmul")
"""Operations whose first operand is what they change."""


def main_path(nodes: Sequence[Node], edges: Sequence[Edge]) -> tuple[str, ...]:
    """Return the main line, from what comes in to the first output.

    It is walked from its end: by the skip, the query, the first or the deepest operand.

    Raises:
        CycleError: the flow goes in a circle.
    """
    depth = depths(topological_order([node.id for node in nodes], edges), edges)
    if not nodes:
        return ()
    into: dict[str, list[Edge]] = {}
    for edge in edges:
        into.setdefault(edge.target, []).append(edge)
    by_key = {node.id: node for node in nodes}
    outputs = [node.id for node in nodes if node.kind == "output"]
    key = outputs[0] if outputs else max(depth, key=lambda each: depth[each])
    found = [key]
    while options := into.get(key):
        node = by_key[key]

        def worth(edge: Edge, node: Node = node) -> tuple[bool, bool, bool, int]:
            is_block = node.kind in ("module", "group") and node.operation != "residual"
            return (
                edge.role == "residual",
                edge.role == "query",
                edge.role not in SIDE_ROLES,
                0 if is_block or node.operation in _FIRST else depth[edge.source],
            )

        key = max(options, key=worth).source
        found.append(key)
    return tuple(reversed(found))
