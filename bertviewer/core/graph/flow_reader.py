"""Reads the data-flow graphs (``Flow``) of modules from a trace, and names their nodes."""

from collections.abc import Hashable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from bertviewer.core.expressions.symbols import TARGET_TOKENS
from bertviewer.core.graph.edges import EdgeFinder, NodeEdge
from bertviewer.core.graph.operation_names import CONVOLUTIONS
from bertviewer.core.graph.partition import GraphNode, partition, partition_pattern, signature
from bertviewer.core.graph.patterns.finding import find_patterns
from bertviewer.core.graph.trace import Argument, Call, Ref, Trace, macs_of, text_of
from bertviewer.core.graph.trace_graph import AUXILIARY, Graph, closure, is_linear, widths_of
from bertviewer.core.graph.tracing import MAX_OPERATIONS
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
"""Patterns that are drawn as a group with inner nodes."""


class FlowReader:
    """Reads the flows of modules from one trace."""

    def __init__(
        self,
        trace: Trace,
        architecture: Architecture | None = None,
        symbolic_shapes: Mapping[int, SymbolicShape] | None = None,
    ) -> None:
        self.trace = trace
        self.graph = Graph(trace)
        self.patterns = find_patterns(self.graph)
        self._symbolic_shapes = symbolic_shapes or {}
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
        nodes, edges = self._nodes_and_edges(call, parts, "n", None)
        return Flow(path, call.class_name, nodes, edges, self._repeats.get(path))

    def flows(self, lengths: Mapping[str, int]) -> Flows:
        """Return the flows of all called modules, one for equal modules.

        ``lengths`` of inputs that the model does not read are dropped. When a limit is reached, the
        other modules have the reason instead of a flow.
        """
        inputs = [value.name for value in self.trace.values if value.kind == "input"]
        if not any(name.startswith("decoder_input") for name in inputs):
            lengths = {name: size for name, size in lengths.items() if name != TARGET_TOKENS}
        distinct: dict[str, Flow] = {}
        like: dict[str, str] = {}
        firsts: dict[Hashable, str] = {}
        missing = self._missing()
        for path, numbers in self.trace.calls_of.items():
            call = self.trace.calls[numbers[0]]
            if not call.operations:
                continue  # an identity
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
        """Return why the module in which the trace stopped, and its ancestors, have no flow."""
        if self.trace.stopped is None:
            return {}
        path, reason = self.trace.stopped
        return {
            above: reason if above == path else f"{path}: {reason}"
            for above in ancestors(path)
            if above not in self.trace.calls_of
        }

    def _nodes_and_edges(
        self,
        call: Call,
        parts: Sequence[GraphNode],
        prefix: str,
        around: tuple[EdgeFinder, GraphNode] | None,
    ) -> tuple[tuple[Node, ...], tuple[Edge, ...]]:
        """Return nodes and edges; within a pattern only the edges between its nodes.

        ``around`` are the enclosing finder and the node of the pattern in it.
        """
        finder = EdgeFinder(
            self.graph, self.patterns, call, parts, self._symbolic_shapes, around=around
        )
        node_edges = list(finder.node_edges())
        if around is None:
            node_edges = _leading_to_outputs([*node_edges, *finder.outputs()])
            used = dict.fromkeys(node for edge in node_edges for node in (edge.source, edge.target))
        else:
            used = dict.fromkeys(node for node in parts if node.kind != "constant")
            node_edges = [
                edge for edge in node_edges if edge.source in used and edge.target in used
            ]
        ordered = sorted(used, key=_execution_order)
        ids: dict[GraphNode | None, str] = {
            each: f"{prefix}{number}" for number, each in enumerate(ordered)
        }
        finder.ids = ids
        nodes = tuple(self._node(each, call, finder) for each in ordered)
        edges: dict[tuple[str, str, str | None], Edge] = {}
        for source, target, value, role, (_, views, through) in node_edges:
            edge = Edge(
                source=ids[source],
                target=ids[target],
                shape=self.graph.shape(value),
                symbolic_shape=self._symbolic_shapes.get(value),
                role=role,
                views=views,
                through=through if "dropout" in views else (),
            )
            edges.setdefault((edge.source, edge.target, role), edge)
        return nodes, tuple(edges.values())

    def _node(self, part: GraphNode, root: Call, finder: EdgeFinder) -> Node:
        identity = finder.ids[part]
        if part.end is not None:
            return replace(part.end, id=identity)
        graph, pattern, is_module = self.graph, part.pattern, part.kind == "module"
        call, value = _enclosing_call(graph, part), graph.made(max(part.operations))
        single = _single(graph, part)
        name, operation, details = _labels(graph, part, single, finder.use_of(part))
        kind: NodeKind = part.kind
        nodes: tuple[Node, ...] | None = None
        edges: tuple[Edge, ...] = ()
        if pattern is not None:
            is_open = pattern.operation in _OPEN_PATTERNS
            kind = "group" if is_open else "module" if is_module else "operation"
        if pattern is not None and kind == "group":
            parts = partition_pattern(graph, self.patterns, root, pattern)
            nodes, edges = self._nodes_and_edges(root, parts, f"{identity}.", (finder, part))
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
            single = None  # without operands
        return Node(
            id=identity,
            kind=kind,
            name=name or operation or "operation",
            path=None if call is None else call.path,
            class_name=None if call is None else call.class_name,
            operation=operation,
            shape=graph.shape(value),
            symbolic_shape=self._symbolic_shapes.get(value),
            macs=macs_of(self.trace, part.operations),
            nodes=nodes,
            edges=edges,
            details=details,
            repeat=part.repeat,
            reads=_parameters(graph, operations),
            operands=tuple(self._operands(finder, part, single)) if single is not None else (),
        )

    def _operands(self, finder: EdgeFinder, node: GraphNode, number: int) -> Iterator[Operand]:
        """Yield the operands of a node's only operation in order, as 1 - x is not x - 1."""
        operation = self.trace.operations[number]
        named = [it for it in operation.kwargs if it[0] not in _SILENT and it[1] is not None]
        for key, argument in (*(("", arg) for arg in operation.args), *named):
            for value in _tensors_or_whole(argument):
                if isinstance(value, Ref):
                    found = finder.operand(value.value, node)
                    role = finder.role(node, number, value.value) or ""
                    yield replace(found or Operand(role=role), key=key)
                else:
                    yield Operand(plain=text_of(value), key=key)


