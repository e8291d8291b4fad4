"""torch.nn.MultiheadAttention: three stacked weights, and masks that say what is hidden."""

from typing import Any

import torch
from torch import Tensor

from bertviewer.core.checking.attention_maths import Attention, Projection
from bertviewer.core.checking.evaluator import Evaluator, Given, NoRecomputationError


def read(
    module: Evaluator,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    key_padding_mask: Given = None,
    need_weights: bool = True,
    attn_mask: Given = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> Attention:
    """Read the three weights, stacked in one tensor or apart."""
    if not average_attn_weights or query.dim() != 3:
        raise NoRecomputationError("the recomputation covers batches and averaged weights only")
    if module.tensor("bias_k") is not None or module.attribute("add_zero_attn"):
        raise NoRecomputationError("the recomputation does not cover added keys")
    heads = int(module.number("num_heads"))
    stacked, bias = module.tensor("in_proj_weight"), module.tensor("in_proj_bias")
    weights = (
        stacked.chunk(3)
        if stacked is not None
        else tuple(module.weight(f"{letter}_proj_weight") for letter in "qkv")
    )
    biases = (None, None, None) if bias is None else bias.chunk(3)
    q, k, v = (Projection(w, b) for w, b in zip(weights, biases, strict=True))
    x, keys, values = (_batch_first(module, side) for side in (query, key, value))
    return Attention(
        q,
        k,
        v,
        heads,
        heads,
        (weights[0].shape[0] // heads) ** -0.5,
        x,
        keys,
        values,
        mask=_torch_mask(attn_mask, key_padding_mask, heads, x.dtype),
    )


def _batch_first(module: Evaluator, x: Tensor) -> Tensor:
    return x if module.attribute("batch_first") else x.transpose(0, 1)


def _torch_mask(
    mask: Tensor | None, padding: Tensor | None, heads: int, dtype: torch.dtype
) -> Tensor | None:
    """Join torch's two masks to one that is added; in torch's, true hides a position."""
    total = None
    if mask is not None:
        added = _added(mask, dtype)
        total = added.reshape(-1, heads, *added.shape[1:]) if added.dim() == 3 else added
    if padding is not None:
        hidden = _added(padding, dtype).reshape(-1, 1, 1, padding.shape[-1])
        total = hidden if total is None else total + hidden
    return total


def _added(mask: Tensor, dtype: torch.dtype) -> Tensor:
    if mask.dtype != torch.bool:
        return mask
    return torch.zeros(mask.shape, dtype=dtype).masked_fill(mask, -torch.inf)


def finish(module: Evaluator, _attention: Attention, mixed: Tensor, weights: Tensor) -> Any:
    """Project the heads and bring batch and positions back into the caller's order."""
    # torch.nn's attention uses its output projection's weights without calling it.
    y = module.below("out_proj")(mixed)
    return (y if module.attribute("batch_first") else y.transpose(0, 1)), weights.mean(1)
