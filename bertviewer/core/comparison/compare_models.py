"""Compares two open models: their architectures, and the values that their checkpoints hold."""

from functools import partial

from msgspec.structs import replace

from bertviewer.core.checkpoints.stored import TORCH_NAMES
from bertviewer.core.comparison.changes import change_between
from bertviewer.core.comparison.comparison import (
    Change,
    ComparedTensor,
    Comparison,
    compare_architectures,
)
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.schema.modules import TensorInfo
from bertviewer.core.schema.source_info import QUANTIZED
from bertviewer.core.tensors.values import FileValues
from bertviewer.core.util.progress import Progress, no_progress


def compare_models(
    left: LoadedModel, right: LoadedModel, progress: Progress = no_progress
) -> Comparison:
    """Compare everything. No weights are loaded: values are read from the files, block by block.

    A tensor that one of both files lacks, and that would be drawn at random, is not compared.

    Raises:
        UserError: a file cannot be read any more.
        Cancelled: ``progress`` said so.
    """
    plain = compare_architectures(left.architecture, right.architecture)
    total = len(plain.tensors)
    tensors = []
    for number, tensor in enumerate(plain.tensors):
        # Within a large tensor too it is told how many are done: a bar must not go back.
        tell = partial(_tell, progress, number, total, tensor.name)
        tell()
        change = _change(left, right, tensor, tell)
        ours, theirs = _as_stored(left, tensor.left), _as_stored(right, tensor.right)
        tensors.append(replace(tensor, left=ours, right=theirs, change=change))
    return replace(plain, tensors=tuple(tensors))


def _as_stored(model: LoadedModel, tensor: TensorInfo | None) -> TensorInfo | None:
    """Return a tensor with the dtype of its file, which may not be the one computed in.

    That of a quantized weight is ``QUANTIZED``: its codes are no values to compare.
    """
    if tensor is not None and model.architecture.stored_dtype(tensor) == QUANTIZED:
        return replace(tensor, dtype=QUANTIZED)
    stored = None if tensor is None else model.stored(tensor.name)
    if tensor is None or stored is None:
        return tensor
    return replace(tensor, dtype=TORCH_NAMES[stored.dtype])


def _tell(progress: Progress, number: int, total: int, name: str, *_: object) -> None:
    progress(number, total, name)


def _change(
    left: LoadedModel, right: LoadedModel, tensor: ComparedTensor, progress: Progress
) -> Change | None:
    if tensor.state != "not compared":
        return None
    ours, theirs = left.stored(tensor.name), right.stored(tensor.name)
    if ours is None or theirs is None or ours.shape != theirs.shape:
        return None
    return change_between(FileValues(tensor.name, ours), FileValues(tensor.name, theirs), progress)
