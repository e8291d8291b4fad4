"""The name, the operation and the details of a box, from the operations in it, never by class."""

from collections.abc import Mapping, Sequence

from bertviewer.core.architecture.flow import Letters, Node, NodeKind
from bertviewer.core.graph.macs import macs_of
from bertviewer.core.graph.operation_names import CONVOLUTIONS
from bertviewer.core.graph.partition import Box
from bertviewer.core.graph.patterns.linears import is_linear, widths_of
from bertviewer.core.graph.trace import Call
from bertviewer.core.graph.trace_graph import ASIDE, Graph
from bertviewer.core.text.special_floats import Scalar

OPEN_GROUPS = (
    *("attention", "position bias", "feed-forward", "gated feed-forward"),
    *("routing", "experts", "rotary"),
)
"""Groups whose operations are shown when one looks into them."""


def labelled(graph: Graph, box: Box, use: str | None, letters: Mapping[int, Letters]) -> Node:
    """Return a box as a node without an id, operands and what is in it.

    ``use`` is what a constant is used as; ``letters`` are symbolic shapes by value.
    """
    group, is_module = box.group, box.kind == "module"
    call, value = _holder(graph, box), graph.made(max(box.operations))
    name, operation, details = _labels(graph, box, use)
    kind: NodeKind = box.kind
    if group is not None:
        kind = "group" if group.operation in OPEN_GROUPS else "module" if is_module else "operation"
    operations: Sequence[int] = sorted(box.operations)
    if box.call is not None and is_module:
        *above, last = box.call.path.split(".")
        name = f"{above[-1]} {last}" if last.isdecimal() and above else last
        value = box.call.outputs[0][1] if box.call.outputs else value
        operations = operations if box.repeat is None else box.call.operations
    return Node(
        id="",
        kind=kind,
        name=name or operation or "operation",
        path=None if call is None else call.path,
        class_name=None if call is None else call.class_name,
        operation=operation,
        shape=graph.shape(value),
        symbolic_shape=letters.get(value),
        macs=macs_of(graph.trace, box.operations),
        details=details,
        repeat=box.repeat,
        reads=_parameters(graph, operations),
    )


def _labels(graph: Graph, box: Box, use: str | None) -> tuple[str, str | None, dict[str, Scalar]]:
    """Return name, operation and details; without a name that of the operation is used."""
    details: dict[str, Scalar] = dict(box.group.details) if box.group is not None else {}
    name, operation, single = "", None, _single(graph, box)
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
        is_residual = box.group is not None and box.group.operation == "residual"
        if is_residual or (is_product and box.kind in ("operation", "group")):
            details["function"] = operation
        if is_product:
            # Outside of a linear layer it is called like its parameter.
            name = next(iter(_parameters(graph, [single])), "").rpartition(".")[2]
            name, operation = name if name not in ("weight", "kernel") else "", "linear"
        elif operation in CONVOLUTIONS:
            operation = "convolution"
        elif operation == "__getitem__":
            operation = "look-up"
    if box.group is not None:
        return box.group.name, box.group.operation, details
    if box.kind == "constant":
        is_sinusoid = {"sin", "cos"} <= {graph.words[number] for number in box.operations}
        name = use or ("sines and cosines" if is_sinusoid else "constant")
        return name, use or ("positions" if is_sinusoid else None), details
    return name, operation, details


def sole_operation(graph: Graph, box: Box) -> int | None:
    """Return the one operation of a box whose operands are shown; a linear layer's aren't."""
    single = _single(graph, box)
    if single is None or box.kind == "constant":
        return None
    return None if box.kind == "module" and is_linear(graph, single) else single


def _single(graph: Graph, box: Box) -> int | None:
    """Return the one operation of a box that computes data."""
    real = [n for n in box.operations if not graph.is_moving(n) and graph.level_of(n) != ASIDE]
    return real[0] if len(real) == 1 else None


def _holder(graph: Graph, box: Box) -> Call | None:
    """Return the innermost call that all of a box is in; of a closed module its own."""
    if box.kind == "module" and box.call is not None:
        return box.call
    first, last = min(box.operations), max(box.operations)
    around = (call for call in reversed(graph.trace.calls) if call.start <= first)
    return next((call for call in around if last < call.stop), None)


def _parameters(graph: Graph, operations: Sequence[int]) -> tuple[str, ...]:
    reads = (value for each in operations for value in graph.trace.reads[each])
    return tuple(name for name in dict.fromkeys(map(graph.parameter, reads)) if name)
