"""Graphviz source of a graph, for a layout by other tools."""

from collections.abc import Iterator, Sequence

from bertviewer.charts.graph.paths import SIDE_ROLES
from bertviewer.core.expressions.symbols import shape_text
from bertviewer.core.schema.flow import Edge, Flow, Node
from bertviewer.core.util.text import printable

_FORMS = {
    "input": "plain",
    "output": "plain",
    "constant": "box",
    "parameter": "note",
    "operation": "box",
}
_STYLES = {"constant": "rounded,dashed", "operation": "rounded"}


def dot_of(flow: Flow) -> str:
    """Return a graph in the DOT language; groups are clusters."""
    name = " ".join(text for text in (flow.path, flow.class_name) if text)
    lines = [
        f"digraph {_quoted(name)} {{",
        "  rankdir=LR; compound=true;",
        '  node [shape=box, fontname="Inter, Helvetica, sans-serif", fontsize=11];',
        '  edge [fontname="JetBrains Mono, monospace", fontsize=9];',
    ]
    ends = {node.id: node for node in flow.nodes}
    inner = {node.id: _inner_ends(node) for node in flow.nodes}
    for node in flow.nodes:
        lines += _node_lines(node, "  ")
    for edge in flow.edges:
        if edge.source in ends and edge.target in ends:
            lines.append(_edge_line(edge, inner[edge.source][1], inner[edge.target][0], ends))
    return "\n".join([*lines, "}", ""])


def _node_lines(node: Node, indent: str) -> Iterator[str]:
    if not node.nodes:
        style = f", style={_quoted(_STYLES[node.kind])}" if node.kind in _STYLES else ""
        shape = _FORMS.get(node.kind, "box")
        yield f"{indent}{_quoted(node.id)} [label={_label(node)}, shape={shape}{style}];"
        return
    yield f"{indent}subgraph {_quoted('cluster ' + node.id)} {{"
    yield f"{indent}  label={_label(node)}; style=rounded;"
    known = {each.id for each in node.nodes}
    for each in node.nodes:
        yield from _node_lines(each, indent + "  ")
    for edge in node.edges:
        if {edge.source, edge.target} <= known:
            by_key = {each.id: each for each in node.nodes}
            ends = (
                _inner_ends(by_key[edge.source])[1],
                _inner_ends(by_key[edge.target])[0],
            )
            yield f"{indent}{_edge_line(edge, *ends, {})}"
    yield f"{indent}}}"


def _inner_ends(node: Node) -> tuple[str, str]:
    """Return the nodes in a cluster at which its edges end, because clusters have no edges."""
    if not node.nodes:
        return node.id, node.id
    into = {edge.target for edge in node.edges}
    out = {edge.source for edge in node.edges}
    firsts = [each for each in node.nodes if each.id not in into] or list(node.nodes)
    lasts = [each for each in node.nodes if each.id not in out] or list(node.nodes)
    return _inner_ends(firsts[0])[0], _inner_ends(lasts[-1])[1]


def _edge_line(edge: Edge, source: str, target: str, nodes: dict[str, Node]) -> str:
    facts = [f"label={_quoted(_edge_text(edge))}"]
    if edge.source in nodes and nodes[edge.source].nodes:
        facts.append(f"ltail={_quoted('cluster ' + edge.source)}")
    if edge.target in nodes and nodes[edge.target].nodes:
        facts.append(f"lhead={_quoted('cluster ' + edge.target)}")
    if edge.role == "residual":
        facts.append("penwidth=3")
    elif edge.role in SIDE_ROLES:
        facts.append("style=dashed")
    return f"  {_quoted(source)} -> {_quoted(target)} [{', '.join(facts)}];"


def _edge_text(edge: Edge) -> str:
    return " ".join(text for text in (edge.role, shape_text(edge.shape or None)) if text)


def _label(node: Node) -> str:
    times = f" ×{node.repeat.count}" if node.repeat else ""
    facts: Sequence[str | None] = (node.name + times, node.class_name, _size(node))
    return _quoted("\n".join(fact for fact in facts if fact))


def _size(node: Node) -> str:
    return shape_text(node.shape or None)


def _quoted(text: str) -> str:
    lines = (printable(line).replace("\\", "\\\\").replace('"', '\\"') for line in text.split("\n"))
    return '"' + "\\n".join(lines) + '"'
