"""Finds a tensor's values: in the checkpoint, or in the module where they were drawn at random."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bertviewer.core.checkpoints.reading import matrix_shape
from bertviewer.core.checkpoints.stored import TORCH_NAMES
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.tensors.values import FileValues, MemoryValues, Origin, TensorValues
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.progress import Progress, no_progress

if TYPE_CHECKING:
    import torch

DRAWN = Origin("drawn")

# What numpy has no type for is shared as integers, and decoded like what is stored.
_CODES = {name: code for code, name in TORCH_NAMES.items() if "float" in name}


def tensor_values(
    model: LoadedModel, name: str, progress: Progress = no_progress
) -> TensorValues | None:
    """Return where the values of a parameter are; ``None`` for a model without weights.

    What the checkpoint holds is left there. The weights of the others, which are drawn at random,
    are those of the module: it is loaded if that has not been done yet.

    Raises:
        UserError: the model has no such tensor, or its weights cannot be loaded.
    """
    tensor = next((one for one in model.architecture.parameters if one.name == name), None)
    if tensor is None:
        raise UserError(f"{model.source.name} has no tensor {name!r}")
    if model.remote is not None and (missing := model.remote.missing_bytes()):
        raise UserError(f"the weights are not downloaded yet: {missing / 1e6:,.1f} MB remaining")
    if name in model.architecture.source.quantized_tensors:
        raise UserError(
            f"{name} is stored as the codes of a quantized weight, not as its values; the codes "
            "are not decoded, so no values are shown"
        )
    for own in (name, tensor.tied_to):
        if own is not None and (stored := model.stored(own)) is not None:
            return FileValues(name, stored)
    if model.architecture.source.weights == "none":
        return None
    module = model.module(model.architecture.source.weights == "random", progress)
    return from_tensor(name, module.get_parameter(name), DRAWN)


def whole_tensor(model: LoadedModel, name: str, progress: Progress = no_progress) -> NDArray[Any]:
    """Return a parameter as an array; floats that numpy has no type for become float32.

    Raises:
        UserError: as above, or the model has no weights.
    """
    found = tensor_values(model, name, progress)
    if found is None:
        raise UserError(f"{model.source.name} has no weights, so {name} has no values")
    rows, columns = matrix_shape(found.shape)
    values: NDArray[Any] = found.block((0, rows), (0, columns))
    return values.reshape(found.shape)


def from_tensor(name: str, tensor: "torch.Tensor", origin: Origin) -> MemoryValues:
    """Return the values of a tensor of torch's. Those in the computer's own memory are shared."""
    import torch  # a tensor is there, so torch is too

    tensor = tensor.detach().cpu().contiguous()
    dtype = str(tensor.dtype).removeprefix("torch.")
    code = "" if dtype in ("float32", "float64") else _CODES.get(dtype, "")
    shape = tuple(tensor.shape)
    if code:
        tensor = tensor.view({1: torch.uint8, 2: torch.int16}[tensor.element_size()])
    elements = tensor.numpy().reshape(matrix_shape(shape))
    assert np.shares_memory(elements, tensor.numpy()) or not elements.size
    return MemoryValues(name, shape, dtype, origin, elements, code)
