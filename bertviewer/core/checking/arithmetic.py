"""The elementary functions that the recomputations are made of: sums, products, exp, erf.

None of torch's own layers is called here: what is checked must not check itself.
"""

import math
from typing import Any

import torch
from torch import Tensor

from bertviewer.core.flow.nested_tensors import mapped
from bertviewer.core.frozen import frozen


@frozen
class Arithmetic:
    """The dtype to calculate in, and the one to which every module's result is rounded."""

    compute: torch.dtype
    stored: torch.dtype | None = None

    def take(self, value: Any) -> Any:
        """Bring the tensors in ``value`` to the CPU, floating ones in the calculation's dtype.

        Not every accelerator has float64.
        """

        def taken(tensor: Tensor) -> Tensor:
            tensor = tensor.detach().cpu()
            return tensor.to(self.compute) if tensor.is_floating_point() else tensor

        return mapped(value, taken)

    def round(self, value: Any) -> Any:
        """Round the tensors in ``value`` as the model does that stores them."""
        if self.stored is None or self.stored == self.compute:
            return value
        stored = self.stored

        def rounded(tensor: Tensor) -> Tensor:
            is_rounded = tensor.is_floating_point()
            return tensor.to(stored).to(self.compute) if is_rounded else tensor

        return mapped(value, rounded)


EXACT = Arithmetic(torch.float64)


def rounded(stored: torch.dtype) -> Arithmetic:
    """Return the arithmetic of a model in ``stored``: calculated in float32, then rounded."""
    return Arithmetic(torch.float32, stored if stored.itemsize < 4 else None)


def affine(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return x Wᵀ + b for a weight stored as [out, in]."""
    product = x @ weight.transpose(-1, -2)
    return product if bias is None else product + bias


def softmax(scores: Tensor) -> Tensor:
    """Return exp(s) / Σ exp(s) over the last axis; the largest is subtracted first."""
    powers = (scores - scores.amax(-1, keepdim=True)).exp()
    return powers / powers.sum(-1, keepdim=True)


def gelu(x: Tensor) -> Tensor:
    """Return x Φ(x), with the normal distribution's Φ (Hendrycks & Gimpel 2016)."""
    return x * 0.5 * (1 + torch.erf(x / math.sqrt(2)))


def gelu_tanh(x: Tensor) -> Tensor:
    """Return the approximation of x Φ(x) by tanh (Hendrycks & Gimpel 2016, section 2)."""
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))


def sigmoid(x: Tensor) -> Tensor:
    """Return 1 / (1 + exp(-x))."""
    return 1 / (1 + (-x).exp())


def relu(x: Tensor) -> Tensor:
    """Return max(x, 0); NaN stays NaN."""
    return torch.where(x < 0, torch.zeros_like(x), x)
