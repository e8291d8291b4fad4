"""torch's functions in plain float64 arithmetic: sums, products, exponentials and means.

The reference instance computes with these in place of torch's fused kernels, so that a kernel is
not compared with itself.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

DECISIONS = frozenset(("round", "floor", "ceil", "trunc", "fix", "sign", "sgn", "heaviside"))
"""Functions with jumps. At a jump float64 could fall on the other side, so the model's own result
is used."""


def is_fractional(tensor: Tensor) -> bool:
    """Return whether a tensor's dtype rounds: floating point or complex."""
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


def log_softmax(scores: Tensor, dim: int | None = None, *_: Any, **__: Any) -> Tensor:
    """Return s - log Σ exp(s); the largest score is subtracted first."""
    axis = -1 if dim is None else dim
    shifted = scores - scores.amax(axis, keepdim=True)
    return shifted - shifted.exp().sum(axis, keepdim=True).log()


def gelu(x: Tensor, approximate: str = "none") -> Tensor:
    """Return x Φ(x), or its approximation by tanh (Hendrycks & Gimpel 2016, section 2)."""
    if approximate == "tanh":
        return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))
    return x * 0.5 * (1 + torch.erf(x / math.sqrt(2)))


def sigmoid(x: Tensor) -> Tensor:
    """Return 1 / (1 + exp(-x))."""
    return 1 / (1 + (-x).exp())


def silu(x: Tensor, *_: Any, **__: Any) -> Tensor:
    """Return x σ(x)."""
    return x * sigmoid(x)


def relu(x: Tensor, *_: Any, **__: Any) -> Tensor:
    """Return max(x, 0); NaN stays NaN."""
    return torch.where(x < 0, torch.zeros_like(x), x)


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


def embedding(
    ids: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    *_: Any,
    **__: Any,
) -> Tensor:
    """Return the rows of a table.

    Raises:
        NotImplementedError: rows are rescaled to a largest norm.
    """
    del padding_idx
    if max_norm is not None:
        raise NotImplementedError("max_norm")
    return weight[ids]


def layer_norm(
    x: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    *_: Any,
) -> Tensor:
    """Return γ (x - mean) / √(variance + ε) + β over the last axes."""
    axes = tuple(range(-len(normalized_shape), 0))
    centered = x - x.mean(axes, keepdim=True)
    return _scaled(_unit(centered, axes, eps), weight, bias)


def rms_norm(
    x: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    eps: float | None = None,
) -> Tensor:
    """Return γ x / √(mean of x² + ε) over the last axes."""
    axes = tuple(range(-len(normalized_shape), 0))
    # torch's default is the epsilon of the dtype that the model computes in.
    epsilon = torch.finfo(torch.float32).eps if eps is None else eps
    return _scaled(_unit(x, axes, epsilon), weight, None)


def group_norm(
    x: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    *_: Any,
) -> Tensor:
    """Normalise groups of channels, each over its channels and positions."""
    groups = x.reshape(x.shape[0], num_groups, -1)
    centered = groups - groups.mean(-1, keepdim=True)
    return _scaled(_unit(centered, (-1,), eps).reshape(x.shape), *_per_channel(x, weight, bias))


def batch_norm(
    x: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
    *_: Any,
) -> Tensor:
    """Normalise each channel by its running mean and variance.

    Raises:
        NotImplementedError: the statistics are those of the batch.
    """
    del momentum
    if training or running_mean is None or running_var is None:
        raise NotImplementedError("statistics of the batch")
    mean, variance = _per_channel(x, running_mean, running_var)
    assert mean is not None
    assert variance is not None
    return _scaled((x - mean) / (variance + eps).sqrt(), *_per_channel(x, weight, bias))


def _unit(x: Tensor, axes: tuple[int, ...], eps: float) -> Tensor:
    return x / ((x * x).mean(axes, keepdim=True) + eps).sqrt()


