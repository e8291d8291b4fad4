"""Graphviz: escaped labels, and clusters for groups."""

from bertviewer.charts.graph.dot import dot_of
from bertviewer.core.schema.flow import Edge, Flow, Node
from tests.charts.graph import blocks, flows


def test_groups_are_clusters() -> None:
    text = dot_of(blocks.gpt2_block())
    assert text.startswith('digraph "h.0 GPT2Block" {')
    assert 'subgraph "cluster mlp" {' in text
    assert text.count("{") == text.count("}")
    # An edge into a group ends at its first operation, one out of it begins at its last.
    assert '"ln_2" -> "mlp.c_fc" [label="[1, 8, 768]", lhead="cluster mlp"];' in text
    assert '"mlp.c_proj" -> "+2" [label="[1, 8, 768]", ltail="cluster mlp"];' in text
    assert '"mlp bend" -> "mlp.c_proj"' in text


def test_every_edge_is_there() -> None:
    flow = blocks.bert_layer()
    inside = sum(len(node.edges) for node in flow.nodes)
    assert dot_of(flow).count("->") == len(flow.edges) + inside


def test_names_are_escaped() -> None:
    hostile = 'a"]; evil [label="\\\n\x00'
    nodes = (Node(hostile, "module", hostile), Node("b", "output", "b"))
    text = dot_of(Flow(hostile, "X", nodes, (Edge(hostile, "b"),)))
    name = '"a\\"]; evil [label=\\"\\\\\\n\\\\x00"'
    assert f"  {name} [label={name}, shape=box];" in text
    assert f'  {name} -> "b" [label=""];' in text


def test_roles_and_layers_are_told() -> None:
    text = dot_of(flows.whole_bert())
    assert 'label="layer ×12\\nBertLayer\\n[1, 8, 768]"' in text
    assert '"mask" -> "encoder.layer" [label="mask [1, 8, 768]", style=dashed];' in text
    assert "penwidth=3" in dot_of(blocks.bert_layer())
