"""The name, the operation and the details of a node, from the operations in it, never by class."""

from collections.abc import Sequence

from bertviewer.core.graph.operation_names import CONVOLUTIONS
from bertviewer.core.graph.partition import GraphNode
from bertviewer.core.graph.patterns.linears import is_linear, widths_of
from bertviewer.core.graph.trace import Call
from bertviewer.core.graph.trace_graph import AUXILIARY, Graph
from bertviewer.core.text.special_floats import Scalar


def labels(
    graph: Graph, node: GraphNode, use: str | None
) -> tuple[str, str | None, dict[str, Scalar]]:
    """Return the name, the operation and the details of a node.

    ``use`` is what a constant is used as. Without a name that of the operation is used.
    """
    pattern, single = node.pattern, _single(graph, node)
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
            name = next(iter(parameters(graph, [single])), "").rpartition(".")[2]
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


def sole_operation(graph: Graph, node: GraphNode) -> int | None:
    """Return the one operation of a node whose operands are shown; a linear layer's aren't."""
    single = _single(graph, node)
    if single is None or node.kind == "constant":
        return None
    return None if node.kind == "module" and is_linear(graph, single) else single


def _single(graph: Graph, node: GraphNode) -> int | None:
    """Return the one operation of a node that computes activations."""
    real = [n for n in node.operations if not graph.is_view(n) and graph.level_of(n) != AUXILIARY]
    return real[0] if len(real) == 1 else None


def holder(graph: Graph, node: GraphNode) -> Call | None:
    """Return the innermost call that all of a node is in; of a closed module its own."""
    if node.kind == "module" and node.call is not None:
        return node.call
    first, last = node.first, max(node.operations)
    around = (call for call in reversed(graph.trace.calls) if call.start <= first)
    return next((call for call in around if last < call.stop), None)


def parameters(graph: Graph, operations: Sequence[int]) -> tuple[str, ...]:
    """Return the parameters that operations read, each at its first use."""
    reads = (value for each in operations for value in graph.trace.reads[each])
    return tuple(name for name in dict.fromkeys(map(graph.parameter, reads)) if name)