def _execution_order(node: GraphNode) -> int:
    """Return a sort key for nodes: inputs, operations in order, outputs."""
    if node.end is None:
        return node.first
    return MAX_OPERATIONS if node.kind == "output" else -1


def _tensors_or_whole(argument: Argument) -> Iterator[Argument]:
    """Yield the items of a list that contains tensors, else the argument itself."""
    if isinstance(argument, tuple | list) and any(isinstance(item, Ref) for item in argument):
        for item in argument:
            yield from _tensors_or_whole(item)
    else:
        yield argument


def _leading_to_outputs(node_edges: Sequence[NodeEdge]) -> list[NodeEdge]:
    """Return the edges on a path to an output."""
    sources: dict[GraphNode, list[GraphNode]] = {}
    for edge in node_edges:
        sources.setdefault(edge.target, []).append(edge.source)
    outputs = [node for node in sources if node.end is not None]
    alive = closure(outputs, lambda node: sources.get(node, ()))
    return [edge for edge in node_edges if edge.target in alive]


def _labels(
    graph: Graph, node: GraphNode, single: int | None, use: str | None
) -> tuple[str, str | None, dict[str, Scalar]]:
    """Return the name, the operation and the details of a node; an empty name is the operation's.

    ``single`` is its only operation, ``use`` the use of a constant.
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
            # Outside of a module it has the name of its parameter.
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
    """Return the only operation of a node that computes activations, ``None`` for several."""
    real = [n for n in node.operations if not graph.is_view(n) and graph.level_of(n) != AUXILIARY]
    return real[0] if len(real) == 1 else None


def _enclosing_call(graph: Graph, node: GraphNode) -> Call | None:
    """Return the innermost call that contains a node; for a closed module its own."""
    if node.kind == "module" and node.call is not None:
        return node.call
    first, last = node.first, max(node.operations)
    around = (call for call in reversed(graph.trace.calls) if call.start <= first)
    return next((call for call in around if last < call.stop), None)


def _parameters(graph: Graph, operations: Sequence[int]) -> tuple[str, ...]:
    """Return the parameters that operations read, each at its first use."""
    reads = (value for each in operations for value in graph.trace.reads[each])
    return tuple(name for name in dict.fromkeys(map(graph.parameter, reads)) if name)
