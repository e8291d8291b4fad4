"""Labels of nodes."""

from bertviewer.charts.graph.node_labels import elided, node_labels
from bertviewer.core.schema.flow import Edge, Node
from bertviewer.core.schema.modules import Repeat
from tests.charts.graph import blocks, flows, nodes
from tests.charts.graph.checks import measure


def test_projections_have_letters() -> None:
    words = node_labels(blocks.bert_layer())
    letters = {name: words[f"attention.self.{name}"].title for name in ("query", "key", "value")}
    assert letters == {"query": "Q", "key": "K", "value": "V"}
    after = words["attention.output.dense"]
    assert (after.title, after.subscript, after.remark) == ("W", "O", "768×768")


def test_letters_are_seen_through_rotations() -> None:
    words = node_labels(blocks.llama_layer())
    assert words["self_attn.q_proj"].title == "Q"
    assert words["self_attn.k_proj"].remark == "768×192"
    assert words["cos and sin"].title == "angles"


def test_a_fused_layer_has_all_letters() -> None:
    assert node_labels(blocks.gpt2_block())["attn.c_attn"].title == "Q K V"


def test_pieces_of_a_fused_layer_are_its_letters_too() -> None:
    pieces = [Node(name, "operation", "look-up", operation="look-up") for name in ("k", "v")]
    ways = (
        *(Edge("qkv", piece.id) for piece in pieces),
        Edge("qkv", "attention", role="query"),
        Edge("k", "attention", role="key"),
        Edge("v", "attention", role="value"),
    )
    every = (nodes.linear("qkv"), *pieces, nodes.attention())
    assert node_labels(nodes.flow("", "Falcon", every, ways))["qkv"].title == "Q K V"


def test_layers_are_named_by_their_numbers() -> None:
    layer = Node("l", "module", "layer 2", class_name="L", repeat=Repeat(2, 7, 6))
    named = Node("m", "module", "m", class_name="M", repeat=Repeat(0, 1, 2))
    words = node_labels(nodes.flow("", "Model", (layer, named), (Edge("l", "m"),)))
    assert words["m"].title == "m"
    assert words["l"].title == "layer 2–7"


def test_what_is_behind_the_layers_is_the_head() -> None:
    words = node_labels(flows.whole_bert())
    assert words["pooler"].part == "head"
    assert words["embeddings"].part == "embeddings"


def test_texts_are_cut_in_the_middle() -> None:
    text = "encoder.layer.11.attention.self.query"
    cut = elided(text, 100, measure, "text", 12)
    assert measure(cut, "text", 12) <= 100
    assert cut.startswith("encod")
    assert cut.endswith("query")
    assert elided(text, 1000, measure, "text", 12) == text
