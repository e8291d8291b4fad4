"""Values of one step of a check: recorded, recomputed, and their difference."""

import torch
from torch import Tensor

from bertviewer.core.checks.check import replay_step
from bertviewer.core.checks.comparison import ComparedTensor
from bertviewer.core.expressions.symbols import shape_text
from bertviewer.core.replay.cached_run import CachedRun
from bertviewer.core.schema.check import CheckStep
from bertviewer.core.tensors.axes import token_axes
from bertviewer.core.tensors.parameters import from_tensor
from bertviewer.core.tensors.values import NamedValues, Origin, Worst, difference
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.progress import Progress, no_progress

GIVEN, RECOMPUTED, DIFFERENCE = "given", "recomputed", "difference"


def checked_step(
    cached: CachedRun,
    step: CheckStep,
    progress: Progress = no_progress,
) -> NamedValues:
    """Repeat a step of a check, and return the tensors that it compared.

    Of several tensors it is the one with the largest difference.

    Raises:
        UserError: the step cannot be repeated, or the shapes differ.
        Cancelled: by ``progress``.
    """
    model, run, cache = cached.model, cached.run, cached.cache
    found = replay_step(model, cache, step, progress)
    tensors = [each for each in found.tensors if each.recorded.numel()]
    where = f"{step.path or 'the model'}: {step.step}"
    for each in tensors:
        if each.exact.shape != each.recorded.shape:
            shapes = shape_text(each.recorded.shape), shape_text(each.exact.shape)
            raise UserError(
                f"{where} has shape {shapes[0]} in the run but {shapes[1]} when recomputed"
            )
    if not tensors:
        raise UserError(f"{where}: no elements were compared")
    progress(0, 0, step.step)
    chosen = max(tensors, key=lambda each: float(_scores(each, found.tolerance).max()))
    is_random = run.source.weights == "random"
    given = from_tensor(
        step.step, _whole(chosen.recorded), Origin("run", None, step.path, is_random)
    )
    origin = Origin("check", None, step.path, is_random)
    recomputed = from_tensor(step.step, _whole(chosen.exact), origin)
    apart = difference(given, recomputed)
    axes = token_axes(run, model.architecture, step.path, step.step, given.shape, given.dtype)
    return NamedValues(
        apart,
        axes,
        {
            "model": run.source.name,
            "weights": run.source.weights,
            "module": step.path,
            "step": step.step,
            "proof": step.proof,
            "sentence": run.sentence.text,
        },
        {GIVEN: given, RECOMPUTED: recomputed, DIFFERENCE: apart},
        _worst(chosen, found.tolerance),
    )


def _whole(tensor: Tensor) -> Tensor:
    """Return a copy on the CPU, since the tensor may be a view of a larger one."""
    return tensor.detach().cpu().clone()


def _scores(compared: ComparedTensor, tolerance: float) -> Tensor:
    """Return the absolute differences of the elements with this tolerance, -1 for the others."""
    exact, given = compared.exact.detach(), compared.recorded.detach().double()
    apart = (exact.double() - given).abs().nan_to_num(0.0, 0.0, 0.0)
    stored = exact.to(compared.recorded.dtype).double()
    same = (stored == given) | (stored.isnan() & given.isnan())
    is_other = ~same & ~(stored.isfinite() & given.isfinite())
    apart = torch.where(is_other, torch.inf, apart)
    return torch.where(compared.tolerances == tolerance, apart, -1.0)


def _worst(compared: ComparedTensor, tolerance: float) -> Worst:
    scores = _scores(compared, tolerance)
    index = tuple(int(one) for one in torch.unravel_index(scores.argmax(), scores.shape))
    apart = compared.recorded[index].double() - compared.exact[index].double()
    return Worst(index, float(apart), tolerance)
