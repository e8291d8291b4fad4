"""Checks a run: every module that was captured, or some of them."""

from collections.abc import Iterator, Mapping, Sequence

import torch
from torch import nn

from bertviewer.core.activations.check_step import Check, CheckStep, Unchecked
from bertviewer.core.architecture.module_node import ModuleNode
from bertviewer.core.checking.attention import ATTENTIONS
from bertviewer.core.checking.checker import Checker
from bertviewer.core.checking.clean_proof import CleanProof, clean_proof, fixed_tables
from bertviewer.core.checking.comparison import Deviation
from bertviewer.core.checking.evaluator import NoRecomputationError
from bertviewer.core.checking.other_attention import EAGER, SDPA, other_attention
from bertviewer.core.checking.recomputations import RECOMPUTATIONS
from bertviewer.core.errors import UserError
from bertviewer.core.families.families import CLASSES, kind_of_class
from bertviewer.core.families.family import Descriptions
from bertviewer.core.families.module_kind import kinds_of
from bertviewer.core.formulas.kinds import NOT_AS_KNOWN
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.progress import Progress, no_progress
from bertviewer.core.run.capture import CHECK_BUDGET, Capture
from bertviewer.core.run.failures import as_user_error, is_want_of_memory, place_of
from bertviewer.core.run.replay import replay
from bertviewer.core.system.log import write_log

BUILT_OTHERWISE = (*NOT_AS_KNOWN, RuntimeError, AttributeError)
"""What comes of a stranger's module that carries a known name and is built otherwise."""

_WITH_HEADS = kinds_of("layer", "attention block", "sub-layer")
"""What is checked with the heads of the attention in it."""

_OTHERWISE = "it is built or was called differently from what"
_NOT_AGAIN = "the attention could not be run a second time with another implementation"


def check_run(
    model: LoadedModel,
    capture: Capture,
    paths: Sequence[str] | None = None,
    progress: Progress = no_progress,
    classes: Descriptions = CLASSES,
) -> Check:
    """Compare what the modules gave in a captured run with their recomputation in float64.

    The inputs and outputs are those of the run, the weights those of this moment; a module whose
    output was changed in place after it is called again with what it took. ``paths``
    chooses modules; without it all are checked that were called. Attention is checked under
    the implementation that the run used, and once more under the other one. Modules that have no
    recomputation here are proven by the flow of a clean instance of the model. ``classes`` says
    what a class of modules is.

    Raises:
        Cancelled: ``progress`` said so.
    """
    module = model.running_module
    model.with_flows(progress)  # they say which attention is causal
    nodes = {node.path: node for node in model.architecture.modules}
    kinds = {path: kind_of_class(node.class_name, classes) for path, node in nodes.items()}
    if paths is None:
        chosen = [p for p in nodes if p in capture.calls or p in capture.refused]
    else:
        chosen = [p for p in paths if p in nodes]
    # Recomputed on the CPU, wherever the sentence was run: accelerators may lack float64.
    on_cpu = capture.on_cpu()
    checker = Checker(module, model.architecture, on_cpu, classes, tables=fixed_tables(model))
    attentions = {
        path: kind
        for path in chosen
        if path in capture.calls and (kind := kinds[path]) in ATTENTIONS
    }
    unchecked: list[Unchecked] = []
    with torch.no_grad():
        implementation, other = "", Capture()
        try:
            with as_user_error(module, _NOT_AGAIN):
                implementation, second = other_attention(module, capture, attentions, progress)
                other = second.on_cpu()
        except UserError as error:
            unchecked.append(Unchecked("", _not_again(error, module)))
        kept = [path for path in chosen if path not in capture.refused]
        steps, reasons = _by_formula(checker, kept, nodes, (other, implementation), progress)
        left = [path for path in reasons if path in capture.calls]
        proven = clean_proof(model, on_cpu, left, progress) if left else CleanProof({}, {})
    steps |= proven.steps
    reasons |= dict.fromkeys(capture.refused, _too_large(capture))
    for path in proven.reasons:
        if kinds[path] not in RECOMPUTATIONS:
            # Of a class that is known its own formula says more.
            reasons[path] = proven.reasons[path]
    unchecked += [Unchecked(path, reasons[path]) for path in chosen if not steps.get(path)]
    return Check(tuple(step for path in chosen for step in steps.get(path, ())), tuple(unchecked))


