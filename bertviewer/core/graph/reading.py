"""Reads the flows of modules from a trace: what nodes are called follows from their operations."""

from collections.abc import Hashable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from bertviewer.core.graph.inputs.texts import TARGET_TOKENS
from bertviewer.core.graph.operation_names import CONVOLUTIONS
from bertviewer.core.graph.partition import GraphNode, partition, partition_pattern, signature
from bertviewer.core.graph.patterns.finding import find_patterns
from bertviewer.core.graph.patterns.linears import is_linear, widths_of
from bertviewer.core.graph.trace import Argument, Call, Ref, Trace, macs_of, text_of
from bertviewer.core.graph.trace_graph import AUXILIARY, Graph, closure
from bertviewer.core.graph.tracing import MOST_OPERATIONS
from bertviewer.core.graph.wiring import Wire, Wiring
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.flow import Edge, Flow, Flows, Node, NodeKind, Operand, SymbolicShape
from bertviewer.core.schema.modules import ancestors
from bertviewer.core.util import budget
from bertviewer.core.util.budget import OverBudget
from bertviewer.core.util.serialization import Scalar

_SILENT = ("dtype", "inplace", "training", "dropout_p", "out", "device", "_stacklevel")
"""Arguments that are not shown."""
_OPEN_PATTERNS = (
    *("attention", "position bias", "feed-forward", "gated feed-forward"),
    *("routing", "experts", "rotary"),
)
"""Patterns that are drawn as a group, with their operations."""


