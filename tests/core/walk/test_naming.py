"""What a step is called, by what its node computes."""

import pytest

from bertviewer.core.architecture.flow import Edge, Flow, Node
from bertviewer.core.walk.naming import Section, name_of, table_of
from bertviewer.core.walk.wires import Wires


@pytest.mark.parametrize(
    ("operation", "section", "name"),
    [
        ("layer norm", "embeddings", "Embedding norm"),
        ("layer norm", "layer", "Norm"),
        ("rms norm", "rest", "Norm"),
        ("linear", "embeddings", "Embedding projection"),
        ("linear", "rest", "Linear"),
        ("gated feed-forward", "layer", "Feed-forward network"),
        ("routing", "layer", "Router"),
        ("scale and shift", "layer", "Scale and shift"),
        (None, "layer", "mixer"),
    ],
)
def test_names_of_steps(operation: str | None, section: Section, name: str) -> None:
    assert name_of(Node("n0", "module", "mixer", operation=operation), section) == name


def test_a_dropout_has_no_node() -> None:
    assert name_of(None, "embeddings") == "Embedding dropout"
    assert name_of(None, "rest") == "Dropout"


def table(source: Node | None, shape: tuple[int, ...] = (1, 16, 24)) -> str:
    node = Node("n1", "module", "table", "table", operation="embedding", shape=shape)
    edges = () if source is None else (Edge(source.id, node.id, shape[:-1]),)
    nodes = (node,) if source is None else (source, node)
    return table_of(node, Wires(Flow("", "Model", nodes, edges)))[0]


def test_a_table_is_known_by_what_it_is_looked_up_by() -> None:
    assert table(Node("n0", "input", "input ids")) == "Token embedding"
    assert table(Node("n0", "input", "token type ids")) == "Segment embedding"
    assert table(Node("n0", "constant", "input ids")) == "Token embedding"
    assert table(Node("n0", "constant", "positions")) == "Position embedding"
    assert table(Node("n0", "constant", "position ids")) == "Position embedding"
    assert table(None) == "Position embedding"
    assert table(Node("n0", "constant", "positions"), (16, 16, 3)) == "Distance embedding"
