"""Layered graph: each node in a column to the right of its predecessors.

An edge that spans several columns has a placeholder in each, so that no node is placed on it.
"""

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from bertviewer.charts.graph.paths import (
    common_path_nodes,
    depths,
    main_path,
    reached,
    successors,
    topological_order,
)
from bertviewer.core.schema.flow import Edge, Node

_WIDE = 120.0
"""Width from which a node should share a column with nodes as wide."""


class Extent(Struct, frozen=True):
    """Size of a node: ``above`` and ``below`` are measured from where its line meets it.

    ``text`` is the width of the label above an input or output, which may cover other columns.
    """

    width: float
    above: float
    below: float
    text: float = 0.0


_PASSING = Extent(0, 8.0, 8.0)


class Item(Struct, frozen=True):
    """A node in its column, or the placeholder of an edge, whose ``key`` is empty."""

    number: int
    column: int
    key: str
    extent: Extent


class LayeredGraph(Struct, frozen=True):
    """Nodes and edges in columns.

    Attributes:
        items: nodes and placeholders, by number.
        chains: for each edge the numbers of its source, placeholders and target.
        edges: in the same order.
        main_path: the ids of the nodes on the main path.
    """

    items: tuple[Item, ...]
    chains: tuple[tuple[int, ...], ...]
    edges: tuple[Edge, ...]
    main_path: tuple[str, ...]

    @property
    def columns(self) -> dict[int, list[Item]]:
        """The items of each column, from left to right."""
        found: dict[int, list[Item]] = {}
        for item in self.items:
            found.setdefault(item.column, []).append(item)
        return {column: found[column] for column in sorted(found)}


def layered_graph(
    nodes: Sequence[Node], edges: Sequence[Edge], extents: Mapping[str, Extent]
) -> LayeredGraph:
    """Assign columns to nodes.

    Raises:
        graphlib.CycleError: the graph has a cycle.
    """
    order = topological_order([node.id for node in nodes], edges)
    path = main_path(nodes, edges, order)
    columns = _columns(nodes, edges, path, order, extents)
    numbers = {node.id: number for number, node in enumerate(nodes)}
    items = [Item(numbers[key], columns[key], key, extents[key]) for key in numbers]
    chains = []
    for edge in edges:
        chain = [numbers[edge.source]]
        for column in range(columns[edge.source] + 1, columns[edge.target]):
            chain.append(len(items))
            items.append(Item(len(items), column, "", _PASSING))
        chains.append((*chain, numbers[edge.target]))
    return LayeredGraph(tuple(items), tuple(chains), tuple(edges), path)


def _columns(
    nodes: Sequence[Node],
    edges: Sequence[Edge],
    path: Sequence[str],
    order: Sequence[str],
    extents: Mapping[str, Extent],
) -> dict[str, int]:
    """Return each node's column: the leftmost, or the rightmost if no input leads to it."""
    by_key = {node.id: node for node in nodes}
    bound = [*edges, *_bounds_of_late_starts(order, edges, path, by_key)]
    columns = depths(topological_order(order, bound), bound)
    out = successors(edges)
    early = reached(path[:1], edges)
    if path:
        columns[path[-1]] = max(columns.values())
    for key in reversed(order):
        if key not in early and key in out:
            columns[key] = min(columns[target] for target in out[key]) - 1
    columns |= _aligned_projections(edges, columns, by_key)
    return columns | _columns_of_wide_nodes(order, edges, columns, extents)


def _bounds_of_late_starts(
    order: Sequence[str], edges: Sequence[Edge], path: Sequence[str], nodes: Mapping[str, Node]
) -> Iterator[Edge]:
    """Yield edges that keep further inputs behind the last common node before their readers.

    Above such a node they would look like a way around it. What is only added stays at the left.
    """
    if not path:
        return
    early = reached(path[:1], edges)
    depth = depths(order, edges)
    common = common_path_nodes(path[0], path[-1], order, edges)[1:]
    targets = {edge.target for edge in edges}
    for start in order:
        if start in early or start in targets:
            continue
        readers = reached([start], edges) & early
        first = {e.target for e in edges if e.target in readers and e.source not in early}
        if all(nodes[key].operation in ("add", "residual") for key in first):
            continue
        before = [key for key in common if all(depth[key] < depth[each] for each in readers)]
        if before:
            yield Edge(before[-1], start)


def _aligned_projections(
    edges: Sequence[Edge], columns: Mapping[str, int], nodes: Mapping[str, Node]
) -> dict[str, int]:
    """Return one column for the linear layers of queries, keys and values."""
    out = successors(edges)
    rows: dict[str, dict[str, None]] = {}
    for edge in edges:
        if edge.role in ("query", "key", "value"):
            rows.setdefault(edge.target, {})[edge.source] = None
    return {
        key: max(columns[each] for each in row)
        for row in rows.values()
        if all(nodes[each].operation == "linear" and len({*out[each]}) == 1 for each in row)
        for key in row
    }


def _columns_of_wide_nodes(
    order: Sequence[str],
    edges: Sequence[Edge],
    columns: Mapping[str, int],
    extents: Mapping[str, Extent],
) -> dict[str, int]:
    """Return columns of wide nodes with a choice of several: those with other wide nodes."""
    into: dict[str, list[int]] = {}
    out: dict[str, list[int]] = {}
    for edge in edges:
        into.setdefault(edge.target, []).append(columns[edge.source])
        out.setdefault(edge.source, []).append(columns[edge.target])
    widths = {key: extents[key].width for key in order}
    choices = {
        key: range(max(into[key]) + 1, min(out[key]))
        for key in order
        if widths[key] >= _WIDE and key in into and key in out
    }
    loose = {key: choice for key, choice in choices.items() if len(choice) > 1}
    known: dict[int, float] = {}
    for key in order:
        if key not in loose:
            known[columns[key]] = max(known.get(columns[key], 0.0), widths[key])
    # A node behind one that moves stays: its choice depends on that.
    fixed = {edge.target for edge in edges if edge.source in loose}
    found = {}
    for key, choice in loose.items():
        if key not in fixed:
            missing = {each: max(0.0, widths[key] - known.get(each, 0.0)) for each in choice}
            found[key] = min(choice, key=missing.__getitem__)
    return found
