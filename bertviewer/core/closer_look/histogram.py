"""The histogram of what a module gave in a run, made when somebody looks at it."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from bertviewer.core.activations.activation_run import ActivationRun
from bertviewer.core.analysis.histogram_data import Histogram, Range, histogram
from bertviewer.core.closer_look.outputs import look_at_outputs
from bertviewer.core.errors import UserError
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.progress import Progress, no_progress
from bertviewer.core.run.capture import Capture


def histogram_of(
    model: LoadedModel,
    run: ActivationRun,
    kept: Capture,
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
        raise UserError(f"{path or 'the model'} was not called in this run, or gives no tensor")
    if activation.left_out:
        raise UserError(f"not measured: {activation.left_out}")
    found = look_at_outputs(model, kept, (path,), _values, progress)[path]
    return histogram(np.concatenate(found), bins, range)


def _values(tensor: Tensor) -> NDArray[Any]:
    """Return a copy of the elements; numpy has no bfloat16, and float32 holds all of its values."""
    wide = tensor.float() if tensor.is_floating_point() and tensor.element_size() < 4 else tensor
    values: NDArray[Any] = wide.cpu().numpy().flatten()
    return values
