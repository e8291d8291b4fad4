"""torch's fused attention, expanded."""

import pytest
from msgspec.structs import replace

from bertviewer.charts.graph.fused_attention import with_projections
from bertviewer.charts.graph.layout import draw
from bertviewer.core.schema.flow import Flow, Node
from tests.charts.graph.checks import check, measure
from tests.core.opened import derived

ENCODER, DECODER = "transformer.encoder.layers.0", "transformer.decoder.layers.0"


def flow_of(path: str) -> Flow:
    flows = derived("transformer-base").flows
    flow = None if flows is None else flows.flow(path)
    assert flow is not None
    return flow


def named(flow: Flow, *ends: str) -> list[Node]:
    return [node for node in flow.nodes if node.id.rpartition(" ")[2] in ends]


@pytest.mark.parametrize(
    ("path", "count"),
    [(ENCODER, 1), (f"{ENCODER}.self_attn", 1), (DECODER, 2), (f"{DECODER}.multihead_attn", 1)],
)
def test_its_layers_stand_around_its_heads(path: str, count: int) -> None:
    flow = flow_of(path)
    found = with_projections(flow)
    assert len(named(found, "query", "key", "value")) == 3 * count
    assert len(named(found, "outer")) == count
    assert found.macs == flow.macs
    heads = [node for node in found.nodes if node.operation == "attention"]
    assert [node.details["heads"] for node in heads] == [8] * count
    assert {node.shape[1] for node in heads} == {8}
    # What is written out once stays as it is.
    assert with_projections(found) == found
    drawing = draw(found, measure)
    check(drawing, found)
    texts = [label.text for each in drawing.nodes for label in each.labels]
    assert [texts.count(letter) for letter in "QKVW"] == [count] * 4
    assert draw(flow, measure) == drawing


def test_a_cross_attention_takes_keys_and_values_from_the_other_side() -> None:
    flow = with_projections(flow_of(f"{DECODER}.multihead_attn"))
    names = {node.id: node.name for node in flow.nodes}
    into = {edge.target.rpartition(" ")[2]: names[edge.source] for edge in flow.edges}
    assert (into["query"], into["key"], into["value"]) == ("query", "key", "key")


def test_the_mask_stays_with_the_heads() -> None:
    flow = with_projections(flow_of(DECODER))
    (heads, _) = [node for node in flow.nodes if node.operation == "attention"]
    masks = [edge for edge in flow.edges if edge.role == "mask"]
    assert [edge.target for edge in masks] == [heads.id]
    assert heads.details["causal"]


def test_an_uncommon_one_stays_closed() -> None:
    flow = flow_of(f"{ENCODER}.self_attn")
    (node,) = [node for node in flow.nodes if node.operation == "attention"]
    separate = [
        replace(each, plain="True") if each.key == "use_separate_proj_weight" else each
        for each in node.operands
    ]
    changed = replace(node, operands=tuple(separate))
    uncommon = replace(flow, nodes=tuple(changed if n is node else n for n in flow.nodes))
    assert with_projections(uncommon) == uncommon
