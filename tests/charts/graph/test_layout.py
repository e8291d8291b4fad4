"""Layout: invariants of every drawing, and the positions of nodes of well-known layers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertviewer.charts.graph.drawing import Drawing, DrawnNode
from bertviewer.charts.graph.layout import draw
from bertviewer.core.schema.flow import Edge, Flow, Node
from tests.charts.graph import blocks, flows, nodes
from tests.charts.graph.checks import check, measure
from tests.charts.graph.random_flows import Builder

Pieces = tuple[list[Node], list[Edge], list[str], list[str]]
"""Nodes and edges, and those where data come in and go out."""


def at(drawing: Drawing, key: str) -> DrawnNode:
    return next(each for each in drawing.nodes if each.node.id == key)


def middle(placed: DrawnNode) -> tuple[float, float]:
    rect = placed.rect
    return rect.x + rect.width / 2, rect.y + rect.height / 2


@given(st.integers(0, 2**32), st.integers(0, 4))
def test_every_drawing_is_clear(seed: int, depth: int) -> None:
    flow = Builder(seed).flow(depth)
    check(draw(flow, measure), flow)


@pytest.mark.parametrize("name", flows.ALL)
def test_well_known_flows_are_clear(name: str) -> None:
    check(draw(flows.ALL[name], measure), flows.ALL[name])


@pytest.mark.parametrize("canvas", [300.0, 700.0, 5000.0])
@pytest.mark.parametrize("name", flows.ALL)
def test_any_canvas_will_do(name: str, canvas: float) -> None:
    check(draw(flows.ALL[name], measure, canvas=canvas), flows.ALL[name])


def test_the_same_flow_gives_the_same_drawing() -> None:
    assert draw(blocks.t5_decoder_block(), measure) == draw(blocks.t5_decoder_block(), measure)


@pytest.mark.parametrize("name", ["bert layer", "gpt2 block", "llama layer", "t5 decoder block"])
def test_the_residual_is_one_level_line(name: str) -> None:
    flow = flows.ALL[name]
    drawing = draw(flow, measure, canvas=5000)
    thick = [line for line in drawing.lines if line.weight == "residual"]
    assert {point[1] for line in thick for point in line.points} == {thick[0].points[0][1]}
    # From the first node to the last without a gap.
    assert min(x for line in thick for x, _ in line.points) == at(drawing, "in").rect.right
    assert max(x for line in thick for x, _ in line.points) == at(drawing, "out").rect.right
    for edge in flow.edges:
        if edge.role == "residual":
            assert any(line.edge is edge for line in thick)


def test_norms_stand_where_they_are() -> None:
    after, before = draw(blocks.bert_layer(), measure), draw(blocks.gpt2_block(), measure)
    line = middle(at(after, "+1"))[1]
    assert middle(at(after, "attention.output.LayerNorm"))[1] == line
    assert middle(at(after, "output.LayerNorm"))[1] == line
    assert middle(at(before, "ln_1"))[1] > line
    assert middle(at(before, "ln_2"))[1] > line


def test_queries_keys_and_values_go_straight_in_and_share_no_end() -> None:
    drawing = draw(blocks.bert_layer(), measure)
    ends = {
        line.edge.role: line.points
        for line in drawing.lines
        if line.edge.role in ("query", "key", "value")
    }
    assert all(len(points) == 2 for points in ends.values())
    heights = [ends[role][-1][1] for role in ("query", "key", "value")]
    assert heights == sorted(set(heights))


def test_one_layer_for_all_three_still_has_three_ends() -> None:
    drawing = draw(blocks.gpt2_block(), measure)
    ends = {line.points[-1] for line in drawing.lines if line.edge.target == "attention"}
    assert len(ends) == 3
    assert at(drawing, "attn.c_attn").labels[0].text == "Q K V"


def test_branches_hang_at_one_height() -> None:
    drawing = draw(blocks.gpt2_block(), measure)
    assert middle(at(drawing, "ln_1"))[1] == middle(at(drawing, "ln_2"))[1]


def test_a_cross_attention_reads_what_comes_from_elsewhere() -> None:
    drawing = draw(blocks.t5_decoder_block(), measure, canvas=5000)
    second, key = at(drawing, "encoder"), at(drawing, "layer.1.EncDecAttention.k")
    assert second.rect.right < key.rect.x
    # Not where the decoder's own states come in, far to the left.
    assert second.rect.x > middle(at(drawing, "+1"))[0]
    columns = {middle(at(drawing, f"layer.1.EncDecAttention.{name}"))[0] for name in "qkv"}
    assert len(columns) == 1


def test_rotations_share_their_angles() -> None:
    drawing = draw(blocks.llama_layer(), measure)
    upper, angles, lower = (at(drawing, key) for key in ("rotary q", "cos and sin", "rotary k"))
    assert upper.rect.bottom < angles.rect.y
    assert angles.rect.bottom < lower.rect.y
    assert len([each for each in drawing.nodes if each.node.id == "cos and sin"]) == 1


def test_what_comes_of_masks_is_pale() -> None:
    drawing = draw(blocks.bert_layer(), measure)
    weights = {line.edge.role: line.weight for line in drawing.lines}
    assert weights["mask"] == "side"
    assert at(drawing, "mask").form == "dashed pill"
    assert at(drawing, "mask").rect.y > at(drawing, "attention").rect.bottom


def test_equal_layers_are_a_deck() -> None:
    drawing = draw(flows.whole_bert(), measure)
    deck = at(drawing, "encoder.layer")
    assert deck.form == "deck"
    assert "×12" in [label.text for label in deck.labels]
    assert at(drawing, "pooler").part == "head"


def test_encoder_and_decoder_are_two_strips() -> None:
    drawing = draw(flows.whole_encoder_decoder(), measure)
    upper, lower = at(drawing, "encoder.block"), at(drawing, "decoder.block")
    assert upper.rect.bottom < lower.rect.y
    assert [label.text for label in drawing.labels] == ["encoder", "decoder"]
    crossing = next(line for line in drawing.lines if line.edge.role == "key")
    assert crossing.points[-1] == (middle(lower)[0], lower.rect.y)


def test_an_encoder_is_named_where_its_reader_is_in_another_row() -> None:
    flow = flows.whole_encoder_decoder()
    drawing = draw(flow, measure, canvas=420)
    again = [each for each in drawing.nodes if each.node.id == "encoder.final_layer_norm"]
    assert [each.is_again for each in again] == [False, True]
    assert again[1].labels[0].text == "encoder"


@pytest.mark.parametrize("heads", [1, 2, 7, 12, 16, 40, 128, 1000])
def test_heads_stay_small(heads: int) -> None:
    placed = at(draw(blocks.bert_layer(heads), measure), "attention")
    assert len(placed.tiles) == min(heads, 160)
    assert placed.rect.width < 220
    assert placed.rect.height < 160
    for tile in placed.tiles:
        assert placed.rect.x < tile.x
        assert tile.right < placed.rect.right
        assert placed.rect.y < tile.y
        assert tile.bottom < placed.rect.bottom
        assert tile.width > 4


def test_a_hundred_different_layers_take_rows() -> None:
    flow = flows.many_layers(100)
    drawing = draw(flow, measure)
    check(drawing, flow)
    assert drawing.width <= 1480
    assert len({each.rect.y for each in drawing.nodes if each.form == "box"}) > 5


def test_a_row_holds_more_than_an_input() -> None:
    flow = blocks.bert_layer()
    drawing = draw(flow, measure, canvas=300)
    check(drawing, flow)
    line = middle(at(drawing, "in"))[1]
    assert at(drawing, "attention.self.query").rect.x > at(drawing, "in").rect.right
    assert middle(at(drawing, "+1"))[1] == line
    assert middle(at(drawing, "output.LayerNorm"))[1] == middle(at(drawing, "+2"))[1]


def test_too_many_operations_are_listed() -> None:
    names = [f"step{number}" for number in range(40)]
    steps = [nodes.node(name, "operation", "exp") for name in names]
    flow = nodes.flow("mixer", "Mixer", steps, nodes.edges(" > ".join(names)))
    drawing = draw(flow, measure)
    check(drawing, flow)
    texts = [label.text for each in drawing.nodes for label in each.labels]
    assert texts[0].split() == ["0", "step0", "[1×8×768]"]
    assert texts[39].split() == ["39", "step39(38)", "[1×8×768]"]


def test_a_circle_is_listed() -> None:
    both = [nodes.node("a", path="a"), nodes.node("b", path="b")]
    flow = nodes.flow("odd", "Odd", both, nodes.edges("a > b > a"))
    check(draw(flow, measure), flow)


def test_an_empty_flow_has_its_title() -> None:
    drawing = draw(Flow("x", "Nothing", (), ()), measure, parameters=1)
    assert [label.text for label in drawing.title] == ["x", "Nothing · 1 parameter"]


def test_titles_say_what_it_is() -> None:
    title = draw(blocks.bert_layer(), measure, parameters=7_087_872).title
    assert [label.text for label in title] == [
        "encoder.layer.0",
        "BertLayer · 7,087,872 parameters · [1×8×768] → [1×8×768]",
    ]


def test_long_paths_are_cut_in_the_middle() -> None:
    path = "first." + "middle." * 60 + "last"
    flow = blocks.bert_layer()
    drawing = draw(Flow(path, flow.class_name, flow.nodes, flow.edges), measure)
    name = drawing.title[0].text
    assert name.startswith("first.")
    assert name.endswith("last")
    assert "…" in name
    end = drawing.title[1]
    assert end.x + measure(end.text, end.style, end.size) <= drawing.width


def test_further_outputs_leave_beside_the_line() -> None:
    flow = blocks.bert_layer()
    cache = nodes.node("present", "output", name="present key")
    flow = Flow(
        flow.path,
        flow.class_name,
        (*flow.nodes, cache),
        (*flow.edges, Edge("attention.self.key", "present")),
    )
    drawing = draw(flow, measure)
    check(drawing, flow)
    assert at(drawing, "present").form == "exit"
    assert at(drawing, "present").rect.y > at(drawing, "attention.self.key").rect.bottom


WIDE = 4000.0
FLOWS = (
    blocks.bert_layer(),
    blocks.gpt2_block(),
    blocks.llama_layer(),
    blocks.mixtral_layer(),
    blocks.t5_decoder_block(),
    blocks.deberta_attention(),
    flows.whole_encoder_decoder(),
)


def words(drawing: Drawing) -> set[str]:
    return {label.text for placed in drawing.nodes for label in placed.labels}


def smallest(drawing: Drawing) -> float:
    return min(label.size for placed in drawing.nodes for label in placed.labels)


@pytest.mark.parametrize("flow", FLOWS, ids=lambda flow: flow.class_name)
def test_it_stands_as_any_drawing_does(flow: Flow) -> None:
    drawing = draw(flow, measure, is_brief=True)
    assert drawing.is_brief
    check(drawing, flow)


@pytest.mark.parametrize("flow", FLOWS, ids=lambda flow: flow.class_name)
def test_its_letters_are_larger_for_the_room_that_it_takes(flow: Flow) -> None:
    full, brief = (draw(flow, measure, None, WIDE, is_brief=each) for each in (False, True))
    assert smallest(brief) / brief.width > smallest(full) / full.width
    assert smallest(brief) / brief.height > smallest(full) / full.height


def test_it_has_names_and_no_sizes() -> None:
    full, brief = (draw(blocks.bert_layer(), measure, is_brief=each) for each in (False, True))
    names = {"Q", "K", "V", "W", "O", "Norm", "GELU"}
    assert names <= words(full)
    assert names <= words(brief)
    assert any("×" in text for text in words(full))
    assert not any("×" in text or "→" in text or "heads" in text for text in words(brief))


def structure(flow: Flow) -> list[str]:
    """Return the columns from left to right, each from above to below, with forms and titles."""
    columns: dict[int, list[DrawnNode]] = {}
    for placed in draw(flow, measure, canvas=5000).nodes:
        rect = placed.rect
        columns.setdefault(round(rect.x + rect.width / 2), []).append(placed)
    return [
        " / ".join(shown(each) for each in sorted(columns[x], key=lambda each: each.rect.y))
        for x in sorted(columns)
    ]


def shown(placed: DrawnNode) -> str:
    title = placed.labels[0].text if placed.labels else placed.node.name
    return title if placed.form == "box" else f"{title} ({placed.form})"


STRUCTURES = {
    "bert layer": [
        "hidden states (input)",
        "Q / K / V",
        "12 heads of 64 (attention) / mask (dashed pill)",
        "W",
        "add (sign)",
        "Norm (norm)",
        "dense (feed-forward)",
        "add (sign)",
        "Norm (norm)",
        "hidden states (output)",
    ],
    "gpt2 block": [
        "hidden states (input)",
        "Norm (norm)",
        "Q K V",
        "12 heads of 64 (attention)",
        "W",
        "add (sign)",
        "Norm (norm)",
        "c_fc (feed-forward)",
        "add (sign)",
        "hidden states (output)",
    ],
    "llama layer": [
        "hidden states (input)",
        "RMS norm (norm)",
        "Q / K / V",
        "rotary (pill) / angles (dashed pill) / rotary (pill)",
        "12 heads, 3 for K and V (attention)",
        "W",
        "add (sign)",
        "RMS norm (norm)",
        "gate_proj (gated feed-forward)",
        "add (sign)",
        "hidden states (output)",
    ],
    "mixtral layer": [
        "hidden states (input)",
        "RMS norm (norm)",
        "Q / K / V",
        "rotary (pill) / angles (dashed pill) / rotary (pill)",
        "12 heads, 3 for K and V (attention)",
        "W",
        "add (sign)",
        "RMS norm (norm)",
        "router",
        "8 experts (deck)",
        "add (sign)",
        "hidden states (output)",
    ],
    "t5 decoder block": [
        "hidden states (input)",
        "RMS norm (norm)",
        "Q / K / V",
        "position bias (dashed pill) / relative_attention_bias (pill)",
        "12 heads of 64 (attention)",
        "mask (dashed pill)",
        "W",
        "add (sign)",
        "encoder hidden states (input)",
        "RMS norm (norm)",
        "Q / K / V",
        "12 heads of 64 (attention) / mask (dashed pill)",
        "W",
        "add (sign)",
        "RMS norm (norm)",
        "wi (feed-forward)",
        "add (sign)",
        "hidden states (output)",
    ],
    "deberta attention": [
        "hidden states (input)",
        "Q / K / V",
        "position bias / rel_embeddings (pill)",
        "12 heads of 64 (attention) / mask (dashed pill)",
        "W",
        "add (sign)",
        "Norm (norm)",
        "hidden states (output)",
    ],
    "whole bert": [
        "input_ids (input)",
        "embeddings",
        "layer (deck) / mask (dashed pill) / attention_mask (dashed pill)",
        "pooler",
        "last_hidden_state (output) / pooler_output (output)",
    ],
    "whole encoder-decoder": [
        "input_ids (input) / decoder_input_ids (input)",
        "shared",
        "shared",
        "block (deck) / mask (dashed pill)",
        "causal mask (dashed pill)",
        "block (deck)",
        "mask (dashed pill)",
        "RMS norm (norm)",
        "RMS norm (norm)",
        "last_hidden_state (output)",
    ],
}


@pytest.mark.parametrize("name", flows.ALL)
def test_nodes_stand_where_they_did(name: str) -> None:
    assert structure(flows.ALL[name]) == STRUCTURES[name]