def _scaled(x: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    x = x if weight is None else x * weight
    return x if bias is None else x + bias


def _per_channel(x: Tensor, *tensors: Tensor | None) -> tuple[Tensor | None, ...]:
    shape = (-1, *[1] * (x.dim() - 2))
    return tuple(None if it is None else it.reshape(shape) for it in tensors)


def attention_scores(
    query: Tensor,
    key: Tensor,
    attn_mask: Tensor | None = None,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """Return the scores before the softmax: Q·Kᵀ·scale with masks (Vaswani et al. 2017, 3.2.1)."""
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
    """Return the softmax of scores; a query from which every key is hidden attends to none."""
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
    """Return softmax(Q·Kᵀ·scale + mask)·V.

    Raises:
        NotImplementedError: dropout is on.
    """
    if dropout_p:
        raise NotImplementedError("dropout")
    scores = attention_scores(query, key, attn_mask, is_causal, scale, enable_gqa)
    if enable_gqa:
        value = value.repeat_interleave(query.shape[-3] // value.shape[-3], dim=-3)
    return attention_probabilities(scores) @ value


def multi_head_probabilities(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    *_: Any,
    key_padding_mask: Tensor | None = None,
    attn_mask: Tensor | None = None,
    is_causal: bool = False,
    **more: Any,
) -> tuple[Tensor, Tensor]:
    """Return what ``multi_head_attention_forward`` weights values with, and the values.

    Its arguments and its layout: queries are [S, B, D] or [S, D]. The results are [B, A, S, S'] and
    [B, A, S', d].

    Raises:
        NotImplementedError: dropout is on, or keys are added.
    """
    added = bias_k, bias_v, more.get("static_k"), more.get("static_v")
    if dropout_p and more.get("training", True):
        raise NotImplementedError("dropout")
    if add_zero_attn or any(it is not None for it in added):
        raise NotImplementedError("added keys")
    if more.get("use_separate_proj_weight"):
        weights = tuple(more[f"{side}_proj_weight"] for side in "qkv")
    else:
        assert in_proj_weight is not None
        weights = in_proj_weight.chunk(3)
    biases = (None, None, None) if in_proj_bias is None else in_proj_bias.chunk(3)
    size = embed_dim_to_check // num_heads

    def in_heads(x: Tensor, place: int) -> Tensor:
        x = x if x.dim() == 3 else x[:, None]
        y = linear(x, weights[place], biases[place])
        return y.reshape(*y.shape[:2], num_heads, size).permute(1, 2, 0, 3)

    queries, keys, values = (in_heads(x, place) for place, x in enumerate((query, key, value)))
    mask = _added_mask(attn_mask, queries.dtype)
    if mask is not None and mask.dim() == 3:
        mask = mask.reshape(-1, num_heads, *mask.shape[1:])
    padding = _added_mask(key_padding_mask, queries.dtype)
    if padding is not None:
        padding = padding.reshape(-1, 1, 1, padding.shape[-1])
        mask = padding if mask is None else mask + padding
    scores = attention_scores(queries, keys, mask, is_causal and attn_mask is None)
    return attention_probabilities(scores), values


def _added_mask(mask: Tensor | None, dtype: torch.dtype) -> Tensor | None:
    """Return a mask as what is added to the scores; in torch's modules true hides a position."""
    if mask is None or mask.dtype != torch.bool:
        return mask
    return torch.zeros(mask.shape, dtype=dtype, device=mask.device).masked_fill(mask, -torch.inf)


_MHA_NAMES = ("training", "key_padding_mask", "need_weights", "attn_mask")


def multi_head_attention_forward(*args: Any, **kwargs: Any) -> tuple[Tensor, Tensor | None]:
    """Return the output of ``torch.nn.MultiheadAttention`` and its weights, if asked for.

    Raises:
        NotImplementedError: as ``multi_head_probabilities``.
    """
    kwargs = dict(zip(_MHA_NAMES, args[13:], strict=False)) | kwargs
    probabilities, values = multi_head_probabilities(*args[:13], **kwargs)
    mixed = (probabilities @ values).permute(2, 0, 1, 3).flatten(2)  # [S, B, D]
    weight, bias = args[11:13]
    output = linear(mixed, weight, bias)
    is_batch = args[0].dim() == 3
    if not kwargs.get("need_weights", True):
        return (output if is_batch else output[:, 0]), None
    if kwargs.get("average_attn_weights", True):
        probabilities = probabilities.mean(1)
    return (output, probabilities) if is_batch else (output[:, 0], probabilities[0])


def _grouped_product(x: Tensor, weights: Tensor, *, offs: Tensor, **_: Any) -> Tensor:
    """Multiply every expert's rows by its matrix; torch's kernel has no float64.

    ``offs`` holds where each expert's rows end. The rows after the last belong to none.
    """
    ends = offs.tolist()
    starts = [0, *ends[:-1]]
    products = [x[a:b] @ weight for a, b, weight in zip(starts, ends, weights, strict=True)]
    rest = x.new_zeros(len(x) - ends[-1], weights.shape[-1])
    return torch.cat([*products, rest])


def _cast(x: Tensor, *_: Any, **__: Any) -> Tensor:
    return x.to(torch.complex128 if x.is_complex() else torch.float64)


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "softmax": softmax,
    "log_softmax": log_softmax,
    "gelu": gelu,
    "sigmoid": sigmoid,
    "silu": silu,
    "relu": relu,
    "linear": linear,
    "addmm": addmm,
    "baddbmm": addmm,
    "embedding": embedding,
    "layer_norm": layer_norm,
    "rms_norm": rms_norm,
    "group_norm": group_norm,
    "batch_norm": batch_norm,
    "scaled_dot_product_attention": scaled_dot_product_attention,
    "multi_head_attention_forward": multi_head_attention_forward,
    **dict.fromkeys(("float", "half", "bfloat16", "double"), _cast),
    **dict.fromkeys(("grouped_mm", "_grouped_mm", "grouped_mm_fallback"), _grouped_product),
}
"""What replaces torch's functions, by the last part of their names."""


def in_float64(function: Callable[..., Any], short: str, args: Any, kwargs: Any) -> Any:
    """Call our own version of a torch function, or torch's where there is none for these arguments.

    Args:
        function: torch's.
        short: the last part of its name.
        args: its operands in float64.
        kwargs: its operands in float64, by name.
    """
    own = FUNCTIONS.get(short)
    if own is not None:
        try:
            return own(*args, **kwargs)
        except (NotImplementedError, TypeError):
            pass  # arguments that ours does not take
    return function(*args, **kwargs)
