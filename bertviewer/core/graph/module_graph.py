"""The data-flow graph of one module in execution order, for templates to match."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import takewhile

from msgspec import Struct
from msgspec.structs import replace

from bertviewer.core.schema.flow import PARTS, Edge, Flow, Flows, Node, Operand
from bertviewer.core.schema.modules import Repeat

MANY = 25
"""A module with more steps is described by the calls of its children."""

_MAX_OF_TABLE = 8
"""Limit of the nodes in a table's graph, inputs and outputs included."""

FIRST = "part [:, 0]"
"""Operand part: the first position of a tensor."""

_GIVEN = ("input", "constant", "parameter")


class Step(Struct, frozen=True):
    """One node of the graph that computes something.

    Attributes:
        node: the node.
        operands: in the order of torch's arguments if known, else of the edges.
        roles: operands by the role of their edge, such as ``residual`` or ``query``.
        parts: the steps within the call of a child, if known.
        outputs: the nodes of the parts whose results are read outside, if there are several.
    """

    node: Node
    operands: tuple[Operand, ...]
    roles: Mapping[str, Operand]
    parts: tuple["Step", ...] = ()
    outputs: tuple[str, ...] = ()

    @property
    def ids(self) -> tuple[str, ...]:
        """The nodes whose results other steps read."""
        return self.outputs or (self.node.id,)

    @property
    def path(self) -> str:
        """The path of its module, "" for operations outside of all modules."""
        return self.node.path or ""

    @property
    def is_call(self) -> bool:
        """Whether it is a closed module."""
        return self.node.kind == "module" and not self.operation

    @property
    def operation(self) -> str:
        """The operation, "" for a closed module."""
        return self.node.operation or ""

    @property
    def tensors(self) -> tuple[Operand, ...]:
        """The operands that are results of other nodes."""
        return tuple(each for each in self.operands if each.node)

    @property
    def read(self) -> tuple[Operand, ...]:
        """All operands, including those by role."""
        return (*self.operands, *self.roles.values())

    @property
    def inner(self) -> tuple["Step", ...]:
        """The steps within a group, none for other nodes."""
        return _graph(self.node.nodes or (), self.node.edges).steps


class ModuleGraph(Struct, frozen=True, dict=True):
    """A data-flow graph in execution order.

    Attributes:
        given: the leaves by id: inputs, parameters, and constants (masks and positions).
        steps: the nodes that compute something.
        results: the output nodes, each with its operand.
    """

    given: Mapping[str, Node]
    steps: tuple[Step, ...]
    results: tuple[tuple[Node, Operand], ...]

    @cached_property
    def by_id(self) -> Mapping[str, Step]:
        """The steps by node id."""
        return {node: step for step in self.steps for node in step.ids}

    @cached_property
    def inputs(self) -> tuple[Node, ...]:
        """The inputs that are read."""
        return tuple(node for node in self.given.values() if node.kind == "input")

    def maker(self, operand: Operand | None) -> Step | None:
        """Return the step that computes an operand, ``None`` for leaves."""
        return None if operand is None else self.by_id.get(operand.node)

    def users(self, step: Step) -> tuple[Step, ...]:
        """Return the steps that read a step's result."""
        return tuple(each for each in self.steps if any(o.node in step.ids for o in each.read))

    def is_result(self, step: Step) -> bool:
        """Return whether a step's result is an output of the module."""
        return any(operand.node in step.ids for _, operand in self.results)

    def of(self, *operations: str) -> tuple[Step, ...]:
        """Return the steps with one of these operations."""
        return tuple(step for step in self.steps if step.operation in operations)

    def sole(self, *operations: str) -> Step | None:
        """Return the only step with one of these operations, ``None`` for none or several."""
        found = self.of(*operations)
        return found[0] if len(found) == 1 else None

    def sources(self, *operands: Operand, stop: str = "") -> dict[str, Step]:
        """Return the steps that operands are computed from, by node id.

        Each path ends at a step with the operation ``stop``.
        """
        found: dict[str, Step] = {}
        waiting = [*operands]
        while waiting:
            step = self.maker(waiting.pop())
            if step is not None and step.node.id not in found:
                found[step.node.id] = step
                waiting += step.read if not stop or step.operation != stop else ()
        return found

    def up_to(self, results: int) -> "ModuleGraph":
        """Return the subgraph that computes the first results."""
        wanted = self.results[:results]
        needed = self.sources(*(operand for _, operand in wanted))
        kept = [step for step in self.steps if step.node.id in needed]
        read = {operand.node for step in kept for operand in step.read}
        read |= {operand.node for _, operand in wanted}
        steps = tuple(_read_at(step, read) if step.outputs else step for step in kept)
        return replace(self, steps=steps, results=wanted)

    @property
    def only(self) -> Step | None:
        """The module's only step, ``None`` if it has none or several."""
        return self.steps[0] if len(self.steps) == 1 else None


