"""The data-flow graph of one module, in an order of execution, for templates to match."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from bertviewer.core.architecture.flow import Edge, Flow, Node
from bertviewer.core.architecture.operand import PARTS, Operand
from bertviewer.core.frozen import frozen

MANY = 25
"""A module of more steps is described by its children."""

_GIVEN = ("input", "constant", "parameter")


@frozen
class Step:
    """One node of the graph that computes something.

    Attributes:
        node: the node.
        operands: its operands, in the order of torch's arguments where that is known, else in
            that of the edges.
        roles: operands by the role of their edge, such as ``residual`` or ``query``.
    """

    node: Node
    operands: tuple[Operand, ...]
    roles: Mapping[str, Operand]

    @property
    def operation(self) -> str:
        """What it computes, "" for a closed module."""
        return self.node.operation or ""

    @property
    def tensors(self) -> tuple[Operand, ...]:
        """The operands that other nodes compute."""
        return tuple(each for each in self.operands if each.node)

    @property
    def inner(self) -> tuple["Step", ...]:
        """The steps within a group, and none for other nodes."""
        return _graph(self.node.nodes or (), self.node.edges).steps


@frozen(slots=False)
class ModuleGraph:
    """A data-flow graph in order of execution.

    Attributes:
        given: inputs, parameters, and constants (masks and positions), by id.
        steps: what is computed.
        results: the module's outputs, each with its output node.
    """

    given: Mapping[str, Node]
    steps: tuple[Step, ...]
    results: tuple[tuple[Node, Operand], ...]

    @cached_property
    def by_id(self) -> Mapping[str, Step]:
        """The steps by the ids of their nodes."""
        return {step.node.id: step for step in self.steps}

    @cached_property
    def inputs(self) -> tuple[Node, ...]:
        """The module's inputs that are read."""
        return tuple(node for node in self.given.values() if node.kind == "input")

    def maker(self, operand: Operand | None) -> Step | None:
        """Return the step that computes an operand, ``None`` for what is given."""
        return None if operand is None else self.by_id.get(operand.node)

    def users(self, step: Step) -> tuple[Step, ...]:
        """Return the steps that read a step's result."""
        own = step.node.id
        return tuple(
            each
            for each in self.steps
            if any(o.node == own for o in (*each.operands, *each.roles.values()))
        )

    def is_result(self, step: Step) -> bool:
        """Return whether a step's result is an output of the module."""
        return any(operand.node == step.node.id for _, operand in self.results)

    def of(self, *operations: str) -> tuple[Step, ...]:
        """Return the steps that compute one of these operations."""
        return tuple(step for step in self.steps if step.operation in operations)

    def sole(self, *operations: str) -> Step | None:
        """Return the one step that computes one of these, ``None`` for none or several."""
        found = self.of(*operations)
        return found[0] if len(found) == 1 else None

    @property
    def only(self) -> Step | None:
        """The module's only step, ``None`` if it has none or several."""
        return self.steps[0] if len(self.steps) == 1 else None


def graph_of(flow: Flow) -> ModuleGraph:
    """Return a flow as a graph in order of execution."""
    return _graph(flow.nodes, flow.edges)


def closed_graph_of(flow: Flow) -> ModuleGraph | None:
    """Return a graph with one node for each child; ``None`` where that makes a cycle."""
    closed = _closed(flow)
    return None if closed is None else _graph(*closed)


def _graph(nodes: Sequence[Node], edges: Sequence[Edge]) -> ModuleGraph:
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
    return ModuleGraph(given, tuple(_topological(done)), results)


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


def _topological(steps: Sequence[Step]) -> Iterator[Step]:
    """Yield each step after those that it reads, otherwise in the order of the code."""
    waiting, known = list(steps), {step.node.id for step in steps}
    done: set[str] = set()
    while waiting:
        ready = next(
            (step for step in waiting if {o.node for o in step.tensors} & known <= done),
            waiting[0],  # a cycle: in the order of the code
        )
        waiting.remove(ready)
        done.add(ready.node.id)
        yield ready


def _closed(flow: Flow) -> tuple[tuple[Node, ...], tuple[Edge, ...]] | None:
    """Return nodes and edges with one node for each child; ``None`` where that makes a cycle."""
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
    return None if not closed or _has_cycle(*found) else found


def _child_of(node: Node, path: str) -> str | None:
    """Return the child of the module at ``path`` that a node belongs to, ``None`` for its own."""
    if node.kind not in ("module", "group", "operation") or not node.path or node.repeat:
        return None
    start = f"{path}." if path else ""
    if node.path == path or not node.path.startswith(start):
        return None
    return start + node.path.removeprefix(start).split(".")[0]


def _renamed(node: Node, closed: Mapping[str, Node]) -> Node:
    """Return a node that reads the closed children."""
    operands = tuple(
        replace(each, node=closed[each.node].id) if each.node in closed else each
        for each in node.operands
    )
    return replace(node, operands=operands)


def _has_cycle(nodes: Sequence[Node], edges: Sequence[Edge]) -> bool:
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