class FlowReader:
    """Reads the flows of modules from one trace."""

    def __init__(
        self,
        trace: Trace,
        architecture: Architecture | None = None,
        letters: Mapping[int, SymbolicShape] | None = None,
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

        ``lengths`` of inputs that the model does not read are left out. At a limit in force the
        other modules have the reason instead of a flow.
        """
        inputs = [value.name for value in self.trace.values if value.kind == "input"]
        if not any(name.startswith("decoder_input") for name in inputs):
            lengths = {letter: size for letter, size in lengths.items() if letter != TARGET_TOKENS}
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
        around: tuple[Wiring, GraphNode] | None,
    ) -> tuple[tuple[Node, ...], tuple[Edge, ...]]:
        """Return nodes and edges; in a pattern only the edges between its nodes.

        ``around`` is what the pattern is a node of, and that node.
        """
        wiring = Wiring(self.graph, self.patterns, call, parts, self._letters, around=around)
        wires = list(wiring.wires())
        if around is None:
            wires = _alive([*wires, *wiring.outputs()])
            used = dict.fromkeys(node for wire in wires for node in (wire.source, wire.target))
        else:
            used = dict.fromkeys(node for node in parts if node.kind != "constant")
            wires = [wire for wire in wires if wire.source in used and wire.target in used]
        ordered = sorted(used, key=_place)
        ids: dict[GraphNode | None, str] = {
            each: f"{prefix}{number}" for number, each in enumerate(ordered)
        }
        wiring.ids = ids
        nodes = tuple(self._node(each, call, wiring) for each in ordered)
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

    def _node(self, part: GraphNode, root: Call, wiring: Wiring) -> Node:
        identity = wiring.ids[part]
        if part.end is not None:
            return replace(part.end, id=identity)
        graph, pattern, is_module = self.graph, part.pattern, part.kind == "module"
        call, value = _holder(graph, part), graph.made(max(part.operations))
        single = _single(graph, part)
        name, operation, details = _labels(graph, part, single, wiring.use_of(part))
        kind: NodeKind = part.kind
        nodes: tuple[Node, ...] | None = None
        edges: tuple[Edge, ...] = ()
        if pattern is not None:
            is_open = pattern.operation in _OPEN_PATTERNS
            kind = "group" if is_open else "module" if is_module else "operation"
        if pattern is not None and kind == "group":
            parts = partition_pattern(graph, self.patterns, root, pattern)
            nodes, edges = self._drawn(root, parts, f"{identity}.", (wiring, part))
        operations: Sequence[int] = sorted(part.operations)
        if is_module and part.call is not None:
            *above, last = part.call.path.split(".")
            name = f"{above[-1]} {last}" if last.isdecimal() and above else last
            value = part.call.outputs[0][1] if part.call.outputs else value
            operations = operations if part.repeat is None else part.call.operations
            if part.call.path in self._counts:
                details["parameters"] = self._counts[part.call.path]
        is_layer = single is not None and is_module and is_linear(graph, single)
        if part.kind == "constant" or is_layer:
            single = None  # its operands are not shown
        return Node(
            id=identity,
            kind=kind,
            name=name or operation or "operation",
            path=None if call is None else call.path,
            class_name=None if call is None else call.class_name,
            operation=operation,
            shape=graph.shape(value),
            symbolic_shape=self._letters.get(value),
            macs=macs_of(self.trace, part.operations),
            nodes=nodes,
            edges=edges,
            details=details,
            repeat=part.repeat,
            reads=_parameters(graph, operations),
            operands=tuple(self._operands(wiring, part, single)) if single is not None else (),
        )

    def _operands(self, wiring: Wiring, node: GraphNode, number: int) -> Iterator[Operand]:
        """Yield the operands of the one operation of a node: edges don't tell 1 - x from x - 1."""
        operation = self.trace.operations[number]
        named = [it for it in operation.kwargs if it[0] not in _SILENT and it[1] is not None]
        for key, argument in (*(("", arg) for arg in operation.args), *named):
            for value in _tensors_or_whole(argument):
                if isinstance(value, Ref):
                    found = wiring.operand(value.value, node)
                    role = wiring.role(node, number, value.value) or ""
                    yield replace(found or Operand(role=role), key=key)
                else:
                    yield Operand(plain=text_of(value), key=key)


def _place(node: GraphNode) -> int:
    """Return a number by which nodes are sorted: ends, operations in order, outputs."""
    if node.end is None:
        return node.first
    return MOST_OPERATIONS if node.kind == "output" else -1


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


def _labels(
    graph: Graph, node: GraphNode, single: int | None, use: str | None
) -> tuple[str, str | None, dict[str, Scalar]]:
    """Return the name, the operation and the details of a node.

    ``single`` is its one operation, and ``use`` what a constant is used as. Without a name that of
    the operation is used.
    """
    pattern = node.pattern
    details: dict[str, Scalar] = dict(pattern.details) if pattern is not None else {}
    name, operation = "", None
    if single is not None:
        operation = graph.words[single]
        is_product = is_linear(graph, single)
        if is_product:
            details["in_features"], details["out_features"] = widths_of(graph, single)
        elif operation == "embedding":
            tables = [v for v in graph.trace.reads[single] if graph.parameter(v)]
            if tables:
                details["in_features"], details["out_features"] = graph.shape(tables[0])[:2]
        # Some residuals subtract the skip.
        is_residual = pattern is not None and pattern.operation == "residual"
        if is_residual or (is_product and node.kind in ("operation", "group")):
            details["function"] = operation
        if is_product:
            # Outside of a linear layer it is called like its parameter.
            name = next(iter(_parameters(graph, [single])), "").rpartition(".")[2]
            name, operation = name if name not in ("weight", "kernel") else "", "linear"
        elif operation in CONVOLUTIONS:
            operation = "convolution"
        elif operation == "__getitem__":
            operation = "look-up"
    if pattern is not None:
        return pattern.name, pattern.operation, details
    if node.kind == "constant":
        is_sinusoid = {"sin", "cos"} <= {graph.words[number] for number in node.operations}
        name = use or ("sines and cosines" if is_sinusoid else "constant")
        return name, use or ("positions" if is_sinusoid else None), details
    return name, operation, details


def _single(graph: Graph, node: GraphNode) -> int | None:
    """Return the one operation of a node that computes activations."""
    real = [n for n in node.operations if not graph.is_view(n) and graph.level_of(n) != AUXILIARY]
    return real[0] if len(real) == 1 else None


def _holder(graph: Graph, node: GraphNode) -> Call | None:
    """Return the innermost call that all of a node is in; of a closed module its own."""
    if node.kind == "module" and node.call is not None:
        return node.call
    first, last = node.first, max(node.operations)
    around = (call for call in reversed(graph.trace.calls) if call.start <= first)
    return next((call for call in around if last < call.stop), None)


def _parameters(graph: Graph, operations: Sequence[int]) -> tuple[str, ...]:
    """Return the parameters that operations read, each at its first use."""
    reads = (value for each in operations for value in graph.trace.reads[each])
    return tuple(name for name in dict.fromkeys(map(graph.parameter, reads)) if name)
