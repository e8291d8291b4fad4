"""Checks a run: the modules that were captured against the reference instance."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from bertviewer.core.activations.check_step import Check, CheckStep, Unchecked
from bertviewer.core.checking.comparison import Deviation, Triple, compare_each
from bertviewer.core.checking.layer_steps import is_layer, layer_steps
from bertviewer.core.checking.observed_calls import Call, Comparison
from bertviewer.core.checking.other_attention import other_attention
from bertviewer.core.checking.reference_model import ReferenceModule, reference_of
from bertviewer.core.checking.reference_pass import ReferencePass
from bertviewer.core.errors import Cancelled, UserError
from bertviewer.core.flow.nested_tensors import mapped, versions
from bertviewer.core.frozen import frozen
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.progress import Progress, no_progress
from bertviewer.core.run.capture import CHECK_BUDGET, Capture, KeptCall
from bertviewer.core.run.failures import as_user_error, is_want_of_memory, place_of
from bertviewer.core.run.replay import is_repeatable_alone, replay

_NOT_AGAIN = "the attention could not be run a second time with another implementation"
_NO_REFERENCE = "no reference instance of this model can be built and run"
_NOT_CALLED = "a reference instance of this model does not call it"

Found = Mapping[str, Sequence[tuple[CheckStep, Deviation]]]


@frozen(eq=False)
class _Evaluated:
    """What the reference instance computed: its calls by path, and why others are missing."""

    calls: Mapping[str, Sequence[Call]]
    outermost: Sequence[Call]
    reasons: Mapping[str, str]
    failure: str = _NOT_CALLED


def check_run(
    model: LoadedModel,
    capture: Capture,
    paths: Sequence[str] | None = None,
    progress: Progress = no_progress,
) -> Check:
    """Compare the outputs of modules in a captured run with those of the reference instance.

    The reference instance gets each module's recorded inputs, and computes every operation in
    float64. The inputs and outputs are those of the run, the weights the current ones; a module
    whose output was changed in place is called again with its recorded inputs. ``paths`` selects
    modules; by default all that were called. Attention is checked with the implementation that the
    run used, and once more with the other one.

    Raises:
        Cancelled: ``progress`` said so.
    """
    return _check(model, capture, paths, progress)[0]


def check_all(model: LoadedModel, kept: Capture, progress: Progress = no_progress) -> Check:
    """Check every module of a run, each called again with its recorded inputs.

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
    """Check one module of a run; of a layer, or a part of one, also the attentions in it.

    The module is called again with its inputs in the run that filled ``kept``.

    Raises:
        Cancelled: ``progress`` said so.
    """
    capture = replay(model, kept, (path, *_below(model, path)), progress, CHECK_BUDGET)
    return _check(model, capture, (path,), progress, with_attentions=True)[0]


def look_at_step(
    model: LoadedModel, kept: Capture, step: CheckStep, progress: Progress = no_progress
) -> Deviation:
    """Repeat one step of a check, and return what it compared, with the tensors.

    Raises:
        UserError: there is no such step any more.
        Cancelled: ``progress`` said so.
    """
    path = step.path
    capture = replay(model, kept, (path, *_below(model, path)), progress, CHECK_BUDGET)
    found = _check(model, capture, (path,), progress, keep=True)[1]
    for other, deviation in found.get(path, ()):
        if other.step == step.step:
            return deviation
    raise UserError(f"{path or 'the model'}: {step.step} cannot be recomputed")


