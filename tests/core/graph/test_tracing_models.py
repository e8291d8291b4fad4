"""A forward pass of every kind of model is traced, from its configuration alone."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from bertviewer.core.graph.inputs.media import IMAGE, SERIES, SOUND
from bertviewer.core.graph.inputs.signature import TEXT
from bertviewer.core.graph.trace import Trace
from bertviewer.core.graph.tracing_models import TracedModel, trace_model
from bertviewer.core.sources.model_source import ModelSource, find_task
from tests.tools.small_models import configurations

FAMILIES: Mapping[str, tuple[str, ...]] = {
    "canine": (TEXT,),
    "fnet": (TEXT,),
    "funnel": (TEXT,),
    "longformer": (TEXT,),
    "mamba": (TEXT,),
    "mobilebert": (TEXT,),
    "lxmert": (TEXT,),
    "clip": (TEXT, IMAGE),
    "layoutlmv3": (TEXT, IMAGE),
    "llava": (TEXT, IMAGE),
    "qwen2_vl": (TEXT, IMAGE),
    "convnext": (IMAGE,),
    "detr": (IMAGE,),
    "swin": (IMAGE,),
    "vivit": (IMAGE,),
    "clap": (TEXT, SOUND),
    "audio-spectrogram-transformer": (SOUND,),
    "wav2vec2": (SOUND,),
    "whisper": (SOUND,),
    "autoformer": (SERIES,),
    "patchtst": (SERIES,),
    "decision_transformer": (),
    "perceiver": (),
}

DEEP = ("clap", "convnext", "swin")
"""They name their stages, or need as many as they have: no layer of theirs is cut."""


@cache
def traced(model_type: str, **changes: Any) -> TracedModel:
    config = {**configurations(model_type)[-1 if model_type in DEEP else 0], **changes}
    return trace_model(ModelSource("config", model_type, Path(), find_task("base")), config)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_is_traced_without_numbers(family: str) -> None:
    found = traced(family)
    assert found.trace.stopped is None
    assert found.device == "meta"
    assert found.kinds == FAMILIES[family]
    check_order(found.trace)


def check_order(trace: Trace) -> None:
    """What is read was there before, and calls lie in one another."""
    assert [call.path for call in trace.calls if call.above is None] == [""]
    made = {number for number, value in enumerate(trace.values) if value.kind != "result"}
    for operation in trace.operations:
        assert made.issuperset(operation.reads)
        made.update(operation.makes)
    for call in trace.calls:
        assert made.issuperset(value for _, value in (*call.inputs, *call.outputs))
        if call.above is not None:
            above = trace.calls[call.above]
            assert above.start <= call.start <= call.stop <= above.stop
            assert call.path.startswith(above.path)


def reads_of(trace: Trace, path: str) -> set[int]:
    """Return what the first call of a module reads and does not make itself."""
    call = trace.calls[trace.calls_of[path][0]]
    inside = [trace.operations[number] for number in call.operations]
    made = {value for operation in inside for value in operation.makes}
    return {value for operation in inside for value in operation.reads} - made


def made_in(trace: Trace, path: str) -> set[int]:
    call = trace.calls[trace.calls_of[path][0]]
    return {value for number in call.operations for value in trace.operations[number].makes}


def following(trace: Trace, values: set[int]) -> set[int]:
    """Return what is computed of any of these values, and these."""
    found = set(values)
    for operation in trace.operations:
        if found.intersection(operation.reads):
            found.update(operation.makes)
    return found


def test_several_inputs_are_told_apart() -> None:
    trace = traced("clip").trace
    root = trace.calls[0]
    assert {"input_ids", "attention_mask", "pixel_values"} <= dict(root.inputs).keys()
    assert {"logits_per_image", "text_embeds"} <= dict(root.outputs).keys()


def test_a_decoder_reads_what_the_encoder_made() -> None:
    trace = traced("t5").trace
    cross = "decoder.block.1.layer.1.EncDecAttention"
    assert reads_of(trace, cross) & made_in(trace, "encoder")
    assert not reads_of(trace, "decoder.block.1.layer.0") & made_in(trace, "encoder")


def test_a_layer_that_is_called_again_is_counted() -> None:
    trace = traced("albert", num_hidden_layers=3).trace
    numbers = trace.calls_of["encoder.albert_layer_groups.0.albert_layers.0"]
    assert [trace.calls[number].number for number in numbers] == [0, 1, 2]
    first, second = (trace.calls[number] for number in numbers[:2])
    assert dict(second.inputs)["hidden_states"] != dict(first.inputs)["hidden_states"]


def test_tokens_stand_for_an_image_as_the_model_wants_them() -> None:
    trace = traced("llava").trace
    ids, pixels = (dict(trace.calls[0].inputs)[name] for name in ("input_ids", "pixel_values"))
    side = trace.values[pixels].shape[-1] // 14
    assert trace.values[ids].shape == (1, 16 + side**2)
    reads = reads_of(trace, "language_model")
    assert reads & following(trace, made_in(trace, "multi_modal_projector"))


def test_experts_multiply_as_many_matrices_as_a_router_says() -> None:
    trace = traced("mixtral").trace
    path = "layers.0.mlp.experts"
    call = trace.calls[trace.calls_of[path][0]]
    rows = [
        product[0] for number in call.operations for product in trace.operations[number].products
    ]
    assert rows == [16 * 2, 16 * 2]


def test_a_model_that_looks_at_its_numbers_is_run_with_some() -> None:
    found = traced("jetmoe", hidden_size=64, intermediate_size=64, vocab_size=97, kv_channels=16)
    assert found.device == "cpu"
    assert found.trace.stopped is None
    check_order(found.trace)
    assert any(operation.products for operation in found.trace.operations)


@pytest.mark.parametrize(
    ("family", "changes", "path", "reason"),
    [
        ("bert", {"hidden_act": "gelu", "max_position_embeddings": 8}, "embeddings", "16"),
        ("sam2_video", {}, "", "inference_session"),
        ("bark", {}, "", "no known kind of input"),
    ],
)
def test_a_model_that_stops_says_where_and_why(
    family: str, changes: Mapping[str, Any], path: str, reason: str
) -> None:
    trace = traced(family, **changes).trace
    assert trace.stopped is not None
    assert trace.stopped[0] == path
    assert reason in trace.stopped[1]
    assert "\n" not in trace.stopped[1]


def test_what_was_traced_before_a_model_stopped_stays() -> None:
    trace = traced("bert", max_position_embeddings=8).trace
    assert "embeddings.word_embeddings" in trace.calls_of
    assert "encoder" not in trace.calls_of
    assert all(call.stop <= len(trace.operations) for call in trace.calls)
