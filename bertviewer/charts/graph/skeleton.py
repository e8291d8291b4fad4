"""A flow's nodes in columns: what is right of another comes after it.

An edge that passes columns has a place in each of them, so that nothing else can stand there.
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from bertviewer.charts.graph.columns import columns_of
from bertviewer.charts.graph.hangers import SIDE_ROLES
from bertviewer.charts.graph.reaching import depths, in_order
from bertviewer.core.schema.flow import Edge, Node

_FIRST = ("div", "sub", "matmul")
"""Operations whose first operand is what they change."""


def spine_of(nodes: Sequence[Node], edges: Sequence[Edge]) -> tuple[str, ...]:
    """Return the main line, from what comes in to the first output.

    It is walked from its end: by the skip, the query, the first or the deepest operand.

    Raises:
        CycleError: the flow goes in a circle.
    """
    depth = depths(in_order([node.id for node in nodes], edges), edges)
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


PASSING = 8.0
"""Half of the room that a line needs which passes a column."""


class Room(Struct, frozen=True):
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
    room: Room


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
    nodes: Sequence[Node], edges: Sequence[Edge], rooms: Mapping[str, Room]
) -> Skeleton:
    """Return nodes and edges in columns.

    Raises:
        CycleError: they go in a circle.
    """
    spine = spine_of(nodes, edges)
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
            items.append(Item(len(items), column, "", Room(0, PASSING, PASSING)))
        chains.append((*chain, numbers[edge.target]))
    return Skeleton(tuple(items), tuple(chains), tuple(edges), spine)