def _check(
    model: LoadedModel,
    capture: Capture,
    paths: Sequence[str] | None,
    progress: Progress,
    *,
    with_attentions: bool = False,
    keep: bool = False,
) -> tuple[Check, Found]:
    nodes = [node.path for node in model.architecture.modules]
    if paths is None:
        chosen = [path for path in nodes if path in capture.calls or path in capture.refused]
    else:
        chosen = [path for path in nodes if path in paths]
    # Recomputed on the CPU, wherever the sentence was run: accelerators may lack float64.
    on_cpu = capture.on_cpu()
    inputs = mapped(capture.inputs, Tensor.cpu)
    steps: dict[str, list[tuple[CheckStep, Deviation]]] = {path: [] for path in chosen}
    reasons: dict[str, str] = {}
    unchecked: list[Unchecked] = []
    with torch.no_grad():
        try:
            reference = reference_of(model, inputs)
        except UserError:
            reasons = dict.fromkeys(chosen, _NO_REFERENCE)
        else:
            pieces = _pieces(model, on_cpu, chosen, inputs)
            first = _evaluated(model, reference, on_cpu, pieces, progress, keep=keep)
            if with_attentions:
                chosen = [p for p in nodes if p in {*chosen, *_attentions(first, chosen)}]
            for path in chosen:
                steps[path] = list(_steps(path, first, reference, model, keep=keep))
                reasons[path] = _reason(path, first)
            attentions = [p for p in chosen if any(c.is_attention for c in first.calls.get(p, ()))]
            unchecked = _check_again(
                model, reference, capture, attentions, steps, progress, keep=keep
            )
    for path in chosen:
        if path not in capture.calls:
            reasons[path] = "it was not called in this run"
    reasons |= dict.fromkeys(capture.refused, _too_large(capture))
    unchecked += [Unchecked(path, reasons[path]) for path in chosen if not steps.get(path)]
    every = tuple(step for path in chosen for step, _ in steps.get(path, ()))
    return Check(every, tuple(unchecked)), steps


def _check_again(
    model: LoadedModel,
    reference: ReferenceModule,
    capture: Capture,
    attentions: Sequence[str],
    steps: Mapping[str, list[tuple[CheckStep, Deviation]]],
    progress: Progress,
    *,
    keep: bool,
) -> list[Unchecked]:
    """Check attentions with the other implementation, and add the steps; return what failed."""
    running, inner = model.running_module, reference.module
    try:
        with as_user_error(running, _NOT_AGAIN):
            name, other = other_attention(running, capture, attentions, progress)
    except UserError as error:
        return [Unchecked("", _not_again(error, running))]
    on_cpu = other.on_cpu()
    pieces: list[tuple[str, Sequence[Any], Mapping[str, Any]]] = []
    for path, calls in on_cpu.calls.items():
        if isinstance(inner.get_submodule(path), nn.MultiheadAttention):
            pieces += [(path, call.args, call.kwargs) for call in calls]
    if not on_cpu.calls:
        return []
    if not pieces:
        pieces = [("", (), mapped(capture.inputs, Tensor.cpu))]
        built: Any = inner
        built.set_attn_implementation(name)
    second = _evaluated(model, reference, on_cpu, pieces, progress, keep=keep)
    for path in attentions:
        for call in second.calls.get(path, ()):
            for step in call.output:
                found = None if call.problem else call.chosen(step)
                if found is not None and not step.name.startswith("head "):
                    told = _numbered(f"{step.name} ({name})", call, second)
                    steps[path].append((_step(path, told, found), found))
    return []


def _pieces(
    model: LoadedModel, capture: Capture, chosen: Sequence[str], inputs: Mapping[str, Any]
) -> list[tuple[str, Sequence[Any], Mapping[str, Any]]]:
    """Return what to call for a check of these modules: each alone, or the model."""
    roots = [p for p in chosen if not any(_is_in(p, other) for other in chosen if other != p)]
    if all(is_repeatable_alone(model, capture, path) for path in roots):
        return [
            (path, call.args, call.kwargs) for path in roots for call in capture.calls.get(path, ())
        ]
    return [("", (), inputs)]


def _is_in(path: str, other: str) -> bool:
    return not other or path.startswith(f"{other}.")


def _evaluated(
    model: LoadedModel,
    reference: ReferenceModule,
    capture: Capture,
    pieces: Sequence[tuple[str, Sequence[Any], Mapping[str, Any]]],
    progress: Progress,
    *,
    keep: bool,
) -> _Evaluated:
    changed: dict[str, str] = {}
    running = model.running_module

    def find(path: str, number: int) -> KeptCall | None:
        calls = capture.calls.get(path, [])
        if path in capture.refused or number >= len(calls):
            return None
        call = calls[number]
        if not call.is_intact and not call.is_repeatable:
            changed[path] = "one of its inputs was modified in place afterwards"
            return None
        return call if call.is_intact else _repeated(running.get_submodule(path), call)

    parts = [path.split(".") for path in capture.calls if path]
    holders = frozenset(".".join(each[:size]) for each in parts for size in range(len(each)))
    reference_pass = ReferencePass(reference.module, find, holders, progress, keep=keep)
    failure = _NOT_CALLED
    try:
        reference_pass.run(pieces)
    except (Cancelled, UserError):
        raise
    except Exception:  # noqa: BLE001 - a model's forward fails with any kind of error
        failure = _NO_REFERENCE
    calls: dict[str, list[Call]] = {}
    for outermost in reference_pass.calls:
        for call in outermost.calls:
            calls.setdefault(call.path, []).append(call)
    return _Evaluated(calls, reference_pass.calls, changed, failure)


