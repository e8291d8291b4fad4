"""What a module took and gave in a run, as far as a page has room for its numbers."""

from collections.abc import Mapping

from torch import Tensor

from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.replay.module_tensors import values
from bertviewer.core.runs.activation_cache import ActivationCache
from bertviewer.core.runs.measuring import left_out
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.schema.module_tensor import Side, TensorKey
from bertviewer.core.tensors.axes import token_axes
from bertviewer.core.tensors.parameters import from_tensor
from bertviewer.core.tensors.reduction import Corner, corner_of
from bertviewer.core.tensors.values import NamedValues, Origin
from bertviewer.core.util.progress import Progress, no_progress


def seen_corners(
    model: LoadedModel,
    run: ActivationRun,
    kept: ActivationCache,
    path: str,
    progress: Progress = no_progress,
    *,
    call: int = 0,
) -> tuple[tuple[TensorKey, Corner], ...]:
    """Return the first tensor of numbers that a module took in one call, and the first it gave.

    Raises:
        UserError: the run did not call the module, or it cannot be called again.
        IndexError: there was no such call.
        Cancelled: ``progress`` said so.
    """
    taken, given = values(model, run, kept, path, progress, call=call)
    sides: Mapping[Side, Mapping[str, Tensor]] = {"input": taken, "output": given}
    found = []
    for side, tensors in sides.items():
        name = next((name for name, tensor in tensors.items() if _is_shown(tensor)), None)
        if name is not None:
            shown = from_tensor(name, tensors[name], Origin("run", key=path))
            shape, dtype = shown.shape, shown.dtype
            axes = token_axes(run, model.architecture, path, name, shape, dtype)
            found.append((TensorKey(side, name), corner_of(NamedValues(shown, axes))))
    return tuple(found)


def _is_shown(tensor: Tensor) -> bool:
    return not left_out(tensor) and tensor.is_floating_point() and bool(tensor.numel())
