"""What is in float64 what, and what has to be done otherwise there than a model's code asks for."""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

DECIDES = frozenset(("round", "floor", "ceil", "trunc", "fix", "sign", "sgn", "heaviside"))
"""What jumps: on the edge float64 would jump the other way, so that the model's own is taken."""


def _grouped_product(x: Tensor, weights: Tensor, *, offs: Tensor, **_: Any) -> Tensor:
    """Multiply every expert's rows by its matrix; torch's kernel knows no float64.

    ``offs`` has where each expert's rows end. The rows after the last belong to none.
    """
    ends = offs.tolist()
    starts = [0, *ends[:-1]]
    products = [x[a:b] @ weight for a, b, weight in zip(starts, ends, weights, strict=True)]
    rest = x.new_zeros(len(x) - ends[-1], weights.shape[-1])
    return torch.cat([*products, rest])


def _cast(x: Tensor, *_: Any, **__: Any) -> Tensor:
    return x.to(torch.complex128 if x.is_complex() else torch.float64)


IN_FLOAT64: Mapping[str, Callable[..., Any]] = {
    **dict.fromkeys(("float", "half", "bfloat16", "double"), _cast),
    **dict.fromkeys(("grouped_mm", "_grouped_mm", "grouped_mm_fallback"), _grouped_product),
}
"""By the last part of torch's name."""


def has_fraction(tensor: Tensor) -> bool:
    """Tell whether a tensor is of numbers that are rounded."""
    return tensor.is_floating_point() or tensor.is_complex()


def widened(tensor: Tensor) -> Tensor:
    """Return a copy in float64."""
    return tensor.detach().to(wide(tensor.dtype), copy=True)


def wide(dtype: torch.dtype) -> torch.dtype:
    """Return float64 for a dtype of fractions, and any other as it is."""
    if dtype.is_complex:
        return torch.complex128
    return torch.float64 if dtype.is_floating_point else dtype


def unit(dtype: torch.dtype) -> float:
    """Return how much a dtype rounds 1."""
    return torch.finfo(dtype).eps
