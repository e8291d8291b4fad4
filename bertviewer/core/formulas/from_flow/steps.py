"""A flow as steps, each with what it is carried out on, in an order in which they can be done."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from bertviewer.core.architecture.flow import Edge, Flow, Node
from bertviewer.core.architecture.operand import PARTS, Operand
from bertviewer.core.frozen import frozen

MANY = 25
"""A module of more steps is told by its children, closed."""

_GIVEN = ("input", "constant", "parameter")


@frozen
class Step:
    """One node of a flow that does something.

    Attributes:
        node: the node.
        operands: what it is carried out on, in the order of torch's arguments where that is told,
            else in that of the edges.
        roles: the operand of each role that edges have.
    """

    node: Node
    operands: tuple[Operand, ...]
    roles: Mapping[str, Operand]

    @property
    def tensors(self) -> tuple[Operand, ...]:
        """The operands that other nodes give."""
        return tuple(each for each in self.operands if each.node)


@frozen
class Steps:
    """A flow in order: what is given, what is done, and what comes out of it.

    Attributes:
        given: inputs, parameters and what follows from masks and positions alone, by id.
        steps: what is done.
        results: what the module gives, each with the node of the output.
    """

    given: Mapping[str, Node]
    steps: tuple[Step, ...]
    results: tuple[tuple[Node, Operand], ...]


def steps_of(flow: Flow) -> Steps:
    """Return a flow's steps."""
    return _of(flow.nodes, flow.edges)


def closed_steps_of(flow: Flow) -> Steps | None:
    """Return a flow's steps with its children closed; ``None`` where that goes round."""
    closed = _closed(flow)
    return None if closed is None else _of(*closed)


def inner_steps(node: Node) -> tuple[Step, ...]:
    """Return the steps within a group."""
    return _of(node.nodes or (), node.edges).steps


def _of(nodes: Sequence[Node], edges: Sequence[Edge]) -> Steps:
    into: dict[str, list[Edge]] = {}
    for edge in edges:
        into.setdefault(edge.target, []).append(edge)
    done = [
        _step(node, into.get(node.id, ())) for node in nodes if node.kind not in (*_GIVEN, "output")
    ]
    results = tuple(
        (node, _operand(edge))
        for node in nodes
        if node.kind == "output"
        for edge in into.get(node.id, ())
    )
    read = {o.node for step in done for o in (*step.operands, *step.roles.values())}
    read |= {operand.node for _, operand in results}
    given = {node.id: node for node in nodes if node.kind in _GIVEN and node.id in read}
    return Steps(given, tuple(_ordered(done)), results)


def _step(node: Node, edges: Sequence[Edge]) -> Step:
    roles = {edge.role: _operand(edge) for edge in reversed(edges) if edge.role is not None}
    if node.operation == "residual" and node.details.get("function") == "sub":
        node = replace(node, operation="sub")
    is_group = node.kind == "group"
    operands = node.operands if node.operands and not is_group else ()
    operands = operands or tuple(_operand(edge) for edge in edges)
    return Step(node, operands, roles)


def _operand(edge: Edge) -> Operand:
    return Operand(edge.source, tuple(each for each in edge.movement if each.startswith(PARTS)))


def _ordered(steps: Sequence[Step]) -> list[Step]:
    """Return the steps, each after those that it reads, else in the order that they come in."""
    waiting, known = list(steps), {step.node.id for step in steps}
    ordered: list[Step] = []
    done: set[str] = set()
    while waiting:
        ready = next(
            (it for it in waiting if {o.node for o in it.tensors} & known <= done),
            waiting[0],  # a circle: as the code has it
        )
        waiting.remove(ready)
        ordered.append(ready)
        done.add(ready.node.id)
    return ordered


def _closed(flow: Flow) -> tuple[tuple[Node, ...], tuple[Edge, ...]] | None:
    """Return nodes and edges with each child as one node; ``None`` where that goes round."""
    members: dict[str, list[Node]] = {}
    for node in flow.nodes:
        if (child := _child_of(node, flow.path)) is not None:
            members.setdefault(child, []).append(node)
    closed = {
        node.id: Node(held[0].id, "module", path.rpartition(".")[2], path, shape=held[-1].shape)
        for path, held in members.items()
        if len(held) > 1
        for node in held
    }
    nodes: dict[str, Node] = {}
    for node in flow.nodes:
        one = closed.get(node.id) or _renamed(node, closed)
        nodes.setdefault(one.id, one)
    edges: dict[tuple[str, str, str | None], Edge] = {}
    for edge in flow.edges:
        source, target = (
            closed[end].id if end in closed else end for end in (edge.source, edge.target)
        )
        if source != target:
            role = None if edge.target in closed else edge.role
            moved = replace(edge, source=source, target=target, role=role)
            edges.setdefault((source, target, role), moved)
    found = tuple(nodes.values()), tuple(edges.values())
    return None if not closed or _goes_round(*found) else found


def _child_of(node: Node, path: str) -> str | None:
    """Return the child of the module at ``path`` that a node belongs to, ``None`` for its own."""
    if node.kind not in ("module", "group", "operation") or not node.path or node.repeat:
        return None
    start = f"{path}." if path else ""
    if node.path == path or not node.path.startswith(start):
        return None
    return start + node.path.removeprefix(start).split(".")[0]


def _renamed(node: Node, closed: Mapping[str, Node]) -> Node:
    """Return a node whose operands are given by the closed children."""
    operands = tuple(
        replace(each, node=closed[each.node].id) if each.node in closed else each
        for each in node.operands
    )
    return replace(node, operands=operands)


def _goes_round(nodes: Sequence[Node], edges: Sequence[Edge]) -> bool:
    left = {node.id for node in nodes}
    sources: dict[str, set[str]] = {}
    for edge in edges:
        sources.setdefault(edge.target, set()).add(edge.source)
    while left:
        free = {each for each in left if not sources.get(each, set()) & left}
        if not free:
            return True
        left -= free
    return False
