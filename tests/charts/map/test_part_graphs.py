"""Graphs of a model's parts."""

import pytest

from bertviewer.charts.graph.layout import draw
from bertviewer.charts.map.part_graphs import WHOLE, PartGraphs, Scope
from bertviewer.core.schema.flow import Node
from tests.core.walkthrough.small_walkthroughs import small

FAMILIES = (
    "albert", "bart", "bert", "deberta-v2", "distilbert", "gpt2", "llama", "mixtral", "roberta",
    "t5",
)  # fmt: skip
LAYER = "encoder.layer.1"


def atlas(family: str = "bert") -> PartGraphs:
    return PartGraphs(small(family))


def node(found: PartGraphs, part: Scope, name: str) -> Node:
    flow = found.flow(part)
    assert flow is not None
    return next(each for each in flow.nodes if name in (each.name, each.operation))


def measure(text: str, style: str, size: float) -> float:
    return 0.6 * size * len(text)


def all_parts(found: PartGraphs) -> list[Scope]:
    """Return every part that can be opened from the whole model on."""
    waiting, seen = [WHOLE], {WHOLE}
    for part in waiting:
        flow = found.flow(part)
        for each in () if flow is None else flow.nodes:
            inner = found.inside(part, each)
            if inner is not None and inner not in seen:
                seen.add(inner)
                waiting.append(inner)
    return waiting


@pytest.mark.parametrize("family", FAMILIES)
def test_a_model_opens_down_to_single_operations(family: str) -> None:
    found = atlas(family)
    parts = all_parts(found)
    operations: set[str | None] = set()
    for part in parts:
        flow = found.flow(part)
        assert flow is not None
        operations |= {each.operation for each in flow.nodes if each.kind == "operation"}
        assert flow.is_consistent, part
        assert draw(flow, measure).nodes, part
    assert operations >= {"softmax", "linear"}


@pytest.mark.parametrize("family", FAMILIES)
def test_from_each_part_one_comes_up_to_the_whole(family: str) -> None:
    found = atlas(family)
    for part in all_parts(found):
        here, steps = part, 0
        while (above := found.above(here)) is not None:
            here, steps = above, steps + 1
            assert steps < 20, part
        assert here == WHOLE


@pytest.mark.parametrize("family", FAMILIES)
def test_each_module_that_was_called_is_shown_somewhere(family: str) -> None:
    found = atlas(family)
    flows = found.architecture.flows
    assert flows is not None
    for path in (*flows.distinct, *flows.like):
        flow = flows.flow(path)
        if not path or flow is None or not any(each.reads for each in flow.nodes):
            continue
        part = found.way(path)[-1]
        assert found.shown(part, path) or found.flow(Scope(path)) is not None, path


def test_the_way_to_a_module_goes_through_its_layer() -> None:
    found = atlas()
    path = f"{LAYER}.attention.self.query"
    assert found.way(path) == (WHOLE, Scope(LAYER))
    assert found.above(Scope(path)) == Scope(LAYER)
    assert found.above(Scope(LAYER)) == WHOLE
    assert found.above(WHOLE) is None


def test_a_layer_is_shown_by_the_deck_that_it_is_in() -> None:
    found = atlas()
    deck = node(found, WHOLE, "layer 0")
    assert found.shown(WHOLE, LAYER) == (deck.id,)
    assert found.box(WHOLE, Scope(LAYER)) == (deck, LAYER)
    assert found.inside(WHOLE, deck) == Scope("encoder.layer.0")
    assert found.inside(WHOLE, deck, LAYER) == Scope(LAYER)


def test_an_attention_is_shown_by_its_heads_and_what_holds_several_by_all_of_them() -> None:
    found, layer = atlas(), Scope(LAYER)
    heads = node(found, layer, "attention")
    assert found.shown(layer, f"{LAYER}.attention.self") == (heads.id,)
    all_of_it = found.shown(layer, f"{LAYER}.attention")
    assert heads.id in all_of_it
    assert node(found, layer, "query").id in all_of_it
    assert node(found, layer, "feed-forward").id not in all_of_it


def test_a_layer_within_a_group_is_shown_by_the_group() -> None:
    found, layer = atlas(), Scope(LAYER)
    group = node(found, layer, "feed-forward")
    assert found.shown(layer, f"{LAYER}.intermediate.dense") == (group.id,)
    assert found.shown(layer, f"{LAYER}.intermediate") == (group.id,)
    assert group.id in found.shown(layer, f"{LAYER}.output")


def test_what_computes_an_attention_in_one_is_written_out() -> None:
    found, layer = atlas("gpt2"), Scope("h.1")
    heads = node(found, layer, "attention")
    inner = found.inside(layer, heads)
    assert inner is not None
    flow = found.flow(inner)
    assert flow is not None
    names = [each.name for each in flow.nodes if each.kind != "constant"]
    assert names == ["Q", "K", "V", "Q Kᵀ", "÷ √8", "add", "softmax", "P V", "heads"]
    assert any(each.name == "causal mask" for each in flow.nodes)
    scores, given = node(found, inner, "softmax"), node(found, inner, "heads")
    assert scores.shape == (1, 3, *scores.shape[2:])
    assert scores.shape[2] == scores.shape[3]
    assert given.shape == heads.shape
    assert sum(each.macs for each in flow.nodes) == heads.macs


def test_an_attention_without_a_scale_has_none() -> None:
    found, layer = atlas("t5"), Scope("encoder.block.0")
    inner = found.inside(layer, node(found, layer, "attention"))
    assert inner is not None
    flow = found.flow(inner)
    assert flow is not None
    assert not any("÷" in each.name or "×" in each.name for each in flow.nodes)
    assert any(each.operation == "add" for each in flow.nodes), "the bias of positions"


def test_a_gate_has_both_its_ways() -> None:
    found, layer = atlas("llama"), Scope("layers.1")
    inner = found.inside(layer, node(found, layer, "gated feed-forward"))
    assert inner is not None
    flow = found.flow(inner)
    assert flow is not None
    entry = next(each for each in flow.nodes if each.kind == "input")
    read = {edge.target for edge in flow.edges if edge.source == entry.id}
    assert {each.name for each in flow.nodes if each.id in read} == {"gate_proj", "up_proj"}
    assert [each.kind for each in flow.nodes].count("output") == 1


def test_without_flows_nothing_opens() -> None:
    from msgspec.structs import replace

    found = PartGraphs(replace(small("bert"), flows=None))
    assert found.flow(WHOLE) is None
    assert found.way(LAYER) == (WHOLE,)
    assert found.shown(WHOLE, LAYER) == ()
