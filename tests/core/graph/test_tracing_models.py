"""Forward passes of all kinds of models are traced, from their configurations alone."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from bertviewer.core.graph.inputs.media import IMAGE, SERIES, SOUND
from bertviewer.core.graph.inputs.signature import TEXT
from bertviewer.core.graph.tracing_models import TracedModel, trace_model
from bertviewer.core.sources.model_source import ModelSource, find_task
from tests.core.graph.readers import assert_in_order
from tests.tools.small_models import configurations

FAMILIES: Mapping[str, tuple[str, ...]] = {
    "canine": (TEXT,),
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
"""Families whose configuration cannot have fewer layers."""


@cache
def traced(model_type: str, **changes: Any) -> TracedModel:
    config = {**configurations(model_type)[-1 if model_type in DEEP else 0], **changes}
    return trace_model(ModelSource("config", model_type, Path(), find_task("base")), config)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_is_traced_on_the_meta_device(family: str) -> None:
    found = traced(family)
    assert found.trace.stopped is None
    assert found.device == "meta"
    assert found.kinds == FAMILIES[family]
    assert_in_order(found.trace)


def test_an_image_has_tokens_in_the_text() -> None:
    trace = traced("llava").trace
    ids, pixels = (dict(trace.calls[0].inputs)[name] for name in ("input_ids", "pixel_values"))
    side = trace.values[pixels].shape[-1] // 14
    assert trace.values[ids].shape == (1, 16 + side**2)


def test_experts_multiply_the_rows_that_are_routed_to_them() -> None:
    trace = traced("mixtral").trace
    path = "layers.0.mlp.experts"
    call = trace.calls[trace.calls_of[path][0]]
    rows = [
        product[0] for number in call.operations for product in trace.operations[number].products
    ]
    assert rows == [16 * 2, 16 * 2]


def test_a_model_that_depends_on_values_is_run_with_random_weights() -> None:
    found = traced("jetmoe", hidden_size=64, intermediate_size=64, vocab_size=97, kv_channels=16)
    assert found.device == "cpu"
    assert found.trace.stopped is None
    assert_in_order(found.trace)
    assert any(operation.products for operation in found.trace.operations)


@pytest.mark.parametrize(
    ("family", "changes", "path", "reason"),
    [
        ("bert", {"hidden_act": "gelu", "max_position_embeddings": 8}, "embeddings", "16"),
        ("sam2_video", {}, "", "inference_session"),
        ("bark", {}, "", "no known kind of input"),
    ],
)
def test_a_pass_that_stops_has_a_module_and_a_reason(
    family: str, changes: Mapping[str, Any], path: str, reason: str
) -> None:
    trace = traced(family, **changes).trace
    assert trace.stopped is not None
    assert trace.stopped[0] == path
    assert reason in trace.stopped[1]
    assert "\n" not in trace.stopped[1]


def test_a_pass_that_stops_keeps_earlier_calls() -> None:
    trace = traced("bert", max_position_embeddings=8).trace
    assert "embeddings.word_embeddings" in trace.calls_of
    assert "encoder" not in trace.calls_of
    assert all(call.stop <= len(trace.operations) for call in trace.calls)
