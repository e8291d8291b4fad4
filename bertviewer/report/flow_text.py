"""The data-flow graph of a module as text for a terminal."""

from collections.abc import Collection
from difflib import get_close_matches

from bertviewer.core.expressions.symbols import shape_text
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.flow import Edge, Flow, Node
from bertviewer.core.util.errors import UserError
from bertviewer.report.summary import aligned, notice_lines

_HEADER = ("", "Step", "Computes", "Inputs", "Output", "Multiply-adds")


def check_path(path: str, known: Collection[str], name: str) -> None:
    """Check that a model has a module at ``path``.

    Raises:
        UserError: it has none; a similar path is suggested.
    """
    if path in known:
        return
    near = get_close_matches(path[:1000], known, n=1)
    hint = f"; did you mean {near[0]}?" if near and near[0] else ""
    raise UserError(f"{name}: no module {path!r}{hint}")


def flow_of(architecture: Architecture, path: str) -> Flow:
    """Return a module's data-flow graph.

    Raises:
        UserError: it has none, with the reason.
    """
    flows = architecture.flows
    flow = None if flows is None else flows.flow(path)
    if flow is not None:
        return flow
    named = path or architecture.root.class_name
    reason = "" if flows is None else flows.reason_for(path)
    raise UserError(f"{architecture.source.name}: {named} has no data flow: {reason}")


def flow_text(flow: Flow, architecture: Architecture) -> str:
    """Return a module's steps in order of execution, with inputs and outputs."""
    names = _names(flow)
    inputs: dict[str, list[Edge]] = {}
    for edge in flow.edges:
        inputs.setdefault(edge.target, []).append(edge)
    rows: list[tuple[str, ...]] = [
        (
            names[node.id][0],
            _name(node),
            _computes(node),
            ", ".join(_input_text(edge, names) for edge in inputs.get(node.id, ())),
            shape_text(node.shape),
            f"{node.macs:,}" if node.macs else "",
        )
        for node in flow.nodes
    ]
    title = (title_of(flow, architecture), *notice_lines(architecture.source))
    return "\n".join((*title, "", aligned(_HEADER, rows, right=(5,))))


def title_of(flow: Flow, architecture: Architecture) -> str:
    """Return path, class, parameter count and the shapes of input and output in one line."""
    nodes = {node.path: node for node in architecture.modules}
    parts = [flow.class_name, f"{nodes[flow.path].parameters:,} parameters"]
    ends = [
        shape_text(next(node.shape for node in flow.nodes if node.kind == kind))
        for kind in ("input", "output")
        if any(node.kind == kind for node in flow.nodes)
    ]
    if len(ends) > 1:
        parts.append(" → ".join(ends))
    if flow.repeat is not None and flow.repeat.count > 1:
        parts.append(f"one of {flow.repeat.count} identical layers")
    return "  ".join(filter(None, (flow.path, " · ".join(parts))))


def _names(flow: Flow) -> dict[str, tuple[str, str]]:
    """Return each node's number and the text that refers to it."""
    found, number = {}, 0
    for node in flow.nodes:
        if node.kind in ("input", "output", "parameter"):
            found[node.id] = "", node.name
            continue
        number += 1
        found[node.id] = str(number), str(number)
    return found


def _name(node: Node) -> str:
    if node.repeat is not None and node.repeat.count > 1:
        return f"{node.name} × {node.repeat.count}"
    return node.name


def _computes(node: Node) -> str:
    details = node.details
    what = node.operation or node.class_name or node.kind
    if "heads" in details:
        what += f", {details['heads']} heads"
        if details.get("key_value_heads", details["heads"]) != details["heads"]:
            what += f", {details['key_value_heads']} for keys"
    elif "inner_features" in details:
        what += f", {details['activation']}, {details['inner_features']} inner features"
    elif "experts" in details and "chosen" in details:
        what += f", {details['chosen']} of {details['experts']}"
    elif "in_features" in details:
        what += f", {details['in_features']} → {details['out_features']}"
    return what


def _input_text(edge: Edge, names: dict[str, tuple[str, str]]) -> str:
    name = names[edge.source][1]
    return f"{name} ({edge.role})" if edge.role else name
