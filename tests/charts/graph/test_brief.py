"""A drawing of names alone, which is laid out to be seen small."""

import pytest

from bertviewer.charts.graph.drawing import Drawing
from bertviewer.charts.graph.layout import draw
from bertviewer.core.schema.flow import Flow
from tests.charts.graph import blocks, flows
from tests.charts.graph.checks import check, measure

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
