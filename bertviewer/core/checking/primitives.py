"""torch's own small modules, and the activation functions."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from bertviewer.core.checking import arithmetic
from bertviewer.core.checking.evaluator import Evaluator, Given, NoRecomputationError, Recomputation


def linear(module: Evaluator, x: Tensor) -> Tensor:
    """Y = X Wᵀ + b."""
    return arithmetic.affine(x, module.weight(), module.tensor("bias"))


def conv1d(module: Evaluator, x: Tensor) -> Tensor:
    """Y = X W + b: Conv1D stores its weight as [in, out]."""
    product = x @ module.weight()
    bias = module.tensor("bias")
    return product if bias is None else product + bias


def embedding(module: Evaluator, ids: Tensor) -> Tensor:
    """Y = W[ids]."""
    if module.attribute("max_norm") is not None:
        raise NoRecomputationError(
            "this embedding rescales its rows (max_norm), which the formula does not include"
        )
    return module.rows(ids)


def scaled_embedding(module: Evaluator, ids: Tensor) -> Tensor:
    """Y = c W[ids]: BART's table of words."""
    buffer = module.tensor("embed_scale")
    if buffer is None:
        return embedding(module, ids) * module.number("embed_scale")
    # Gemma multiplies by a buffer that holds the number rounded to the model's dtype.
    scale = module.number("scalar_embed_scale")
    rounding = torch.finfo(module.dtype("embed_scale")).eps * abs(scale)
    return embedding(module, ids) * (buffer if abs(float(buffer) - scale) <= rounding else scale)


def offset_embedding(
    module: Evaluator, ids: Tensor, past_key_values_length: int = 0, position_ids: Given = None
) -> Tensor:
    """Y = W[s + 2]: BART's table of positions; of ``ids`` only the shape counts."""
    if position_ids is None:
        batch, length = ids.shape[:2]
        start = past_key_values_length
        positions = torch.arange(start, start + length).expand(batch, -1)
    else:
        positions = position_ids[None]
    return module.rows(positions + int(module.number("offset")))


def position_table(
    module: Evaluator,
    shape: Sequence[int],
    past_key_values_length: int = 0,
    position_ids: Given = None,
) -> Tensor:
    """Y = W[s]: a table of fixed sinusoids, asked with the shape of the ids."""
    if position_ids is None:
        start = past_key_values_length
        position_ids = torch.arange(start, start + shape[1])
    return module.rows(position_ids)


def clipped_gelu(module: Evaluator, x: Tensor) -> Tensor:
    """GELU, cut off below and above."""
    return arithmetic.gelu(x).clamp(module.number("min"), module.number("max"))


def identity(_module: Evaluator, x: Tensor, *_: Any, **__: Any) -> Tensor:
    """Y = X: a dropout too, in evaluation."""
    return x


def sequence(module: Evaluator, x: Any) -> Any:
    """Run the children in order."""
    for child in module.children:
        x = child(x)
    return x


def elementwise(function: Any) -> Recomputation:
    """Return the recomputation of an activation."""

    def recompute(_module: Evaluator, x: Tensor) -> Tensor:
        return function(x)

    return recompute


def gelu(module: Evaluator, x: Tensor) -> Tensor:
    """GELU of torch, in the form that it is asked for."""
    tanh = module.attribute("approximate") == "tanh"
    return arithmetic.gelu_tanh(x) if tanh else arithmetic.gelu(x)


def quick_gelu(x: Tensor) -> Tensor:
    """Return x σ(1.702 x) (Hendrycks & Gimpel 2016, section 2)."""
    return x * arithmetic.sigmoid(1.702 * x)


def silu(x: Tensor) -> Tensor:
    """Return x σ(x)."""
    return x * arithmetic.sigmoid(x)


ACTIVATIONS: dict[str, Any] = {
    "relu": arithmetic.relu,
    "gelu": arithmetic.gelu,
    **dict.fromkeys(
        ("gelu_new", "gelu_fast", "gelu_pytorch_tanh"),
        arithmetic.gelu_tanh,
    ),
    "quick_gelu": quick_gelu,
    "sigmoid": arithmetic.sigmoid,
    "tanh": torch.tanh,
    **dict.fromkeys(("silu", "swish"), silu),
}
"""Activations that a layer calls as functions, by the names that configurations use."""


def activation_named(module: Evaluator, key: str) -> Any:
    """Return the activation that the configuration names, as a function.

    Raises:
        NoRecomputationError: it is none that is known.
    """
    name = str(module.setting_value(key))
    if name not in ACTIVATIONS:
        raise NoRecomputationError(f"the recomputation does not cover the activation {name!r}")
    return ACTIVATIONS[name]
