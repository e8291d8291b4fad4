"""Statistics by token and histograms of the outputs of modules in a run."""

from collections.abc import Iterable

import numpy as np

from bertviewer.core.replay.cached_run import CachedRun
from bertviewer.core.runs.measuring import as_array, measure_tokens
from bertviewer.core.runs.module_replay import replay_outputs
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.statistics.histograms import Histogram, Range, histogram
from bertviewer.core.statistics.row_statistics import TokenStatistics, measure_rows
from bertviewer.core.tensors.axes import tokens_of_rows
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.progress import Progress, no_progress


def call_statistics(
    cached: CachedRun,
    paths: Iterable[str],
    progress: Progress = no_progress,
) -> dict[str, tuple[TokenStatistics, ...]]:
    """Return the statistics of each token in the outputs of the modules at ``paths``, by call.

    A shared layer, as ALBERT's, has a call for each step. Hidden states are measured
    without a replay. Modules that were not called, whose output is not [1, S, D], or was not
    measured, are left out.

    Raises:
        UserError: a module cannot be called again.
        Cancelled: by ``progress``.
    """
    run = cached.run
    shapes = {module.path: module.output_shape for module in run.modules if not module.skip_reason}
    by_token = {path for path, shape in shapes.items() if len(shape) == 3 and shape[0] == 1}
    chosen = [path for path in paths if path in by_token]
    found = {path: them for path in chosen if (them := _state_statistics(run, path)) is not None}
    if others := [path for path in chosen if path not in found]:
        replayed = replay_outputs(cached.model, cached.cache, others, measure_tokens, progress)
        found |= {path: tuple(calls) for path, calls in replayed.items()}
    return {path: found[path] for path in chosen if path in found}


def histogram_of(
    cached: CachedRun,
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
    activation = cached.run.activation(path)
    if activation is None:
        raise UserError(f"{path or 'the model'} was not called in this run or returned no tensor")
    if activation.skip_reason:
        raise UserError(f"not measured: {activation.skip_reason}")
    calls = replay_outputs(
        cached.model, cached.cache, (path,), lambda it: as_array(it).flatten(), progress
    )
    return histogram(np.concatenate(calls[path]), bins, range)


def _state_statistics(run: ActivationRun, path: str) -> tuple[TokenStatistics, ...] | None:
    """Return the statistics of each row of a module's output by call, if these are hidden states.

    ``None`` for all other modules, such as GPT-2's last layer,
    which is followed by a norm.
    """
    activation = run.activation(path)
    states = [n for n, paths in enumerate(run.state_paths) if path in paths]
    if activation is None or activation.token_norms is None or not run.hidden_states:
        return None
    tokens = tokens_of_rows(run, path, len(activation.token_norms))
    if tokens is None or len(states) != len(activation.calls):
        return None
    rows = slice(tokens.start, tokens.stop)
    return tuple(measure_rows(run.hidden_states[state][rows])[1] for state in states)
