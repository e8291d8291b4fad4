"""The main line of a flow: what a person would follow with a finger."""

from collections.abc import Sequence

from bertviewer.charts.flow.hangers import SIDE_ROLES
from bertviewer.charts.flow.reaching import depths, in_order
from bertviewer.core.architecture.flow import Edge, Node

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