EMPTY = ModuleGraph({}, (), ())


def graph_of(flow: Flow) -> ModuleGraph:
    """Return a flow as a graph in execution order."""
    return _graph(flow.nodes, flow.edges)


def _graph(nodes: Sequence[Node], edges: Sequence[Edge]) -> ModuleGraph:
    into: dict[str, list[Edge]] = {}
    for edge in edges:
        into.setdefault(edge.target, []).append(edge)
    done = [
        _step(node, into.get(node.id, ())) for node in nodes if node.kind not in (*_GIVEN, "output")
    ]
    outputs = [node for node in nodes if node.kind == "output"]
    results = tuple((node, _operand(edge)) for node in outputs for edge in into.get(node.id, ()))
    read = {o.node for step in done for o in step.read} | {o.node for _, o in results}
    given = {node.id: node for node in nodes if node.kind in _GIVEN and node.id in read}
    return ModuleGraph(given, _in_order(done) or tuple(done), results)


def _step(node: Node, edges: Sequence[Edge]) -> Step:
    roles = {edge.role: _operand(edge) for edge in reversed(edges) if edge.role is not None}
    if node.operation == "residual" and node.details.get("function") == "sub":
        node = replace(node, operation="sub")
    own = node.operands if node.kind != "group" else ()
    return Step(node, own or tuple(_operand(edge) for edge in edges), roles)


def _operand(edge: Edge) -> Operand:
    return Operand(edge.source, tuple(each for each in edge.views if each.startswith(PARTS)))


def _in_order(steps: Sequence[Step]) -> tuple[Step, ...] | None:
    """Return the steps in topological order, ``None`` if there is a cycle."""
    waiting, order = list(steps), []
    missing = {node for step in steps for node in step.ids}
    while waiting:
        reads = ({operand.node for operand in step.tensors} for step in waiting)
        ready = next((number for number, read in enumerate(reads) if not read & missing), None)
        if ready is None:
            return None
        order.append(waiting.pop(ready))
        missing.difference_update(order[-1].ids)
    return tuple(order)


def is_first(parts: Sequence[str]) -> bool:
    """Return whether only the first position of a tensor is read."""
    return any(each.startswith(FIRST.removesuffix("]")) for each in parts)


def with_tables(graph: ModuleGraph, flows: Flows) -> ModuleGraph:
    """Return a graph in which scaled tables (BART, Gemma) are lookups as well."""

    def as_table(step: Step) -> Step:
        flow = flows.flow(step.node.path) if step.is_call and step.node.path else None
        inner = () if flow is None or len(flow.nodes) > _MAX_OF_TABLE else graph_of(flow).steps
        if [each.operation for each in inner] not in (["embedding"], ["embedding", "mul"]):
            return step
        table = [operand for operand in inner[0].operands if operand.parameter]
        node = replace(step.node, operation="embedding", reads=inner[0].node.reads)
        return replace(step, node=node, operands=(*step.operands, *table))

    return replace(graph, steps=tuple(map(as_table, graph.steps)))


