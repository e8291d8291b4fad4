"""What an embedding table is called, by what its rows are looked up by."""

from bertviewer.core.architecture.flow import Edge, Flow, Node
from bertviewer.core.walkthrough.edges import FlowEdges
from bertviewer.core.walkthrough.steps import table_name


def table(source: Node | None, shape: tuple[int, ...] = (1, 16, 24)) -> str:
    node = Node("n1", "module", "table", "table", operation="embedding", shape=shape)
    edges = () if source is None else (Edge(source.id, node.id, shape[:-1]),)
    nodes = (node,) if source is None else (source, node)
    return table_name(node, FlowEdges(Flow("", "Model", nodes, edges)))


def test_a_table_is_known_by_what_it_is_looked_up_by() -> None:
    assert table(Node("n0", "input", "input ids")) == "Token embedding"
    assert table(Node("n0", "input", "token type ids")) == "Segment embedding"
    assert table(Node("n0", "constant", "input ids")) == "Token embedding"
    assert table(Node("n0", "constant", "positions")) == "Position embedding"
    assert table(Node("n0", "constant", "position ids")) == "Position embedding"
    assert table(None) == "Position embedding"
    assert table(Node("n0", "constant", "positions"), (16, 16, 3)) == "Distance embedding"
