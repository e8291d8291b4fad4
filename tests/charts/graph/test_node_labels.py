"""Labels of nodes."""

from bertviewer.charts.graph.node_labels import NodeLabel, elided, node_labels
from bertviewer.core.schema.flow import Edge, Node
from bertviewer.core.schema.modules import Repeat
from tests.charts.graph import made_flows as made
from tests.charts.graph.checks import measure
from tests.charts.graph.real_flows import real_flow


def real_labels(family: str, path: str = "") -> dict[str, NodeLabel]:
    flow = real_flow(family, path)
    labels = node_labels(flow)
    return {node.name: labels[node.id] for node in flow.nodes if node.id in labels}


def test_projections_have_letters() -> None:
    words = node_labels(made.bert_layer())
    letters = {name: words[f"attention.self.{name}"].title for name in ("query", "key", "value")}
    assert letters == {"query": "Q", "key": "K", "value": "V"}
    after = words["attention.output.dense"]
    assert (after.title, after.subscript, after.remark) == ("W", "O", "768×768")


def test_letters_are_seen_through_rotations() -> None:
    words = real_labels("llama", "layers.0")
    assert words["q_proj"].title == "Q"
    assert words["k_proj"].remark == "24×12"
    assert words["position embeddings"].title == "angles"


def test_a_fused_layer_has_all_letters() -> None:
    assert real_labels("gpt2", "h.0")["c_attn"].title == "Q K V"


def test_pieces_of_a_fused_layer_are_its_letters_too() -> None:
    pieces = [Node(name, "operation", "look-up", operation="look-up") for name in ("k", "v")]
    ways = (
        *(Edge("qkv", piece.id) for piece in pieces),
        Edge("qkv", "attention", role="query"),
        Edge("k", "attention", role="key"),
        Edge("v", "attention", role="value"),
    )
    every = (made.linear("qkv"), *pieces, made.attention())
    assert node_labels(made.flow("", "Falcon", every, ways))["qkv"].title == "Q K V"


def test_layers_are_named_by_their_numbers() -> None:
    layer = Node("l", "module", "layer 2", class_name="L", repeat=Repeat(2, 7, 6))
    named = Node("m", "module", "m", class_name="M", repeat=Repeat(0, 1, 2))
    words = node_labels(made.flow("", "Model", (layer, named), (Edge("l", "m"),)))
    assert words["m"].title == "m"
    assert words["l"].title == "layer 2–7"


def test_what_is_behind_the_layers_is_the_head() -> None:
    words = real_labels("bert")
    assert words["pooler"].part == "head"
    assert words["embeddings"].part == "embeddings"


def test_texts_are_cut_in_the_middle() -> None:
    text = "encoder.layer.11.attention.self.query"
    cut = elided(text, 100, measure, "text", 12)
    assert measure(cut, "text", 12) <= 100
    assert cut.startswith("encod")
    assert cut.endswith("query")
    assert elided(text, 1000, measure, "text", 12) == text
