"""A flow's nodes in columns: what is right of another comes after it.

An edge that passes columns has a place in each of them, so that nothing else can stand there.


In which column each node of a flow stands: what is right of another comes after it.
"""

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from bertviewer.charts.graph.paths import (
    common_path_nodes,
    depths,
    main_path,
    reached,
    topological_order,
)
from bertviewer.core.schema.flow import Edge, Node

PASSING = 8.0
"""Half of the room that a line needs which passes a column."""


class Extent(Struct, frozen=True):
    """The room that a node takes: ``above`` and ``below`` from where its line meets it.

    ``text`` is how wide the text above an input or an output is, which other columns may be under.
    """

    width: float
    above: float
    below: float
    text: float = 0.0


class Item(Struct, frozen=True):
    """What stands in a column: a node, or an edge that passes.

    Attributes:
        number: its own.
        column: counted from the left.
        key: the node's id, empty for an edge.
        room: what it takes.
    """

    number: int
    column: int
    key: str
    room: Extent


class Skeleton(Struct, frozen=True):
    """Items and how they hang together.

    Attributes:
        items: by number.
        chains: of each edge the items that it goes along, its two nodes included.
        edges: in the same order.
        spine: the nodes of the main line.
    """

    items: tuple[Item, ...]
    chains: tuple[tuple[int, ...], ...]
    edges: tuple[Edge, ...]
    spine: tuple[str, ...]


def skeleton_of(
    nodes: Sequence[Node], edges: Sequence[Edge], rooms: Mapping[str, Extent]
) -> Skeleton:
    """Return nodes and edges in columns.

    Raises:
        CycleError: they go in a circle.
    """
    spine = main_path(nodes, edges)
    columns = columns_of(nodes, edges, spine, {key: room.width for key, room in rooms.items()})
    numbers = {node.id: number for number, node in enumerate(nodes)}
    items = [
        Item(number, columns[node.id], node.id, rooms[node.id]) for number, node in enumerate(nodes)
    ]
    chains = []
    for edge in edges:
        chain = [numbers[edge.source]]
        for column in range(columns[edge.source] + 1, columns[edge.target]):
            chain.append(len(items))
            items.append(Item(len(items), column, "", Extent(0, PASSING, PASSING)))
        chains.append((*chain, numbers[edge.target]))
    return Skeleton(tuple(items), tuple(chains), tuple(edges), spine)


_WIDE = 120.0
"""A node as wide as that leaves much empty where all others in its column are narrow."""


def columns_of(
    nodes: Sequence[Node], edges: Sequence[Edge], spine: Sequence[str], widths: Mapping[str, float]
) -> dict[str, int]:
    """Return each node's column: as early as it can, or as late if it starts by itself.

    Raises:
        CycleError: the flow goes in a circle.
    """
    by_key = {node.id: node for node in nodes}
    order = topological_order(by_key, edges)
    bound = [*edges, *_after_stations(order, edges, spine, by_key)]
    columns = depths(topological_order(order, bound), bound)
    out: dict[str, list[str]] = {}
    for edge in edges:
        out.setdefault(edge.source, []).append(edge.target)
    early = reached(spine[:1], edges)
    if spine:
        columns[spine[-1]] = max(columns.values())
    for key in reversed(order):
        if key not in early and key in out:
            columns[key] = min(columns[target] for target in out[key]) - 1
    columns |= _side_by_side(edges, columns, by_key)
    return columns | _where_wide(order, edges, columns, widths)


def _after_stations(
    order: Sequence[str], edges: Sequence[Edge], spine: Sequence[str], nodes: Mapping[str, Node]
) -> Iterator[Edge]:
    """Yield edges that keep what starts by itself behind the last station before its readers.

    Beside a station it would look as if data could pass that by. What is only added starts at the
    left, with the rest of the sum.
    """
    if not spine:
        return
    early = reached(spine[:1], edges)
    depth = depths(order, edges)
    fixed = common_path_nodes(spine[0], spine[-1], order, edges)[1:]
    targets = {edge.target for edge in edges}
    for start in order:
        if start in early or start in targets:
            continue
        read = reached([start], edges) & early
        if all(nodes[key].operation in ("add", "residual") for key in _first(read, edges, early)):
            continue
        before = [key for key in fixed if all(depth[key] < depth[each] for each in read)]
        if before:
            yield Edge(before[-1], start)


def _first(read: set[str], edges: Sequence[Edge], early: set[str]) -> set[str]:
    """Return those of the nodes that read something which does not come along the main line."""
    return {edge.target for edge in edges if edge.target in read and edge.source not in early}


def _side_by_side(
    edges: Sequence[Edge], columns: Mapping[str, int], nodes: Mapping[str, Node]
) -> dict[str, int]:
    """Return the columns of layers that give queries, keys and values: they stand in one."""
    readers: dict[str, set[str]] = {}
    rows: dict[str, dict[str, None]] = {}
    for edge in edges:
        readers.setdefault(edge.source, set()).add(edge.target)
        if edge.role in ("query", "key", "value"):
            rows.setdefault(edge.target, {})[edge.source] = None
    return {
        key: max(columns[each] for each in row)
        for row in rows.values()
        if all(nodes[each].operation == "linear" and len(readers[each]) == 1 for each in row)
        for key in row
    }


def _where_wide(
    order: Sequence[str],
    edges: Sequence[Edge],
    columns: Mapping[str, int],
    widths: Mapping[str, float],
) -> dict[str, int]:
    """Return better columns of wide nodes that may stand in several: beside others as wide."""
    into: dict[str, list[int]] = {}
    out: dict[str, list[int]] = {}
    for edge in edges:
        into.setdefault(edge.target, []).append(columns[edge.source])
        out.setdefault(edge.source, []).append(columns[edge.target])
    loose = [
        key
        for key in order
        if widths[key] >= _WIDE
        and key in into
        and key in out
        and min(out[key]) - max(into[key]) > 2
    ]
    known: dict[int, float] = {}
    for key in order:
        if key not in loose:
            known[columns[key]] = max(known.get(columns[key], 0.0), widths[key])
    beside = {edge.target for edge in edges if edge.source in loose}
    found = {}
    for key in loose:
        # Who follows one that moves stays: its place hangs on that one's.
        if key not in beside:
            places = range(max(into[key]) + 1, min(out[key]))
            wide = widths[key]
            missing = {place: max(0.0, wide - known.get(place, 0.0)) for place in places}
            found[key] = min(places, key=missing.__getitem__)
    return found
