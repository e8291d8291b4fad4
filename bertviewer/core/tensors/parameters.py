"""Values of a model's parameters, and torch tensors as numpy arrays.

The only module of this folder that uses torch, and only in functions that receive a tensor.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bertviewer.core.checkpoints.reading import matrix_shape
from bertviewer.core.checkpoints.stored import TORCH_NAMES
from bertviewer.core.schema.modules import TensorInfo
from bertviewer.core.tensors.axes import TokenIndex
from bertviewer.core.tensors.values import Origin, TensorValues, file_values, memory_values
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.progress import Progress, no_progress

if TYPE_CHECKING:
    import torch

    from bertviewer.core.loading.loaded_model import LoadedModel

# Types without a numpy equivalent are shared as integers and decoded like stored ones.
_CODES = {name: code for code, name in TORCH_NAMES.items() if "float" in name}
_REPORT_EACH = 2000
"""Tokens between two progress reports."""


def tensor_values(
    model: "LoadedModel", name: str, progress: Progress = no_progress
) -> TensorValues | None:
    """Return the values of a parameter; ``None`` for a model without weights.

    Stored tensors stay in the checkpoint. Randomly initialised ones are the module's, which is
    loaded if necessary.

    Raises:
        UserError: the model has no such tensor, or its weights cannot be loaded.
    """
    tensor = next((one for one in model.architecture.parameters if one.name == name), None)
    if tensor is None:
        raise UserError(f"{model.source.name} has no tensor {name!r}")
    if model.remote is not None and (missing := model.remote.missing_bytes()):
        raise UserError(f"the weights are not downloaded yet: {missing / 1e6:,.1f} MB remaining")
    source = model.architecture.source
    if name in source.quantized_tensors:
        raise UserError(
            f"{name} is stored as the codes of a quantized weight, not as its values; the codes "
            "are not decoded, so no values are shown"
        )
    for own in (name, tensor.tied_to):
        if own is not None and (stored := model.stored(own)) is not None:
            return file_values(name, stored)
    if source.weights == "none":
        return None
    module = model.module(source.weights == "random", progress)
    return from_tensor(name, module.get_parameter(name), Origin("drawn"))


def whole_tensor(model: "LoadedModel", name: str, progress: Progress = no_progress) -> NDArray[Any]:
    """Return a parameter as an array; floats without a numpy type become float32.

    Raises:
        UserError: as ``tensor_values``, or the model has no weights.
    """
    found = tensor_values(model, name, progress)
    if found is None:
        raise UserError(f"{model.source.name} has no weights, so {name} has no values")
    rows, columns = matrix_shape(found.shape)
    values: NDArray[Any] = found.block((0, rows), (0, columns))
    return values.reshape(found.shape)


def from_tensor(name: str, tensor: "torch.Tensor", origin: Origin) -> TensorValues:
    """Return the values of a torch tensor; memory of the CPU is shared."""
    import torch

    tensor = tensor.detach().cpu().contiguous()
    dtype = str(tensor.dtype).removeprefix("torch.")
    code = "" if dtype in ("float32", "float64") else _CODES.get(dtype, "")
    shape = tuple(tensor.shape)
    if code:
        tensor = tensor.view({1: torch.uint8, 2: torch.int16}[tensor.element_size()])
    elements = tensor.numpy().reshape(matrix_shape(shape))
    assert np.shares_memory(elements, tensor.numpy()) or not elements.size
    return memory_values(name, shape, dtype, origin, elements, code)


def as_arrays(tensors: "Mapping[str, torch.Tensor]") -> dict[str, NDArray[Any]]:
    """Return torch tensors as arrays; floats without a numpy type become float32.

    Raises:
        UserError: one is sparse, nested or quantized.
    """
    import torch

    from bertviewer.core.runs.measuring import skip_reason

    found = {}
    for name, tensor in tensors.items():
        if tensor.is_nested or tensor.is_quantized or tensor.layout is not torch.strided:
            raise UserError(f"{name} is {skip_reason(tensor)} and cannot be shown as an array")
        has_type = tensor.dtype in (torch.float16, torch.float32, torch.float64)
        found[name] = (
            tensor if has_type or not tensor.is_floating_point() else tensor.float()
        ).numpy()
    return found


def token_rows(
    model: "LoadedModel", tensor: TensorInfo, progress: Progress = no_progress
) -> TokenIndex:
    """Return the tokens of a parameter's rows.

    It is empty if the rows are no tokens, or the model has no vocabulary.

    Raises:
        Cancelled: by ``progress``.
    """
    rows, symbols = tensor.shape[:1], tensor.symbolic_shape
    # Without the symbol V the size is equal by chance.
    is_vocabulary = rows == (model.architecture.config.get("vocab_size"),)
    if not is_vocabulary or (symbols is not None and "V" not in symbols[0]):
        return TokenIndex(())
    try:
        tokenizer = model.tokenizer(progress)
    except UserError:
        return TokenIndex(())  # without a tokenizer the rows have numbers
    if tokenizer.kind == "stand-in":
        return TokenIndex(())
    names = []
    for number in range(tensor.shape[0]):
        if number % _REPORT_EACH == 0:
            progress(number, tensor.shape[0], "Reading the vocabulary")
        names.append(tokenizer.text_of(number))
    return TokenIndex(names)
