"""Statistics by token and histograms of the outputs of modules in a run."""

from collections.abc import Iterable

import numpy as np

from bertviewer.core.analysis.histogram import Histogram, Range, histogram
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.runs.activation_cache import ActivationCache
from bertviewer.core.runs.measuring import as_array, measure_tokens
from bertviewer.core.runs.module_replay import replay_outputs
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.schema.row_statistics import TokenStatistics
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.progress import Progress, no_progress


def call_statistics(
    model: LoadedModel,
    run: ActivationRun,
    cache: ActivationCache,
    paths: Iterable[str],
    progress: Progress = no_progress,
) -> dict[str, tuple[TokenStatistics, ...]]:
    """Return the statistics of each token in the outputs of the modules at ``paths``, by call.

    A shared layer, as ALBERT's, has a call for each step. Modules that were not called, whose
    output is not [1, S, D], or was not measured, are left out.

    Raises:
        UserError: a module cannot be called again.
        Cancelled: by ``progress``.
    """
    shapes = {module.path: module.output_shape for module in run.modules if not module.skip_reason}
    by_token = {path for path, shape in shapes.items() if len(shape) == 3 and shape[0] == 1}
    chosen = [path for path in paths if path in by_token]
    if not chosen:
        return {}
    found = replay_outputs(model, cache, chosen, measure_tokens, progress)
    return {path: tuple(found[path]) for path in chosen if path in found}


def histogram_of(
    model: LoadedModel,
    run: ActivationRun,
    cache: ActivationCache,
    path: str,
    progress: Progress = no_progress,
    *,
    bins: int = 64,
    range: Range | None = None,
) -> Histogram:
    """Return the histogram of a module's first output tensor, over all calls.

    Histograms of two runs can be compared if they have the same ``range``.

    Raises:
        UserError: the run did not call the module, it returned no tensor of plain numbers, or it
            cannot be called again.
        Cancelled: by ``progress``.
    """
    activation = run.activation(path)
    if activation is None:
        raise UserError(f"{path or 'the model'} was not called in this run or returned no tensor")
    if activation.skip_reason:
        raise UserError(f"not measured: {activation.skip_reason}")
    found = replay_outputs(model, cache, (path,), lambda it: as_array(it).flatten(), progress)[path]
    return histogram(np.concatenate(found), bins, range)
