"""Graphs of the parts of a model, which open down to single operations."""

import pytest
from msgspec.structs import replace

from bertviewer.charts.graph.layout import draw
from bertviewer.charts.map.part_graphs import WHOLE, PartGraphs, Scope
from bertviewer.core.schema.flow import Flow, Node
from tests.charts.graph.checks import measure
from tests.core.walkthrough.small_walkthroughs import small

FAMILIES = (
    "albert", "bart", "bert", "deberta-v2", "distilbert", "gpt2", "llama", "mixtral", "roberta",
    "t5",
)  # fmt: skip
LAYER = "encoder.layer.1"


def flow_of(graphs: PartGraphs, part: Scope | None) -> Flow:
    assert part is not None
    flow = graphs.flow(part)
    assert flow is not None
    return flow


def node(graphs: PartGraphs, part: Scope, name: str) -> Node:
    """Return the node of that name or operation."""
    flow = flow_of(graphs, part)
    return next(each for each in flow.nodes if name in (each.name, each.operation))


def inside(family: str, layer: str, name: str) -> tuple[Node, Flow]:
    """Return a node of a layer, and the flow inside it."""
    graphs, part = PartGraphs(small(family)), Scope(layer)
    found = node(graphs, part, name)
    return found, flow_of(graphs, graphs.inside(part, found))


def all_parts(graphs: PartGraphs) -> list[Scope]:
    """Return every part that can be opened, beginning with the whole model."""
    waiting, seen = [WHOLE], {WHOLE}
    for part in waiting:
        flow = graphs.flow(part)
        for each in () if flow is None else flow.nodes:
            inner = graphs.inside(part, each)
            if inner is not None and inner not in seen:
                seen.add(inner)
                waiting.append(inner)
    return waiting


@pytest.mark.parametrize("family", FAMILIES)
def test_contract_of_a_family(family: str) -> None:
    graphs = PartGraphs(small(family))
    # A model opens down to single operations, and every part leads up to the whole.
    operations: set[str | None] = set()
    for part in all_parts(graphs):
        flow = flow_of(graphs, part)
        operations |= {each.operation for each in flow.nodes if each.kind == "operation"}
        assert flow.is_consistent, part
        assert draw(flow, measure).nodes, part
        here, steps = part, 0
        while (above := graphs.above(here)) is not None:
            here, steps = above, steps + 1
            assert steps < 20, part
        assert here == WHOLE
    assert operations >= {"softmax", "linear"}
    # Each module that was called is shown somewhere.
    flows = graphs.architecture.flows
    assert flows is not None
    for path in (*flows.distinct, *flows.like):
        inner = flows.flow(path)
        if path and inner is not None and any(each.reads for each in inner.nodes):
            part = graphs.way(path)[-1]
            assert graphs.shown(part, path) or graphs.flow(Scope(path)) is not None, path


def test_the_way_to_a_module_goes_through_its_layer() -> None:
    found = PartGraphs(small("bert"))
    path = f"{LAYER}.attention.self.query"
    assert found.way(path) == (WHOLE, Scope(LAYER))
    assert found.above(Scope(path)) == Scope(LAYER)
    assert found.above(Scope(LAYER)) == WHOLE
    assert found.above(WHOLE) is None


def test_a_layer_is_shown_by_its_deck() -> None:
    found = PartGraphs(small("bert"))
    deck = node(found, WHOLE, "layer 0")
    assert found.shown(WHOLE, LAYER) == (deck.id,)
    assert found.box(WHOLE, Scope(LAYER)) == (deck, LAYER)
    assert found.inside(WHOLE, deck) == Scope("encoder.layer.0")
    assert found.inside(WHOLE, deck, LAYER) == Scope(LAYER)


def test_an_attention_is_shown_by_its_heads_and_its_parent_by_all_nodes_inside() -> None:
    found, layer = PartGraphs(small("bert")), Scope(LAYER)
    heads = node(found, layer, "attention")
    assert found.shown(layer, f"{LAYER}.attention.self") == (heads.id,)
    all_of_it = found.shown(layer, f"{LAYER}.attention")
    assert heads.id in all_of_it
    assert node(found, layer, "query").id in all_of_it
    assert node(found, layer, "feed-forward").id not in all_of_it


def test_a_layer_within_a_group_is_shown_by_the_group() -> None:
    found, layer = PartGraphs(small("bert")), Scope(LAYER)
    group = node(found, layer, "feed-forward")
    assert found.shown(layer, f"{LAYER}.intermediate.dense") == (group.id,)
    assert found.shown(layer, f"{LAYER}.intermediate") == (group.id,)
    assert group.id in found.shown(layer, f"{LAYER}.output")


def test_fused_attention_is_written_out() -> None:
    heads, flow = inside("gpt2", "h.1", "attention")
    names = [each.name for each in flow.nodes if each.kind != "constant"]
    assert names == ["Q", "K", "V", "Q Kᵀ", "÷ √8", "add", "softmax", "P V", "heads"]
    assert any(each.name == "causal mask" for each in flow.nodes)
    by_name = {each.name: each for each in flow.nodes}
    scores = by_name["softmax"].shape
    assert scores == (1, 3, scores[2], scores[2])
    assert by_name["heads"].shape == heads.shape
    assert sum(each.macs for each in flow.nodes) == heads.macs


def test_an_attention_without_a_scale_has_none() -> None:
    _, flow = inside("t5", "encoder.block.0", "attention")
    assert not any("÷" in each.name or "×" in each.name for each in flow.nodes)
    assert any(each.operation == "add" for each in flow.nodes), "the bias of positions"


def test_a_gate_has_both_branches() -> None:
    _, flow = inside("llama", "layers.1", "gated feed-forward")
    entry = next(each for each in flow.nodes if each.kind == "input")
    read = {edge.target for edge in flow.edges if edge.source == entry.id}
    assert {each.name for each in flow.nodes if each.id in read} == {"gate_proj", "up_proj"}
    assert [each.kind for each in flow.nodes].count("output") == 1


def test_without_flows_nothing_opens() -> None:
    found = PartGraphs(replace(small("bert"), flows=None))
    assert found.flow(WHOLE) is None
    assert found.way(LAYER) == (WHOLE,)
    assert found.shown(WHOLE, LAYER) == ()
