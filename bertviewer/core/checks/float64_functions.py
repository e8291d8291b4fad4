"""Torch's functions in float64, as plain sums, products and exponentials."""

import math
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor


def is_fractional(tensor: Tensor) -> bool:
    """Return whether a tensor is floating point or complex."""
    return tensor.is_floating_point() or tensor.is_complex()


def to_float64(tensor: Tensor) -> Tensor:
    """Return a copy in float64 or complex128; other dtypes stay."""
    return tensor.detach().to(float64_dtype(tensor.dtype), copy=True)


def float64_dtype(dtype: torch.dtype) -> torch.dtype:
    """Return float64 for floating point, complex128 for complex, and other dtypes unchanged."""
    if dtype.is_complex:
        return torch.complex128
    return torch.float64 if dtype.is_floating_point else dtype


def softmax(scores: Tensor, dim: int | None = None, *_: Any, **__: Any) -> Tensor:
    """Return exp(s) / Σ exp(s); the largest score is subtracted first."""
    axis = -1 if dim is None else dim
    powers = (scores - scores.amax(axis, keepdim=True)).exp()
    return powers / powers.sum(axis, keepdim=True)


def gelu(x: Tensor, approximate: str = "none") -> Tensor:
    """Return x Φ(x), or its approximation by tanh (Hendrycks & Gimpel 2016, section 2)."""
    if approximate == "tanh":
        return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))
    return x * 0.5 * (1 + torch.erf(x / math.sqrt(2)))


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return x Wᵀ + b for a weight stored as [out, in]."""
    product = x @ weight.t() if weight.dim() > 1 else (x * weight).sum(-1)
    return product if bias is None else product + bias


def addmm(
    added: Tensor, *matrices: Tensor, beta: float = 1, alpha: float = 1, **named: Tensor
) -> Tensor:
    """Return β·added + α·(one @ other), also for batches of matrices."""
    one, other = (*matrices, *named.values())
    product = alpha * (one @ other)
    return product + beta * added if beta else product


def layer_norm(
    x: Tensor, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: Any = 1e-5, *_: Any
) -> Tensor:
    """Return γ (x - mean) / √(variance + ε) + β over the last axes."""
    axes = tuple(range(-len(normalized_shape), 0))
    return _scaled(_unit(x - x.mean(axes, keepdim=True), axes, eps), weight, bias)


def rms_norm(x: Tensor, normalized_shape: Any, weight: Any = None, eps: Any = None) -> Tensor:
    """Return γ x / √(mean of x² + ε) over the last axes."""
    axes = tuple(range(-len(normalized_shape), 0))
    # torch's default is the epsilon of the model's dtype.
    return _scaled(_unit(x, axes, torch.finfo(torch.float32).eps if eps is None else eps), weight)


def _unit(x: Tensor, axes: tuple[int, ...], eps: float) -> Tensor:
    return x / ((x * x).mean(axes, keepdim=True) + eps).sqrt()


def _scaled(x: Tensor, weight: Tensor | None, bias: Tensor | None = None) -> Tensor:
    x = x if weight is None else x * weight
    return x if bias is None else x + bias


def attention_scores(
    query: Tensor,
    key: Tensor,
    attn_mask: Tensor | None = None,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """Return the scores Q·Kᵀ·scale + masks, [..., S, S_k] (Vaswani et al. 2017, section 3.2.1)."""
    if enable_gqa:
        key = key.repeat_interleave(query.shape[-3] // key.shape[-3], dim=-3)
    scores = query @ key.transpose(-1, -2) * (query.shape[-1] ** -0.5 if scale is None else scale)
    if is_causal:
        later = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).triu(1)
        scores = scores.masked_fill(later, -torch.inf)
    if attn_mask is None:
        return scores
    if attn_mask.dtype == torch.bool:
        return scores.masked_fill(~attn_mask, -torch.inf)
    return scores + attn_mask


def attention_probabilities(scores: Tensor) -> Tensor:
    """Return the softmax of scores, [..., S, S_k]; 0 for queries from which all keys are hidden."""
    hidden = (scores == -torch.inf).all(-1, keepdim=True)
    return torch.where(hidden, 0.0, softmax(scores))


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """Return softmax(Q·Kᵀ·scale + mask)·V, [..., S, K]; dropout is off in eval mode."""
    del dropout_p
    scores = attention_scores(query, key, attn_mask, is_causal, scale, enable_gqa)
    if enable_gqa:
        value = value.repeat_interleave(query.shape[-3] // value.shape[-3], dim=-3)
    return attention_probabilities(scores) @ value


def _grouped_product(x: Tensor, weights: Tensor, *, offs: Tensor, **_: Any) -> Tensor:
    """Multiply each expert's rows of [n, in] by its [in, out]; torch has no float64 kernel.

    ``offs`` are the ends of the experts' rows; rows after the last belong to none.
    """
    ends = offs.tolist()
    starts = [0, *ends[:-1]]
    products = [x[a:b] @ weight for a, b, weight in zip(starts, ends, weights, strict=True)]
    rest = x.new_zeros(len(x) - ends[-1], weights.shape[-1])
    return torch.cat([*products, rest])


_OWN = (softmax, gelu, linear, addmm, layer_norm, rms_norm, scaled_dot_product_attention)
FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    **{function.__name__: function for function in _OWN},
    "baddbmm": addmm,
    "sigmoid": lambda x: 1 / (1 + (-x).exp()),
    "silu": lambda x, *_, **__: x * (1 / (1 + (-x).exp())),
    "relu": lambda x, *_, **__: torch.where(x < 0, torch.zeros_like(x), x),
    "embedding": lambda ids, weight, *_, **__: weight[ids],
    **dict.fromkeys(
        ("float", "half", "bfloat16", "double"),
        lambda x, *_, **__: x.to(torch.complex128 if x.is_complex() else torch.float64),
    ),
    **dict.fromkeys(("grouped_mm", "_grouped_mm", "grouped_mm_fallback"), _grouped_product),
}
"""Replacements of torch's functions, by the last part of their names."""


def in_float64(function: Callable[..., Any], short: str, args: Any, kwargs: Any) -> Any:
    """Call our version of a torch function, or torch's if there is none.

    Args:
        function: torch's function.
        short: the last part of its name.
        args: positional operands in float64.
        kwargs: keyword operands in float64.
    """
    if short in FUNCTIONS:
        function = FUNCTIONS[short]
        if "input" in kwargs:  # torch's name of the first operand
            kwargs = dict(kwargs)
            args = (kwargs.pop("input"),)
    return function(*args, **kwargs)
