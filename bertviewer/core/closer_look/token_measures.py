"""Statistics of modules' outputs token by token, made when somebody chooses some tokens."""

from collections.abc import Iterable

from bertviewer.core.activations.activation_run import ActivationRun
from bertviewer.core.activations.token_statistics import TokenStatistics
from bertviewer.core.closer_look.outputs import look_at_outputs
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.progress import Progress, no_progress
from bertviewer.core.run.capture import Capture
from bertviewer.core.run.measuring import measure_tokens


def call_statistics(
    model: LoadedModel,
    run: ActivationRun,
    kept: Capture,
    paths: Iterable[str],
    progress: Progress = no_progress,
) -> dict[str, tuple[TokenStatistics, ...]]:
    """Return the sums of each token's vector in the outputs of the modules at ``paths``, by call.

    A shared layer, as ALBERT's, has a call for each step. Modules whose output is not [1, S, D] or
    was not measured, and those that the run did not call, are left out.

    Raises:
        Cancelled: ``progress`` said so.
    """
    shapes = {module.path: module.output_shape for module in run.modules if not module.left_out}
    chosen = [path for path in paths if _is_by_token(shapes.get(path, ()))]
    if not chosen:
        return {}
    found = look_at_outputs(model, kept, chosen, measure_tokens, progress)
    return {path: tuple(found[path]) for path in chosen if path in found}


def _is_by_token(shape: tuple[int, ...]) -> bool:
    return len(shape) == 3 and shape[0] == 1
