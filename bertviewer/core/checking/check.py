"""Checks a run: every module that was captured, or some of them."""

from collections.abc import Sequence

import torch
from torch import nn

from bertviewer.core.check_step import Check, CheckStep, Unchecked
from bertviewer.core.checking.attention import ATTENTIONS
from bertviewer.core.checking.blocks import BLOCKS
from bertviewer.core.checking.checker import Checker
from bertviewer.core.checking.layer_steps import LAYER_STEPS
from bertviewer.core.checking.part import NoFormulaError
from bertviewer.core.checking.second_pass import second_pass
from bertviewer.core.errors import UserError
from bertviewer.core.loaded_model import LoadedModel
from bertviewer.core.progress import Progress, no_progress
from bertviewer.core.run.capture import CHECK_BUDGET, Capture
from bertviewer.core.run.failures import is_want_of_memory, place_of, told
from bertviewer.core.run.replay import replay

_BUILT_OTHERWISE = (LookupError, TypeError, ValueError, RuntimeError, AttributeError)
"""What comes of a stranger's module that carries a known name and is built otherwise."""

_OTHERWISE = "it is built otherwise, or was called in another way, than"
_NOT_AGAIN = "attention could not be run a second time, in another way"


def check_run(
    model: LoadedModel,
    capture: Capture,
    paths: Sequence[str] | None = None,
    progress: Progress = no_progress,
) -> Check:
    """Compare what the modules gave in a captured run with their recomputation in float64.

    The inputs and outputs are those of the run, the weights those of this moment; a module whose
    output was changed in place after it is called again with what it took. ``paths``
    chooses modules; without it all are checked that were called. Attention is checked under
    the implementation that the run used, and once more under the other one.

    Raises:
        Cancelled: ``progress`` said so.
    """
    module = model.module(random_weights=True)
    nodes = {node.path: node for node in model.architecture.modules}
    if paths is None:
        chosen = [p for p in nodes if p in capture.calls or p in capture.refused]
    else:
        chosen = [p for p in paths if p in nodes]
    # Recomputed on the CPU, wherever the sentence was run: accelerators may lack float64.
    checker = Checker(module, model.architecture, capture.on_cpu())
    attentions = {
        path: nodes[path].class_name
        for path in chosen
        if path in capture.calls and nodes[path].class_name in ATTENTIONS
    }
    steps: list[CheckStep] = []
    unchecked: list[Unchecked] = []
    with torch.no_grad():
        name, other = "", Capture()
        try:
            with told(module, _NOT_AGAIN):
                name, second = second_pass(module, capture, attentions, progress)
                other = second.on_cpu()
        except UserError as error:
            unchecked.append(Unchecked("", _not_again(error, module)))
        for number, path in enumerate(chosen):
            progress(number, len(chosen), path or nodes[path].class_name)
            try:
                if path in capture.refused:
                    raise NoFormulaError(_too_large(capture))
                steps += checker.steps(path)
                if path in other.calls:
                    steps += checker.again(path, other, name)
            except NoFormulaError as error:
                unchecked.append(Unchecked(path, str(error)))
            except _BUILT_OTHERWISE:
                # What Python or torch says of it means nothing to who reads the check.
                name = nodes[path].class_name
                unchecked.append(Unchecked(path, f"{_OTHERWISE} {name} is known to be"))
    return Check(tuple(steps), tuple(unchecked))


def check_module(
    model: LoadedModel, kept: Capture, path: str, progress: Progress = no_progress
) -> Check:
    """Check one module of a run; of a layer also its attentions, down to each head.

    The module is called again with what it took in the run that ``kept`` was filled by.

    Raises:
        Cancelled: ``progress`` said so.
    """
    nodes = {node.path: node for node in model.architecture.modules}
    below = [p for p in nodes if p.startswith(f"{path}." if path else "") and p != path]
    shows_heads = nodes[path].class_name in (*LAYER_STEPS, *BLOCKS)
    attentions = [p for p in below if shows_heads and nodes[p].class_name in ATTENTIONS]
    capture = replay(model, kept, (path, *below), progress, CHECK_BUDGET)
    return check_run(model, capture, (path, *attentions), progress)


def _not_again(error: UserError, module: nn.Module) -> str:
    """Return why there was no second pass, without the words of what failed."""
    cause = error.__cause__
    if cause is None:
        return _NOT_AGAIN
    if is_want_of_memory(cause):
        return f"{_NOT_AGAIN}: there is not enough memory"
    place = place_of(cause, module)
    return f"{_NOT_AGAIN}: {place} failed" if place else _NOT_AGAIN


def _too_large(capture: Capture) -> str:
    return (
        f"its tensors were not kept: the sentence is too long for the {capture.budget / 1e6:,.0f} "
        "MB that are kept of a run"
    )
