"""What modules gave in a run, seen again one by one: its sums token by token, its histogram."""

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from bertviewer.core.analysis.histogram_data import Histogram, Range, histogram
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.runs.activation_cache import ActivationCache
from bertviewer.core.runs.measuring import measure_tokens
from bertviewer.core.runs.recording import first_tensor
from bertviewer.core.runs.replay import replay
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.schema.row_statistics import TokenStatistics
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.progress import Progress, no_progress

Found = TypeVar("Found")


def look_at_outputs(
    model: LoadedModel,
    kept: ActivationCache,
    paths: Iterable[str],
    look: Callable[[Tensor], Found],
    progress: Progress,
) -> dict[str, list[Found]]:
    """Return what ``look`` makes of the output of every call of the modules at ``paths``.

    It sees the first tensor, as the statistics of a run do, at the moment when the module gives
    it: a model may change it in place afterwards. Modules without one are left out.

    Raises:
        Cancelled: ``progress`` said so.
    """
    module = model.running_module
    chosen = tuple(dict.fromkeys(paths))  # a hook each, however often one is named
    found: dict[str, list[Found]] = {}

    def hook(path: str) -> Callable[[nn.Module, Any, Any], None]:
        def see(_module: nn.Module, _args: Any, output: Any) -> None:
            if (tensor := first_tensor(output)) is not None:
                found.setdefault(path, []).append(look(tensor.detach()))

        return see

    with ExitStack() as hooks:
        for path in chosen:
            handle = module.get_submodule(path).register_forward_hook(hook(path))
            hooks.callback(handle.remove)
        # A budget of no bytes: the calls themselves are not wanted.
        replay(model, kept, chosen, progress, budget=0)
    return found


def call_statistics(
    model: LoadedModel,
    run: ActivationRun,
    kept: ActivationCache,
    paths: Iterable[str],
    progress: Progress = no_progress,
) -> dict[str, tuple[TokenStatistics, ...]]:
    """Return the sums of each token's vector in the outputs of the modules at ``paths``, by call.

    A shared layer, as ALBERT's, has a call for each step. Modules whose output is not [1, S, D] or
    was not measured, and those that the run did not call, are left out.

    Raises:
        Cancelled: ``progress`` said so.
    """
    shapes = {module.path: module.output_shape for module in run.modules if not module.skip_reason}
    chosen = [path for path in paths if _is_by_token(shapes.get(path, ()))]
    if not chosen:
        return {}
    found = look_at_outputs(model, kept, chosen, measure_tokens, progress)
    return {path: tuple(found[path]) for path in chosen if path in found}


def histogram_of(
    model: LoadedModel,
    run: ActivationRun,
    kept: ActivationCache,
    path: str,
    progress: Progress = no_progress,
    *,
    bins: int = 64,
    range: Range | None = None,
) -> Histogram:
    """Return the histogram of the output of the module at ``path``: its first tensor, all calls.

    Two runs are laid over one another with one ``range`` for both.

    Raises:
        UserError: the run did not call the module, or it gave no tensor, or none of numbers that
            can be counted.
        Cancelled: ``progress`` said so.
    """
    activation = run.activation(path)
    if activation is None:
        raise UserError(f"{path or 'the model'} was not called in this run or returned no tensor")
    if activation.skip_reason:
        raise UserError(f"not measured: {activation.skip_reason}")
    found = look_at_outputs(model, kept, (path,), _values, progress)[path]
    return histogram(np.concatenate(found), bins, range)


def _is_by_token(shape: tuple[int, ...]) -> bool:
    return len(shape) == 3 and shape[0] == 1


def _values(tensor: Tensor) -> NDArray[Any]:
    """Return a copy of the elements; numpy has no bfloat16, and float32 holds all of its values."""
    wide = tensor.float() if tensor.is_floating_point() and tensor.element_size() < 4 else tensor
    values: NDArray[Any] = wide.cpu().numpy().flatten()
    return values
