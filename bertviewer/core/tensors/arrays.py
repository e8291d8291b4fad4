"""Tensors as arrays of numpy, with as many digits as they have."""

from collections.abc import Mapping
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor

from bertviewer.core.runs.measuring import left_out
from bertviewer.core.util.errors import UserError

_OF_NUMPY = (torch.float16, torch.float32, torch.float64)


def as_arrays(tensors: Mapping[str, Tensor]) -> dict[str, NDArray[Any]]:
    """Return each tensor as an array; floats that numpy has no type for become float32.

    Raises:
        UserError: one is sparse, nested or quantized.
    """
    return {name: _as_array(name, tensor) for name, tensor in tensors.items()}


def _as_array(name: str, tensor: Tensor) -> NDArray[Any]:
    if tensor.is_nested or tensor.is_quantized or tensor.layout is not torch.strided:
        raise UserError(f"{name} is {left_out(tensor)} and cannot be shown as an array")
    if tensor.is_floating_point() and tensor.dtype not in _OF_NUMPY:
        tensor = tensor.float()
    found: NDArray[Any] = tensor.numpy()
    return found
