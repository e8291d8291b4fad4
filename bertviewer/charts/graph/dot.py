"""Graphviz source of a graph, for a layout by other tools."""

from collections.abc import Iterator, Sequence

from bertviewer.charts.graph.paths import SIDE_ROLES
from bertviewer.core.expressions.symbols import shape_text
from bertviewer.core.schema.flow import Edge, Flow, Node
from bertviewer.core.util.text import printable

_SHAPES = {"input": "plain", "output": "plain", "parameter": "note"}
_STYLES = {"constant": "rounded,dashed", "operation": "rounded"}


def dot_of(flow: Flow) -> str:
    """Return a graph in the DOT language; groups are clusters."""
    name = " ".join(text for text in (flow.path, flow.class_name) if text)
    lines = (
        f"digraph {_quoted(name)} {{",
        "  rankdir=LR; compound=true;",
        '  node [shape=box, fontname="Inter, Helvetica, sans-serif", fontsize=11];',
        '  edge [fontname="JetBrains Mono, monospace", fontsize=9];',
        *_graph_lines(flow.nodes, flow.edges, "  ", has_clusters=True),
    )
    return "\n".join([*lines, "}", ""])


def _graph_lines(
    nodes: Sequence[Node], edges: Sequence[Edge], indent: str, *, has_clusters: bool
) -> Iterator[str]:
    for node in nodes:
        yield from _node_lines(node, indent)
    by_key = {node.id: node for node in nodes}
    for edge in edges:
        if edge.source in by_key and edge.target in by_key:
            source, target = by_key[edge.source], by_key[edge.target]
            facts = ", ".join(_edge_facts(edge, source, target, has_clusters=has_clusters))
            ends = f"{_quoted(_last_id(source))} -> {_quoted(_first_id(target))}"
            yield f"{indent}{ends} [{facts}];"


def _node_lines(node: Node, indent: str) -> Iterator[str]:
    times = f" ×{node.repeat.count}" if node.repeat else ""
    facts = (node.name + times, node.class_name, shape_text(node.shape or None))
    label = _quoted("\n".join(fact for fact in facts if fact))
    if node.nodes:
        yield f"{indent}subgraph {_cluster(node)} {{"
        yield f"{indent}  label={label}; style=rounded;"
        yield from _graph_lines(node.nodes, node.edges, indent + "  ", has_clusters=False)
        yield f"{indent}}}"
        return
    style = f", style={_quoted(_STYLES[node.kind])}" if node.kind in _STYLES else ""
    shape = _SHAPES.get(node.kind, "box")
    yield f"{indent}{_quoted(node.id)} [label={label}, shape={shape}{style}];"


def _first_id(node: Node) -> str:
    """Return the node of a cluster at which edges to it end, because clusters have no edges."""
    targets = {edge.target for edge in node.edges}
    nodes = node.nodes or ()
    first = next((each for each in nodes if each.id not in targets), (*nodes, None)[0])
    return node.id if first is None else _first_id(first)


def _last_id(node: Node) -> str:
    """Return the node of a cluster at which edges from it begin."""
    sources = {edge.source for edge in node.edges}
    nodes = (node.nodes or ())[::-1]
    last = next((each for each in nodes if each.id not in sources), (*nodes, None)[0])
    return node.id if last is None else _last_id(last)


def _edge_facts(edge: Edge, source: Node, target: Node, *, has_clusters: bool) -> Iterator[str]:
    text = " ".join(filter(None, (edge.role, shape_text(edge.shape or None))))
    yield f"label={_quoted(text)}"
    if has_clusters and source.nodes:
        yield f"ltail={_cluster(source)}"
    if has_clusters and target.nodes:
        yield f"lhead={_cluster(target)}"
    if edge.role == "residual":
        yield "penwidth=3"
    elif edge.role in SIDE_ROLES:
        yield "style=dashed"


def _cluster(node: Node) -> str:
    return _quoted("cluster " + node.id)


def _quoted(text: str) -> str:
    lines = (printable(line).replace("\\", "\\\\").replace('"', '\\"') for line in text.split("\n"))
    return '"' + "\\n".join(lines) + '"'
