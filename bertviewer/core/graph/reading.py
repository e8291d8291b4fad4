"""Reads the flows of modules from a trace."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from bertviewer.core import budget
from bertviewer.core.architecture.architecture import Architecture, ancestors
from bertviewer.core.architecture.flow import Edge, Flow, Letters, Node
from bertviewer.core.architecture.flows import Flows
from bertviewer.core.architecture.operand import PARTS, TRANSPOSED, Operand
from bertviewer.core.budget import OverBudget
from bertviewer.core.graph.node_labels import labelled, sole_operation
from bertviewer.core.graph.partition import GraphNode, partition, partition_pattern, signature
from bertviewer.core.graph.patterns.finding import find_patterns
from bertviewer.core.graph.trace import Argument, Call, Ref, Trace, text_of
from bertviewer.core.graph.trace_graph import Graph, closure
from bertviewer.core.graph.wiring import Wire, Wiring

_SILENT = ("dtype", "inplace", "training", "dropout_p", "out", "device", "_stacklevel")
"""Arguments that are not shown."""
_TURNS = ("T", "mT", "t", "transpose", "permute", "swapaxes", "swapdims")


class _Drawing(NamedTuple):
    """The nodes of a module or a pattern by their ids, and the node that the pattern is."""

    wiring: Wiring
    ids: Mapping[GraphNode, str]
    around: "_Drawing | None" = None
    holder: GraphNode | None = None


class FlowReader:
    """Reads the flows of modules from one trace."""

    def __init__(
        self,
        trace: Trace,
        architecture: Architecture | None = None,
        letters: Mapping[int, Letters] | None = None,
    ) -> None:
        self.trace = trace
        self.graph = Graph(trace)
        self.patterns = find_patterns(self.graph)
        self._letters = letters or {}
        modules = architecture.modules if architecture else ()
        self._counts = {node.path: node.parameters for node in modules}
        self._repeats = {node.path: node.repeat for node in modules}

    def flow(self, path: str) -> Flow:
        """Return the flow of the module at ``path``, in its first call.

        Raises:
            LookupError: it was not called, or its call did not end.
        """
        call = self.trace.calls[self.trace.calls_of[path][0]]
        parts = partition(self.graph, self.patterns, call)
        nodes, edges = self._drawn(call, parts, "n", None)
        return Flow(path, call.class_name, nodes, edges, self._repeats.get(path))

    def flows(self, lengths: Mapping[str, int]) -> Flows:
        """Return the flows of all modules that were called, once for those that do the same.

        At a limit in force the other modules have the reason instead of a flow.
        """
        distinct: dict[str, Flow] = {}
        like: dict[str, str] = {}
        firsts: dict[Hashable, str] = {}
        missing = self._missing()
        for path, numbers in self.trace.calls_of.items():
            call = self.trace.calls[numbers[0]]
            if not call.operations:
                continue  # it returns its input
            try:
                budget.check()
                first = firsts.setdefault(signature(self.graph, call), path)
                if first == path:
                    distinct[path] = self.flow(path)
                else:
                    like[path] = first
            except OverBudget as error:
                missing[path] = str(error)
        return Flows(distinct, {p: f for p, f in like.items() if f in distinct}, missing, lengths)

    def _missing(self) -> dict[str, str]:
        """Return why the module in which the trace stopped, and those around it, have no flow."""
        if self.trace.stopped is None:
            return {}
        path, reason = self.trace.stopped
        return {
            above: reason if above == path else f"{path}: {reason}"
            for above in ancestors(path)
            if above not in self.trace.calls_of
        }

    def _drawn(
        self,
        call: Call,
        parts: Sequence[GraphNode],
        prefix: str,
        around: tuple[_Drawing, GraphNode] | None,
    ) -> tuple[tuple[Node, ...], tuple[Edge, ...]]:
        """Return nodes and edges; in a pattern only the edges between its nodes.

        ``around`` is the drawing with the pattern in it, and the node that the pattern is.
        """
        wiring = Wiring(self.graph, self.patterns, call, parts, self._letters)
        wires = list(wiring.wires())
        if around is None:
            wires = _alive([*wires, *wiring.outputs()])
            used = dict.fromkeys(node for wire in wires for node in (wire.source, wire.target))
        else:
            used = dict.fromkeys(node for node in parts if node.kind != "constant")
            wires = [wire for wire in wires if wire.source in used and wire.target in used]
        ends = [node for node in used if node.end is not None]
        ordered = [
            *(node for node in ends if node.kind != "output"),
            *sorted((node for node in used if node.end is None), key=lambda node: node.first),
            *(node for node in ends if node.kind == "output"),
        ]
        ids = {each: f"{prefix}{number}" for number, each in enumerate(ordered)}
        drawing = _Drawing(wiring, ids, *(around or ()))
        nodes = tuple(self._node(each, call, drawing) for each in ordered)
        edges: dict[tuple[str, str, str | None], Edge] = {}
        for source, target, value, role, (_, movement, through) in wires:
            edge = Edge(
                source=ids[source],
                target=ids[target],
                shape=self.graph.shape(value),
                symbolic_shape=self._letters.get(value),
                role=role,
                movement=movement,
                through=through if "dropout" in movement else (),
            )
            edges.setdefault((edge.source, edge.target, role), edge)
        return nodes, tuple(edges.values())

    def _node(self, part: GraphNode, root: Call, drawing: _Drawing) -> Node:
        identity = drawing.ids[part]
        if part.end is not None:
            return replace(part.end, id=identity)
        node = labelled(self.graph, part, drawing.wiring.use_of(part), self._letters)
        details = dict(node.details)
        if part.kind == "module" and node.path in self._counts:
            details["parameters"] = self._counts[node.path]
        nodes: tuple[Node, ...] | None = None
        edges: tuple[Edge, ...] = ()
        if part.pattern is not None and node.kind == "group":
            parts = partition_pattern(self.graph, self.patterns, root, part.pattern)
            nodes, edges = self._drawn(root, parts, f"{identity}.", (drawing, part))
        operation = sole_operation(self.graph, part)
        return replace(
            node,
            id=identity,
            nodes=nodes,
            edges=edges,
            details=details,
            operands=() if operation is None else tuple(self._operands(drawing, part, operation)),
        )

    def _operands(self, drawing: _Drawing, node: GraphNode, number: int) -> Iterator[Operand]:
        """Yield the operands of the one operation of a node: edges don't tell 1 - x from x - 1."""
        operation = self.trace.operations[number]
        named = [it for it in operation.kwargs if it[0] not in _SILENT and it[1] is not None]
        for key, argument in (*(("", arg) for arg in operation.args), *named):
            for value in _tensors_or_whole(argument):
                if isinstance(value, Ref):
                    found = self._tensor(drawing, value.value, node)
                    role = drawing.wiring.role(node, number, value.value) or ""
                    yield replace(found or Operand(role=role), key=key)
                else:
                    yield Operand(plain=text_of(value), key=key)

    def _tensor(self, drawing: _Drawing, value: int, node: GraphNode) -> Operand | None:
        """Return what computes a tensor, here or in the drawing around; else ``None``."""
        wiring, ids, around, holder = drawing
        if name := self.graph.parameter(value):
            if (end := wiring.parameter(name)) in ids:
                return Operand(ids[end])
            turns = sum(view.word in _TURNS for view in self.graph.views(value))
            return Operand(parameter=name, parts=(TRANSPOSED,) if turns % 2 else ())
        origin = wiring.origin(value, node)
        movement = origin.movement
        while origin.node is node and (view := self.graph.view(value)) is not None:
            value = view.source  # it was moved in the node itself
            origin = wiring.origin(value, node)
            movement = (*origin.movement, view.word, *movement)
        if origin.node in ids and origin.node is not node:
            return Operand(ids[origin.node], tuple(it for it in movement if it.startswith(PARTS)))
        return None if around is None or holder is None else self._tensor(around, value, holder)


def _tensors_or_whole(argument: Argument) -> Iterator[Argument]:
    """Yield the items of a list that contains tensors, or else an argument."""
    if isinstance(argument, tuple | list) and any(isinstance(item, Ref) for item in argument):
        for item in argument:
            yield from _tensors_or_whole(item)
    else:
        yield argument


def _alive(wires: Sequence[Wire]) -> list[Wire]:
    """Return the wires that lead to an output in the end."""
    sources: dict[GraphNode, list[GraphNode]] = {}
    for wire in wires:
        sources.setdefault(wire.target, []).append(wire.source)
    outputs = [node for node in sources if node.end is not None]
    alive = closure(outputs, lambda node: sources.get(node, ()))
    return [wire for wire in wires if wire.target in alive]