def _by_formula(
    checker: Checker,
    chosen: Sequence[str],
    nodes: Mapping[str, ModuleNode],
    second: tuple[Capture, str],
    progress: Progress,
) -> tuple[dict[str, tuple[CheckStep, ...]], dict[str, str]]:
    """Return the steps of the modules that have a recomputation, and why others have none."""
    other, implementation = second
    steps: dict[str, tuple[CheckStep, ...]] = {}
    reasons: dict[str, str] = {}
    for number, path in enumerate(chosen):
        name = nodes[path].class_name
        progress(number, len(chosen), path or name)
        try:
            found = tuple(checker.steps(path))
            if path in other.calls:
                found += tuple(checker.again(path, other, implementation))
            steps[path] = found
        except NoRecomputationError as error:
            reasons[path] = str(error)
        except BUILT_OTHERWISE as error:
            # What Python or torch says of it means nothing to who reads the check.
            write_log(f"{path!r}, a {name}, is not built as described: {error!r}")
            reasons[path] = f"{_OTHERWISE} {name} is described as"
    return steps, reasons


def check_all(model: LoadedModel, kept: Capture, progress: Progress = no_progress) -> Check:
    """Check every module of a run, each called again with what it took in it.

    Raises:
        Cancelled: ``progress`` said so.
    """
    listed = {node.path for node in model.architecture.modules}
    # One that was exchanged for the run may hold others than are listed.
    paths = [path for path, _ in model.running_module.named_modules() if path in listed]
    return check_run(model, replay(model, kept, paths, progress), progress=progress)


def check_module(
    model: LoadedModel, kept: Capture, path: str, progress: Progress = no_progress
) -> Check:
    """Check one module of a run; of a layer also its attentions, down to each head.

    The module is called again with what it took in the run that ``kept`` was filled by.

    Raises:
        Cancelled: ``progress`` said so.
    """
    nodes = {node.path: node for node in model.architecture.modules}
    below = _below(model, path)
    kinds = {path: kind_of_class(node.class_name) for path, node in nodes.items()}
    shows_heads = kinds[path] in _WITH_HEADS
    attentions = [p for p in below if shows_heads and kinds[p] in ATTENTIONS]
    capture = replay(model, kept, (path, *below), progress, CHECK_BUDGET)
    return check_run(model, capture, (path, *attentions), progress)


def look_at_step(
    model: LoadedModel, kept: Capture, step: CheckStep, progress: Progress = no_progress
) -> Deviation:
    """Carry out one step of a check again, and return what it compared, tensors and all.

    No more is done than this step takes.

    Raises:
        UserError: there is no such step any more.
        Cancelled: ``progress`` said so.
    """
    found: list[Deviation] = []

    def look(other: CheckStep, compared: Deviation) -> None:
        if (other.step, other.proof) == (step.step, step.proof):
            found.append(compared)

    path = step.path
    model.with_flows(progress)  # they say which attention is causal
    capture = replay(model, kept, (path, *_below(model, path)), progress, CHECK_BUDGET)
    on_cpu = capture.on_cpu()
    with torch.no_grad():
        if step.proof == "flow":
            clean_proof(model, on_cpu, (path,), progress, look)
        else:
            module, tables = model.running_module, fixed_tables(model)
            checker = Checker(module, model.architecture, on_cpu, look=look, tables=tables)
            for _ in _again(checker, model.running_module, capture, step, progress):
                if found:
                    break
    if not found:
        raise UserError(f"{path or 'the model'}: {step.step} cannot be recomputed")
    return found[0]


def _again(
    checker: Checker, module: nn.Module, capture: Capture, step: CheckStep, progress: Progress
) -> Iterator[CheckStep]:
    """Yield the steps of a module that has a recomputation, or those in the other attention."""
    path, kind = step.path, kind_of_class(type(module.get_submodule(step.path)).__name__)
    try:
        if not any(f"({name})" in step.step for name in (EAGER, SDPA)):
            yield from checker.steps(path)
            return
        name, other = other_attention(module, capture, {path: kind}, progress)
        yield from checker.again(path, other.on_cpu(), name)
    except (NoRecomputationError, *BUILT_OTHERWISE) as error:
        write_log(f"{path!r}: {step.step} is not recomputed: {error!r}")


def _below(model: LoadedModel, path: str) -> list[str]:
    """Return the paths of the modules in a module."""
    start = f"{path}." if path else ""
    every = (node.path for node in model.architecture.modules)
    return [other for other in every if other.startswith(start) and other != path]


def _not_again(error: UserError, module: nn.Module) -> str:
    """Return why there was no second pass, without the words of what failed."""
    cause = error.__cause__
    if cause is None:
        return _NOT_AGAIN
    if is_want_of_memory(cause):
        return f"{_NOT_AGAIN}: not enough memory"
    place = place_of(cause, module)
    return f"{_NOT_AGAIN}: {place} failed" if place else _NOT_AGAIN


def _too_large(capture: Capture) -> str:
    return (
        f"its tensors were not kept: the sentence is too long for the limit of "
        f"{capture.budget / 1e6:,.0f} MB per run"
    )
