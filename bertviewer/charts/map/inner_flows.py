"""The flow inside of a group, with what comes into it and what leaves it."""

from collections.abc import Iterator

from msgspec.structs import replace

from bertviewer.charts.map.attention_steps import attention_steps
from bertviewer.core.schema.flow import Edge, Flow, Node

_OUTPUT = "output"


def inner_flow(around: Flow, group: Node) -> Flow | None:
    """Return what goes on in a group, ``None`` if that is no more than the group itself.

    Args:
        around: the flow that the group is in.
        group: one of its nodes.
    """
    if not group.nodes:
        return None
    steps = attention_steps(around, group)
    if steps is not None:
        return steps
    if len(group.nodes) < 2:
        return None
    inside = {node.id for node in group.nodes}
    entries = [edge for edge in around.edges if edge.target == group.id]
    edges = [*group.edges]
    for node in group.nodes:
        edges += _entering(node, entries, group)
    outer = {node.id: node for node in around.nodes}
    used = dict.fromkeys(edge.source for edge in edges if edge.source not in inside)
    inputs = [_as_input(outer[key], entries) for key in used if key in outer]
    edges = [edge for edge in edges if edge.source in inside or edge.source in outer]
    giving = {edge.source for edge in group.edges}
    last = [node for node in group.nodes if node.id not in giving]
    results = [_as_output(node, number, len(last)) for number, node in enumerate(last)]
    edges += [
        Edge(node.id, result.id, node.shape, node.symbolic_shape)
        for node, result in zip(last, results, strict=True)
    ]
    name = group.class_name or group.operation or group.name
    return Flow(group.path or around.path, name, (*inputs, *group.nodes, *results), tuple(edges))


def _entering(node: Node, entries: list[Edge], group: Node) -> Iterator[Edge]:
    """Yield what leads into a node of a group from outside of it."""
    named = [each.node for each in node.operands if each.node]
    is_first = not any(edge.target == node.id for edge in group.edges)
    for edge in entries:
        if edge.source in named or (is_first and not node.operands and edge.role != "residual"):
            yield replace(edge, target=node.id)


def _as_input(node: Node, entries: list[Edge]) -> Node:
    edge = next((each for each in entries if each.source == node.id), None)
    shape = node.shape if edge is None else edge.shape
    letters = node.symbolic_shape if edge is None else edge.symbolic_shape
    is_aside = node.kind in ("constant", "parameter")
    return replace(
        node,
        kind=node.kind if is_aside else "input",
        operation=node.operation if is_aside else None,
        shape=shape,
        symbolic_shape=letters,
        nodes=None,
        edges=(),
        repeat=None,
        macs=0,
    )


def _as_output(node: Node, number: int, count: int) -> Node:
    name = _OUTPUT if count == 1 else f"{_OUTPUT} {number}"
    return Node(
        f"{node.id} {_OUTPUT}", "output", name, shape=node.shape, symbolic_shape=node.symbolic_shape
    )
