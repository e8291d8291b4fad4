"""The blocks of a whole model."""

from bertviewer.charts.map.blocks import strips_of
from bertviewer.core.schema.flow import Flow
from tests.charts.graph.real_flows import real_flow
from tests.core.walkthrough.small_walkthroughs import flowing


def test_a_bert_is_embeddings_layers_and_a_pooler() -> None:
    (strip,) = strips_of(real_flow("bert"))
    assert [block.name for block in strip.blocks] == ["embeddings", "layer 0", "layer 1", "pooler"]
    assert [block.path for block in strip.blocks][1:3] == ["encoder.layer.0", "encoder.layer.1"]
    assert [block.is_layer for block in strip.blocks] == [False, True, True, False]
    assert [block.hue for block in strip.blocks] == ["embeddings", "plain", "plain", "head"]


def test_an_encoder_and_a_decoder_are_two_strips() -> None:
    for family in ("t5", "bart"):
        strips = strips_of(real_flow(family))
        assert [strip.name for strip in strips] == ["encoder", "decoder"]
        for strip in strips:
            layers = [block.path for block in strip.blocks if block.is_layer]
            assert len(layers) == 2
            assert all(path.startswith(strip.name) for path in layers)


def test_a_shared_layer_has_a_block_for_each_call() -> None:
    flows = flowing("albert-base-v2").flows
    flow: Flow | None = None if flows is None else flows.flow("")
    assert flow is not None
    (strip,) = strips_of(flow)
    layers = [block for block in strip.blocks if block.is_layer]
    assert len(layers) == 12
    assert len({block.path for block in layers}) == 1
    assert [block.part.call for block in layers] == list(range(12))