def closed(graph: ModuleGraph, path: str) -> ModuleGraph | None:
    """Return a module's graph with one step for each call of a child.

    Layers of one list that are applied in sequence are one step with ``repeat``. ``None`` if the
    calls of children depend on each other in a cycle.
    """
    owners = {step.node.id: _child(step, path) for step in graph.steps}
    opened = {owners[s.node.id] for s in graph.steps if owners[s.node.id] != s.node.path} - {""}
    members: dict[str, list[Step]] = {}
    for step in graph.steps:
        owner = owners[step.node.id]
        members.setdefault(owner if owner in opened else step.node.id, []).append(step)
    calls = [
        _call(key, parts, graph) if key in opened else parts[0] for key, parts in members.items()
    ]
    steps = _in_order(calls)
    if steps is None:
        return None
    return replace(graph, steps=tuple(_with_runs(replace(graph, steps=steps))))


def _child(step: Step, path: str) -> str:
    """Return the path of the child that a step belongs to, or of the member of a list; or ""."""
    start = f"{path}." if path else ""
    own = step.path
    if not own.startswith(start) or own == path:
        return ""
    names = own.removeprefix(start).split(".")
    numbers = takewhile(str.isdecimal, names[1:])
    return start + ".".join((names[0], *numbers))


def _call(path: str, parts: Sequence[Step], graph: ModuleGraph) -> Step:
    """Return the call of a child from its steps."""
    own = {part.node.id for part in parts}
    read = (o for part in parts for o in part.read)
    given = {(o.node, o.parts): o for o in read if o.node and o.node not in own}
    roles = {
        role: operand
        for part in reversed(parts)
        for role, operand in part.roles.items()
        if operand.node not in own
    }
    outside = {o.node for step in graph.steps if step.node.id not in own for o in step.read}
    outside |= {operand.node for _, operand in graph.results}
    name, last = path.rpartition(".")[2], parts[-1].node
    node = Node(last.id, "module", name, path, reads=last.reads)
    return _read_at(Step(node, tuple(given.values()), roles, tuple(parts)), outside)


def _read_at(call: Step, read: set[str]) -> Step:
    """Return a call with the outputs that are read."""
    outputs = [part.node for part in call.parts if part.node.id in read] or [call.parts[-1].node]
    first, ids = outputs[0], tuple(node.id for node in outputs)
    node = replace(call.node, id=first.id, shape=first.shape, symbolic_shape=first.symbolic_shape)
    return replace(call, node=node, outputs=ids if len(ids) > 1 else ())


def _with_runs(graph: ModuleGraph) -> Iterator[Step]:
    """Yield the steps, with members of a list that are applied in sequence merged."""
    lists = [_list(step) for step in graph.steps]
    run: list[Step] = []
    for step, where in zip(graph.steps, lists, strict=True):
        if run and (
            where != _list(run[-1]) or graph.users(run[-1]) != (step,) or graph.is_result(run[-1])
        ):
            yield _run(run, graph)
            run = []
        # Of several open members each is a part of one layer.
        if where and (not step.parts or lists.count(where) == 1):
            run.append(step)
        else:
            yield step
    if run:
        yield _run(run, graph)


def _list(step: Step) -> str:
    """Return the path of the list that contains a layer, "" for other steps."""
    holder, _, name = step.path.rpartition(".")
    return holder if step.is_call and name.isdecimal() else ""


def _run(layers: Sequence[Step], graph: ModuleGraph) -> Step:
    """Return layers that are applied in sequence as one step; masks and positions come last."""
    first, last = layers[0], layers[-1]
    count = sum(1 if each.node.repeat is None else each.node.repeat.count for each in layers)
    paths = {path for each in layers for path in each.node.layers}
    node = replace(
        first.node,
        id=last.node.id,
        shape=last.node.shape,
        symbolic_shape=last.node.symbolic_shape,
        repeat=Repeat(0, count - 1, count),
        details={"stored": len(paths), "kinds": len(layers)},
    )
    sides = {o.node for role, o in first.roles.items() if role in ("mask", "position")}
    sides |= {each.id for each in graph.given.values() if each.kind == "constant"}
    operands = tuple(sorted(first.operands, key=lambda operand: operand.node in sides))
    return replace(first, node=node, operands=operands, parts=tuple(layers))