def _repeated(module: nn.Module, call: KeptCall) -> KeptCall:
    """Call a module again whose output was changed in place afterwards."""
    device = next((parameter.device for parameter in module.parameters()), torch.device("cpu"))
    args, kwargs = mapped((call.args, call.kwargs), lambda tensor: tensor.to(device))
    output = mapped(module(*args, **kwargs), Tensor.cpu)
    return replace(call, output=output, versions=versions((call.args, call.kwargs, output)))


def _steps(
    path: str, found: _Evaluated, reference: ReferenceModule, model: LoadedModel, *, keep: bool
) -> Iterator[tuple[CheckStep, Deviation]]:
    """Yield the steps of the module at ``path``, of each of its calls."""
    calls = found.calls.get(path, ())
    if not calls or any(call.problem for call in calls):
        return
    for name, deviation in _buffers(path, reference, model, keep=keep):
        yield _step(path, name, deviation), deviation
    for call in calls:
        if is_layer(call):
            named = list(layer_steps(call))
        else:
            inputs = [each for each in call.events if isinstance(each, Comparison)]
            chosen = [(it.name, call.chosen(it)) for it in (*inputs, *call.output)]
            named = [(name, each) for name, each in chosen if each is not None]
        for name, deviation in named:
            told = _numbered(name, call, found)
            yield _step(path, told, deviation), deviation


def _buffers(
    path: str, reference: ReferenceModule, model: LoadedModel, *, keep: bool
) -> Iterator[tuple[str, Deviation]]:
    """Yield the comparisons of a module's buffers with those that the configuration gives.

    Buffers that the module itself replaces, such as frequencies that depend on the sentence's
    length, are left out.
    """
    own = reference.module.get_submodule(path)
    running = dict(model.running_module.named_modules()).get(path)
    for name, value in reference.buffers.items():
        owner, _, last = name.rpartition(".")
        used, now = getattr(running, last, None), getattr(own, last, None)
        if owner != path or not isinstance(now, Tensor) or not isinstance(used, Tensor):
            continue
        if now.shape == value.shape and torch.equal(now, value):
            used = used.detach().cpu()
            deviation = compare_each(
                [
                    Triple(
                        value.to(torch.float64) if value.is_floating_point() else value, value, used
                    )
                ],
                (),
                None,
                keep=keep,
            )
            if deviation is not None:
                yield f"buffer {last}", deviation


def _numbered(name: str, call: Call, found: _Evaluated) -> str:
    # A shared layer is called once for every layer of the stack.
    return name if len(found.calls[call.path]) == 1 else f"{name}, call {call.number}"


def _step(path: str, name: str, found: Deviation) -> CheckStep:
    return CheckStep(path, name, found.error, found.tolerance, found.ok)


def _reason(path: str, found: _Evaluated) -> str:
    """Return why a module has no steps."""
    if path in found.reasons:
        return found.reasons[path]
    calls = found.calls.get(path)
    return found.failure if calls is None else next((c.problem for c in calls if c.problem), "")


def _attentions(found: _Evaluated, paths: Collection[str]) -> list[str]:
    """Return the attentions in layers, or in parts of them, at these paths."""
    calls = [call for path in paths for call in found.calls.get(path, ())]
    layers = [call for call in calls if any(part.isdecimal() for part in call.path.split("."))]
    return [each.path for call in layers for each in call.calls if each.is_attention]


def _below(model: LoadedModel, path: str) -> list[str]:
    """Return the paths of the modules in a module."""
    every = (node.path for node in model.architecture.modules)
    return [other for other in every if _is_in(other, path) and other != path]


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
