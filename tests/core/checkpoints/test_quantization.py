"""Quantized weights are found by the names and dtypes of a checkpoint's tensors."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bertviewer.core.checkpoints.quantization import Quantization, packed_weights, quantization_of
from bertviewer.core.checkpoints.stored import StoredTensor

OWNER = "encoder.layer.0.attention.self.query"
WEIGHT = f"{OWNER}.weight"
Tensors = Mapping[str, tuple[str, tuple[int, ...]]]

SCHEMES: dict[str, tuple[Tensors, tuple[str, int | None]]] = {
    "GPTQ": (
        {
            ".qweight": ("I32", (4, 32)),
            ".qzeros": ("I32", (1, 4)),
            ".scales": ("F16", (1, 32)),
            ".g_idx": ("I32", (32,)),
        },
        ("gptq", 4),
    ),
    "GPTQ, 8 bits": (
        {".qweight": ("I32", (8, 32)), ".qzeros": ("I32", (1, 8)), ".scales": ("F16", (1, 32))},
        ("gptq", 8),
    ),
    "AWQ": (
        {".qweight": ("I32", (32, 4)), ".qzeros": ("I32", (1, 4)), ".scales": ("F16", (1, 32))},
        ("awq", 4),
    ),
    "bitsandbytes, 4 bits": (
        {
            ".weight": ("U8", (512, 1)),
            ".weight.absmax": ("F32", (16,)),
            ".weight.quant_map": ("F32", (16,)),
            ".weight.quant_state.bitsandbytes__nf4": ("U8", (80,)),
        },
        ("bitsandbytes", 4),
    ),
    "bitsandbytes, 8 bits": (
        {".weight": ("I8", (32, 32)), ".SCB": ("F32", (32,)), ".weight_format": ("U8", ())},
        ("bitsandbytes", 8),
    ),
    "compressed-tensors": (
        {
            ".weight_packed": ("I32", (32, 4)),
            ".weight_scale": ("F16", (32, 1)),
            ".weight_shape": ("I64", (2,)),
        },
        ("compressed-tensors", None),
    ),
    "8-bit integers": (
        {".weight": ("I8", (32, 32)), ".weight_scale": ("F16", (32, 1))},
        ("int8", 8),
    ),
    "FP8 without scales": ({".weight": ("F8_E4M3", (32, 32))}, ("fp8", 8)),
    "FP8 in blocks": (
        {".weight": ("F8_E4M3", (32, 32)), ".weight_scale_inv": ("F32", (1, 1))},
        ("fp8", 8),
    ),
    "FBGEMM": (
        {
            ".weight": ("F8_E4M3", (32, 32)),
            ".weight_scale": ("F32", (32, 1)),
            ".input_scale_ub": ("F32", (1,)),
        },
        ("fp8", 8),
    ),
    "quanto": (
        {".weight._data": ("I8", (32, 32)), ".weight._scale": ("F32", (32, 1))},
        ("quanto", 8),
    ),
    "torchao": (
        {"._weight_qdata": ("I8", (32, 32)), "._weight_scale": ("F32", (32, 1))},
        ("torchao", 8),
    ),
    "HQQ": (
        {".W_q": ("U8", (512, 1)), ".scale": ("F16", (1, 2)), ".zero": ("F16", (1, 2))},
        ("hqq", None),
    ),
    "4 bits in a dtype of its own": (
        {".weight": ("F4", (32, 32)), ".weight_scale": ("F8_E8M0", (32, 1))},
        ("unknown", 4),
    ),
    "packed 4 bits in a dtype of its own": (
        {".weight_packed": ("F4", (32, 32)), ".weight_scale": ("F8_E4M3", (32, 2))},
        ("compressed-tensors", None),
    ),
    "6 bits": ({".weight": ("F6_E3M2", (32, 32))}, ("unknown", 6)),
    "FP8 of other hardware": ({".weight": ("F8_E4M3FNUZ", (32, 32))}, ("fp8", 8)),
    "AQLM": (
        {".codes": ("I16", (4, 4, 1)), ".codebooks": ("F16", (1, 256, 1, 8))},
        ("aqlm", None),
    ),
}


def stored(tensors: Tensors, owner: str = "") -> dict[str, StoredTensor]:
    return {
        owner + name: StoredTensor(owner + name, dtype, shape, Path("x"), 0, 0)
        for name, (dtype, shape) in tensors.items()
    }


PLAIN = stored(
    {
        f"{OWNER}.bias": ("F32", (32,)),
        "encoder.layer.1.output.dense.weight": ("BF16", (32, 32)),
        "norm.scale": ("F32", (32,)),
        "embeddings.position_ids": ("I64", (1, 512)),
        "h.0.attn.bias": ("U8", (1, 1, 8, 8)),
        "bn.num_batches_tracked": ("I64", ()),
        "text.embeddings.class_embedding": ("F32", (32,)),
        "text.embeddings.position_ids": ("I64", (1, 12)),
        "image.embeddings.class_embedding": ("F32", (32,)),
        "image.embeddings.position_ids": ("I64", (1, 12)),
        "layers.0.attn.relative_position_bias_table": ("F32", (9, 4)),
        "layers.0.attn.relative_position_index": ("I64", (4, 4)),
        "layers.1.attn.relative_position_bias_table": ("F32", (9, 4)),
        "layers.1.attn.relative_position_index": ("I64", (4, 4)),
    }
)


@pytest.mark.parametrize("name", SCHEMES)
def test_codes_and_all_that_belongs_to_them_are_one_weight(name: str) -> None:
    tensors, (method, bits) = SCHEMES[name]
    found = {**PLAIN, **stored(tensors, OWNER)}
    assert packed_weights(found) == {OWNER + part: WEIGHT for part in tensors}
    assert quantization_of(found, None) == Quantization(method, bits, 1)


@pytest.mark.parametrize(
    "tensors",
    [
        {
            ".indices": ("I16", (1, 32, 4)),
            ".centroids.weight": ("F32", (1, 2048)),
            ".weight_scale": ("F32", (32,)),
        },
        {".dense_weights": ("I64", (64,)), ".row_offsets": ("I32", (33,))},
        {".trellis": ("I16", (2, 2, 48)), ".suh": ("F16", (32,)), ".svh": ("F16", (32,))},
        {".some_codes": ("U8", (32, 16)), ".some_table": ("BF16", (32, 2))},
    ],
)
def test_codes_of_an_unknown_method_are_found_by_their_dtypes(tensors: Tensors) -> None:
    other = OWNER.replace("query", "key")
    found = {**PLAIN, **stored(tensors, OWNER), **stored(tensors, other)}
    packed = {OWNER + part: WEIGHT for part in tensors}
    packed |= {other + part: f"{other}.weight" for part in tensors}
    assert packed_weights(found) == packed
    assert quantization_of(found, None) == Quantization("unknown", None, 2)
    assert quantization_of(found, {"quant_method": "x"}) == Quantization("x", None, 2)


def test_experts_have_no_weight_of_that_name() -> None:
    experts = stored(
        {
            "experts.gate_up_proj_blocks": ("U8", (4, 64, 1, 16)),
            "experts.gate_up_proj_scales": ("U8", (4, 64, 1)),
            "experts.gate_up_proj_bias": ("F32", (4, 64)),
        }
    )
    assert set(packed_weights(experts).values()) == {"experts.gate_up_proj"}
    assert len(packed_weights(experts)) == 2
    assert quantization_of(experts, {}) == Quantization("mxfp4", 4, 1)


def test_plain_numbers_are_not_quantized() -> None:
    assert packed_weights(PLAIN) == {}
    assert quantization_of(PLAIN, {"quant_method": "gptq", "bits": 4}) is None


@pytest.mark.parametrize(
    ("settings", "found"),
    [
        ({"quant_method": "gptq", "bits": 3}, ("gptq", 3)),
        ({"load_in_4bit": True}, ("bitsandbytes", 4)),
        ({"quant_method": "fbgemm_fp8"}, ("fbgemm_fp8", 8)),
        (
            {"quant_method": "hqq", "quant_config": {"weight_quant_params": {"nbits": 2}}},
            ("hqq", 2),
        ),
        ({"quant_method": "quanto", "weights": "int2"}, ("quanto", 2)),
        ({"bits": "many", "quant_method": 5}, ("unknown", None)),
    ],
)
def test_the_configuration_knows_better(settings: Any, found: tuple[str, int | None]) -> None:
    without = quantization_of(None, settings)
    assert without == Quantization(*found)
    tensors = stored({".weight": ("U8", (512, 1))}, OWNER)
    assert quantization_of(tensors, settings) == Quantization(*found, 1)


def test_settings_may_be_nested_deeply() -> None:
    settings: dict[str, Any] = {}
    for _ in range(2000):
        settings = {"a": settings}
    assert quantization_of(None, settings) == Quantization("unknown", None)
