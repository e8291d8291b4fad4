"""The whole model as blocks."""

from bertviewer.charts.map.blocks import strips_of
from bertviewer.core.schema.flow import Flow
from tests.core.walkthrough.small_walkthroughs import flowing, small


def whole(family: str) -> Flow:
    flows = small(family).flows
    assert flows is not None
    flow = flows.flow("")
    assert flow is not None
    return flow


def test_a_bert_is_embeddings_layers_and_a_pooler() -> None:
    (strip,) = strips_of(whole("bert"))
    assert [block.name for block in strip.blocks] == ["embeddings", "layer 0", "layer 1", "pooler"]
    assert [block.path for block in strip.blocks][1:3] == ["encoder.layer.0", "encoder.layer.1"]
    assert [block.is_layer for block in strip.blocks] == [False, True, True, False]
    assert [block.hue for block in strip.blocks] == ["embeddings", "plain", "plain", "head"]


def test_an_encoder_and_a_decoder_are_two_strips() -> None:
    for family in ("t5", "bart"):
        encoder, decoder = strips_of(whole(family))
        assert (encoder.name, decoder.name) == ("encoder", "decoder")
        for strip in (encoder, decoder):
            layers = [block.path for block in strip.blocks if block.is_layer]
            assert len(layers) == 2
            assert all(path.startswith(strip.name) for path in layers)


def test_a_shared_layer_is_a_block_for_each_of_its_calls() -> None:
    flows = flowing("albert-base-v2").flows
    assert flows is not None
    flow = flows.flow("")
    assert flow is not None
    (strip,) = strips_of(flow)
    layers = [block for block in strip.blocks if block.is_layer]
    assert len(layers) == 12
    assert len({block.path for block in layers}) == 1
    assert [block.part.call for block in layers] == list(range(12))
