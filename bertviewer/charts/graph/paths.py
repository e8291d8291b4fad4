"""Graph algorithms: topological order, reachable nodes, the main path, the encoder's subgraph."""

from collections.abc import Iterable, Mapping, Sequence
from graphlib import CycleError
from typing import TypeVar

from msgspec import Struct

from bertviewer.core.schema.flow import Edge, Node

Key = TypeVar("Key")

SIDE_ROLES = ("mask", "position", "bias")
"""Roles of edges that only adjust an attention."""

_CHANGES_FIRST = ("div", "sub", "matmul")
"""Operations of which the main path follows the first operand."""

_MIN_MODULES = 2
"""An encoder with fewer modules is not drawn apart."""


def successors(edges: Iterable[Edge]) -> dict[str, list[str]]:
    """Return the targets of each node's edges."""
    found: dict[str, list[str]] = {}
    for edge in edges:
        found.setdefault(edge.source, []).append(edge.target)
    return found


def topological_order(keys: Iterable[str], edges: Sequence[Edge]) -> list[str]:
    """Return node ids, each after its predecessors: Kahn's algorithm, 10 times as fast as graphlib.

    Raises:
        graphlib.CycleError: the graph has a cycle.
    """
    out = successors(edges)
    missing = dict.fromkeys(keys, 0)
    for targets in out.values():
        for target in targets:
            missing[target] += 1
    found = [key for key, count in missing.items() if not count]
    for key in found:
        for target in out.get(key, ()):
            missing[target] -= 1
            if not missing[target]:
                found.append(target)
    if len(found) < len(missing):
        raise CycleError("the data flow has a cycle")
    return found


def depths(order: Iterable[str], edges: Iterable[Edge]) -> dict[str, int]:
    """Return the number of edges of the longest path to each node; ``order`` is topological."""
    out = successors(edges)
    found = dict.fromkeys(order, 0)
    for key, depth in found.items():
        for target in out.get(key, ()):
            found[target] = max(found[target], depth + 1)
    return found


def reached(start: Iterable[str], edges: Iterable[Edge]) -> set[str]:
    """Return all reachable nodes, the first ones included."""
    out = successors(edges)
    waiting = list(start)
    found = set(waiting)
    while waiting:
        new = set(out.get(waiting.pop(), ())) - found
        found |= new
        waiting += new
    return found


def components(keys: Iterable[Key], neighbours: Mapping[Key, Iterable[Key]]) -> list[list[Key]]:
    """Return the connected components of an undirected graph, each from its first key on."""
    left = dict.fromkeys(keys)
    found = []
    for start in list(left):
        if start not in left:
            continue
        del left[start]
        component = [start]
        for key in component:
            for other in neighbours.get(key, ()):
                if other in left:
                    del left[other]
                    component.append(other)
        found.append(component)
    return found


def common_path_nodes(
    first: str, last: str, order: Sequence[str], edges: Sequence[Edge]
) -> list[str]:
    """Return the nodes on all paths from the first to the last; ``order`` is topological."""
    back = [Edge(edge.target, edge.source) for edge in edges]
    inside = reached([first], edges) & reached([last], back)
    at = {key: number for number, key in enumerate(order) if key in inside}
    out = successors(edges)
    found, farthest = [], -1
    for key, number in at.items():
        # No edge from before the node ends after it.
        if farthest <= number:
            found.append(key)
        farthest = max([farthest, *(at[target] for target in out.get(key, ()) if target in at)])
    return found


def main_path(
    nodes: Sequence[Node], edges: Sequence[Edge], order: Sequence[str]
) -> tuple[str, ...]:
    """Return the nodes of the main path, from an input to the first output.

    It is followed backwards: along the residual, the query, the first or the deepest operand.
    ``order`` is topological.
    """
    if not nodes:
        return ()
    depth = depths(order, edges)
    into: dict[str, list[Edge]] = {}
    for edge in edges:
        into.setdefault(edge.target, []).append(edge)
    by_key = {node.id: node for node in nodes}
    outputs = [node.id for node in nodes if node.kind == "output"]
    key = outputs[0] if outputs else max(depth, key=lambda each: depth[each])
    found = [key]
    while key in into:
        node = by_key[key]
        is_block = node.kind in ("module", "group") and node.operation != "residual"
        has_depth = not is_block and node.operation not in _CHANGES_FIRST

        def rank(edge: Edge, has_depth: bool = has_depth) -> tuple[bool, bool, bool, int]:
            return (
                edge.role == "residual",
                edge.role == "query",
                edge.role not in SIDE_ROLES,
                depth[edge.source] if has_depth else 0,
            )

        key = max(into[key], key=rank).source
        found.append(key)
    return tuple(reversed(found))


class EncoderSubgraph(Struct, frozen=True):
    """A graph in two: an encoder whose last node the rest reads, and the rest.

    Attributes:
        nodes, edges: of the encoder.
        end: the id of its last node.
        crossing: the edges from there to the rest.
        rest, rest_edges: everything else.
        name, rest_name: the modules of both; "" if paths do not tell them.
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
        """Ids of the encoder's nodes."""
        return frozenset(node.id for node in self.nodes)


def encoder_subgraph(nodes: Sequence[Node], edges: Sequence[Edge]) -> EncoderSubgraph | None:
    """Return the largest part with its own input and one exit, ``None`` without any.

    Raises:
        graphlib.CycleError: the graph has a cycle.
    """
    order = topological_order([node.id for node in nodes], edges)
    path = main_path(nodes, edges, order)
    if not path:
        return None
    early = reached(path[:1], edges)
    common = set(common_path_nodes(path[0], path[-1], order, edges))
    late = [node.id for node in nodes if node.id not in early]
    near: dict[str, list[str]] = {}
    for edge in edges:
        near.setdefault(edge.source, []).append(edge.target)
        near.setdefault(edge.target, []).append(edge.source)
    found: EncoderSubgraph | None = None
    for inside in map(set, components(late, near)):
        encoder = tuple(node for node in nodes if node.id in inside)
        crossing = tuple(e for e in edges if e.source in inside and e.target not in inside)
        ends = {edge.source for edge in crossing}
        if (
            sum(node.kind == "module" for node in encoder) < _MIN_MODULES
            or len(ends) != 1
            or not {edge.target for edge in crossing} <= common
            or any(e.source in ends and e.target in inside for e in edges)
            or (found is not None and len(encoder) <= len(found.nodes))
        ):
            continue
        rest = tuple(node for node in nodes if node.id not in inside)
        found = EncoderSubgraph(
            encoder,
            tuple(e for e in edges if e.source in inside and e.target in inside),
            ends.pop(),
            crossing,
            rest,
            tuple(e for e in edges if e.source not in inside and e.target not in inside),
            *_names(encoder, rest),
        )
    return found


def _names(encoder: Sequence[Node], rest: Sequence[Node]) -> tuple[str, str]:
    """Return the first path components in which most of the nodes of both differ."""
    paths, others = (
        [node.path.split(".") for node in nodes if node.path and "." in node.path]
        for nodes in (encoder, rest)
    )
    for depth in range(min(map(len, (*paths, *others)), default=0)):
        names = [path[depth] for path in paths], [path[depth] for path in others]
        if not all(names):
            break
        found, other = (max(each, key=each.count) for each in names)
        if found != other:
            return found, other
    return "", ""
