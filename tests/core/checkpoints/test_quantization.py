"""Quantized weights are recognised by the names and dtypes of a checkpoint's tensors."""

from pathlib import Path
from typing import Any

import pytest

from bertviewer.core.checkpoints.quantization import Quantization, packed_weights, quantization_of
from bertviewer.core.checkpoints.stored import StoredTensor

OWNER = "encoder.layer.0.attention.self.query"
WEIGHT = f"{OWNER}.weight"


def stored(tensors: str, owner: str = "") -> dict[str, StoredTensor]:
    """Return tensors that are written as ``.name DTYPE ROWSxCOLUMNS, …``."""
    found = {}
    for tensor in tensors.split(", "):
        name, dtype, *shape = tensor.split()
        sizes = tuple(int(size) for text in shape for size in text.split("x"))
        found[owner + name] = StoredTensor(owner + name, dtype, sizes, Path("x"), 0, 0)
    return found


SCHEMES = {
    ".qweight I32 4x32, .qzeros I32 1x4, .scales F16 1x32, .g_idx I32 32": ("gptq", 4),
    ".qweight I32 8x32, .qzeros I32 1x8, .scales F16 1x32": ("gptq", 8),
    ".qweight I32 32x4, .qzeros I32 1x4, .scales F16 1x32": ("awq", 4),
    ".weight U8 512x1, .weight.absmax F32 16, .weight.quant_map F32 16, "
    ".weight.quant_state.bitsandbytes__nf4 U8 80": ("bitsandbytes", 4),
    ".weight I8 32x32, .SCB F32 32, .weight_format U8": ("bitsandbytes", 8),
    ".weight_packed I32 32x4, .weight_scale F16 32x1, .weight_shape I64 2": (
        "compressed-tensors", None
    ),
    ".weight_packed F4 32x32, .weight_scale F8_E4M3 32x2": ("compressed-tensors", None),
    ".weight I8 32x32, .weight_scale F16 32x1": ("int8", 8),
    ".weight F8_E4M3 32x32": ("fp8", 8),
    ".weight F8_E4M3FNUZ 32x32": ("fp8", 8),
    ".weight F8_E4M3 32x32, .weight_scale_inv F32 1x1": ("fp8", 8),
    ".weight F8_E4M3 32x32, .weight_scale F32 32x1, .input_scale_ub F32 1": ("fp8", 8),
    ".weight._data I8 32x32, .weight._scale F32 32x1": ("quanto", 8),
    "._weight_qdata I8 32x32, ._weight_scale F32 32x1": ("torchao", 8),
    ".W_q U8 512x1, .scale F16 1x2, .zero F16 1x2": ("hqq", None),
    ".codes I16 4x4x1, .codebooks F16 1x256x1x8": ("aqlm", None),
    ".weight F4 32x32, .weight_scale F8_E8M0 32x1": ("unknown", 4),
    ".weight F6_E3M2 32x32": ("unknown", 6),
}  # fmt: skip
"""The tensors of a weight, with the method and the bits of its codes."""
PLAIN = {
    **stored(".bias F32 32", OWNER),
    **stored(
        "encoder.layer.1.output.dense.weight BF16 32x32, norm.scale F32 32, "
        "embeddings.position_ids I64 1x512, h.0.attn.bias U8 1x1x8x8, bn.num_batches_tracked I64, "
        "text.embeddings.class_embedding F32 32, text.embeddings.position_ids I64 1x12, "
        "image.embeddings.class_embedding F32 32, image.embeddings.position_ids I64 1x12, "
        "layers.0.attn.relative_position_bias_table F32 9x4, "
        "layers.0.attn.relative_position_index I64 4x4, "
        "layers.1.attn.relative_position_bias_table F32 9x4, "
        "layers.1.attn.relative_position_index I64 4x4"
    ),
}
"""Weights and buffers that are not quantized."""


@pytest.mark.parametrize("tensors", SCHEMES)
def test_codes_and_their_companions_belong_to_one_weight(tensors: str) -> None:
    own = stored(tensors, OWNER)
    assert packed_weights(PLAIN | own) == dict.fromkeys(own, WEIGHT)
    assert quantization_of(PLAIN | own, None) == Quantization(*SCHEMES[tensors], 1)


@pytest.mark.parametrize(
    "tensors",
    [
        ".indices I16 1x32x4, .centroids.weight F32 1x2048, .weight_scale F32 32",
        ".dense_weights I64 64, .row_offsets I32 33",
        ".trellis I16 2x2x48, .suh F16 32, .svh F16 32",
        ".some_codes U8 32x16, .some_table BF16 32x2",
    ],
)
def test_codes_of_unknown_methods_are_recognised_by_their_dtypes(tensors: str) -> None:
    key = OWNER.replace("query", "key")
    queries, keys = stored(tensors, OWNER), stored(tensors, key)
    found = PLAIN | queries | keys
    assert packed_weights(found) == {
        **dict.fromkeys(queries, WEIGHT),
        **dict.fromkeys(keys, f"{key}.weight"),
    }
    assert quantization_of(found, None) == Quantization("unknown", None, 2)
    assert quantization_of(found, {"quant_method": "x"}) == Quantization("x", None, 2)


def test_experts_are_a_parameter_without_the_suffix_weight() -> None:
    experts = stored("_blocks U8 4x64x1x16, _scales U8 4x64x1, _bias F32 4x64", "mlp.gate_up_proj")
    packed = packed_weights(experts)
    assert packed == dict.fromkeys(list(experts)[:2], "mlp.gate_up_proj")
    assert quantization_of(experts, {}) == Quantization("mxfp4", 4, 1)


def test_plain_numbers_are_not_quantized() -> None:
    assert packed_weights(PLAIN) == {}
    assert quantization_of(PLAIN, {"quant_method": "gptq", "bits": 4}) is None


@pytest.mark.parametrize(
    ("settings", "expected"),
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
def test_the_configuration_takes_precedence(
    settings: Any, expected: tuple[str, int | None]
) -> None:
    assert quantization_of(None, settings) == Quantization(*expected)
    tensors = stored(".weight U8 512x1", OWNER)
    assert quantization_of(tensors, settings) == Quantization(*expected, 1)


def test_deeply_nested_settings_are_ignored() -> None:
    settings: dict[str, Any] = {}
    for _ in range(2000):
        settings = {"a": settings}
    assert quantization_of(None, settings) == Quantization("unknown", None)
