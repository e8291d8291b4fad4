"""Checks a run: the modules that were captured against the reference instance."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from bertviewer.core.activations.check_step import Check, CheckStep, Unchecked
from bertviewer.core.checking.comparison import Deviation, Triple, compare_each
from bertviewer.core.checking.layer_steps import is_layer, layer_steps
from bertviewer.core.checking.observed_calls import Call, Comparison
from bertviewer.core.checking.other_attention import EAGER, SDPA, other_attention
from bertviewer.core.checking.reference_model import reference_of
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
_NOT_IN_RUN = "it was not called in this run"
_NOT_CALLED = "a reference instance of this model does not call it"

Pieces = Sequence[tuple[str, Sequence[Any], Mapping[str, Any]]]
"""Modules to call, each by its path, with its arguments by place and by name."""

Step = tuple[CheckStep, Deviation]


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
    nodes = [node.path for node in model.architecture.modules]
    if paths is None:
        chosen = [path for path in nodes if path in capture.calls or path in capture.refused]
    else:
        chosen = [path for path in nodes if path in paths]
    return _check(model, capture, chosen, progress)


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
    return _check(model, capture, [path], progress, with_attentions=True)


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
    with torch.no_grad():
        checker = _Checker(model, capture, progress, keep=True)
        if any(f"({name})" in step.step for name in (EAGER, SDPA)):
            found = checker.steps_again([path])
        else:
            found = checker.steps(path, checker.evaluate([path]))
        for other, deviation in found:
            if other.step == step.step:
                return deviation
    raise UserError(f"{path or 'the model'}: {step.step} cannot be recomputed")


def _check(
    model: LoadedModel,
    capture: Capture,
    chosen: list[str],
    progress: Progress,
    *,
    with_attentions: bool = False,
) -> Check:
    steps: dict[str, list[CheckStep]] = {}
    unchecked: list[Unchecked] = []
    with torch.no_grad():
        try:
            checker = _Checker(model, capture, progress)
        except UserError:
            reasons = dict.fromkeys(chosen, _NO_REFERENCE)
        else:
            found = checker.evaluate(chosen)
            if with_attentions:
                inside = {*chosen, *_attentions(found, chosen)}
                chosen = [node.path for node in model.architecture.modules if node.path in inside]
            for path in chosen:
                steps[path] = [step for step, _ in checker.steps(path, found)]
            reasons = {path: _reason(path, found) for path in chosen}
            attentions = [p for p in chosen if any(c.is_attention for c in found.calls.get(p, ()))]
            try:
                for step, _ in checker.steps_again(attentions):
                    steps[step.path].append(step)
            except UserError as error:
                unchecked = [Unchecked("", _not_again(error, model.running_module))]
    reasons |= {path: _NOT_IN_RUN for path in chosen if path not in capture.calls}
    reasons |= dict.fromkeys(capture.refused, _too_large(capture))
    unchecked += [Unchecked(path, reasons[path]) for path in chosen if not steps.get(path)]
    return Check(tuple(step for path in chosen for step in steps.get(path, ())), tuple(unchecked))


@frozen(eq=False)
class _Evaluated:
    """The reference instance's calls by path, and why others are missing."""

    calls: Mapping[str, Sequence[Call]]
    reasons: Mapping[str, str]
    failure: str


class _Checker:
    """Compares a captured run with a reference instance.

    ``keep`` has the compared tensors kept.

    Raises:
        UserError: no reference instance can be built.
    """

    def __init__(
        self, model: LoadedModel, capture: Capture, progress: Progress, *, keep: bool = False
    ) -> None:
        self._model = model
        self._running = model.running_module
        self._capture = capture
        # Recomputed on the CPU, wherever the sentence was run: accelerators may lack float64.
        self._on_cpu = capture.on_cpu()
        self._inputs = mapped(capture.inputs, Tensor.cpu)
        self._progress = progress
        self._keep = keep
        self._reference = reference_of(model, self._inputs)

    def evaluate(self, chosen: Sequence[str]) -> _Evaluated:
        """Run the reference instance, or only these modules of it if they can be called alone."""
        roots = [p for p in chosen if not any(_is_in(p, other) for other in chosen if other != p)]
        calls = self._on_cpu.calls
        if all(is_repeatable_alone(self._model, self._on_cpu, path) for path in roots):
            pieces = [(p, call.args, call.kwargs) for p in roots for call in calls.get(p, ())]
            return self._run(self._on_cpu, pieces)
        return self._run(self._on_cpu, [("", (), self._inputs)])

    def steps(self, path: str, found: _Evaluated) -> Iterator[Step]:
        """Yield the steps of the module at ``path``, of each of its calls."""
        calls = found.calls.get(path, ())
        if not calls or any(call.problem for call in calls):
            return
        for name, deviation in self._buffers(path):
            yield _step(path, name, deviation), deviation
        for call in calls:
            if is_layer(call):
                named = list(layer_steps(call))
            else:
                inputs = [each for each in call.events if isinstance(each, Comparison)]
                named = _chosen(call, (*inputs, *call.output))
            for name, deviation in named:
                yield _step(path, _numbered(name, call, found), deviation), deviation

    def steps_again(self, attentions: Sequence[str]) -> Iterator[Step]:
        """Yield the steps of attentions with the other implementation, without single heads.

        Raises:
            UserError: the model does not run with it.
        """
        with as_user_error(self._running, _NOT_AGAIN):
            name, other = other_attention(self._running, self._capture, attentions, self._progress)
        module: Any = self._reference.module
        on_cpu = other.on_cpu()
        pieces: Pieces = [
            (path, call.args, call.kwargs)
            for path, calls in on_cpu.calls.items()
            if isinstance(module.get_submodule(path), nn.MultiheadAttention)
            for call in calls
        ]
        if not on_cpu.calls:
            return
        if not pieces:
            pieces = [("", (), self._inputs)]
            module.set_attn_implementation(name)
        found = self._run(on_cpu, pieces)
        for path in attentions:
            for call in found.calls.get(path, ()):
                whole = [step for step in call.output if not step.name.startswith("head ")]
                for step, deviation in _chosen(call, whole) if not call.problem else ():
                    label = _numbered(f"{step} ({name})", call, found)
                    yield _step(path, label, deviation), deviation

    def _run(self, capture: Capture, pieces: Pieces) -> _Evaluated:
        changed: dict[str, str] = {}

        def find(path: str, number: int) -> KeptCall | None:
            calls = capture.calls.get(path, [])
            if path in capture.refused or number >= len(calls):
                return None
            call = calls[number]
            if call.is_intact:
                return call
            if not call.is_repeatable:
                changed[path] = "one of its inputs was modified in place afterwards"
                return None
            return _repeated(self._running.get_submodule(path), call)

        parts = [path.split(".") for path in capture.calls if path]
        holders = frozenset(".".join(each[:size]) for each in parts for size in range(len(each)))
        passed = ReferencePass(
            self._reference.module, find, holders, self._progress, keep=self._keep
        )
        failure = _NOT_CALLED
        try:
            passed.run(pieces)
        except (Cancelled, UserError):
            raise
        except Exception:  # noqa: BLE001 - a model's forward fails with any kind of error
            failure = _NO_REFERENCE
        found: dict[str, list[Call]] = {}
        for outermost in passed.calls:
            for call in outermost.calls:
                found.setdefault(call.path, []).append(call)
        return _Evaluated(found, changed, failure)

    def _buffers(self, path: str) -> Iterator[tuple[str, Deviation]]:
        """Yield the comparisons of a module's buffers with those that the configuration gives.

        Buffers that the module itself replaces, such as frequencies that depend on the sentence's
        length, are left out.
        """
        own = self._reference.module.get_submodule(path)
        running = dict(self._running.named_modules()).get(path)
        for key, value in self._reference.buffers.items():
            owner, _, name = key.rpartition(".")
            used, now = getattr(running, name, None), getattr(own, name, None)
            if owner != path or not isinstance(now, Tensor) or not isinstance(used, Tensor):
                continue
            if now.shape == value.shape and torch.equal(now, value):
                exact = value.double() if value.is_floating_point() else value
                triple = Triple(exact, value, used.detach().cpu())
                if (found := compare_each([triple], (), None, keep=self._keep)) is not None:
                    yield f"buffer {name}", found


def _chosen(call: Call, steps: Iterable[Comparison]) -> list[tuple[str, Deviation]]:
    found = ((step.name, call.chosen(step)) for step in steps)
    return [(name, deviation) for name, deviation in found if deviation is not None]


def _is_in(path: str, other: str) -> bool:
    return not other or path.startswith(f"{other}.")


def _repeated(module: nn.Module, call: KeptCall) -> KeptCall:
    """Call a module again whose output was changed in place afterwards."""
    device = next((parameter.device for parameter in module.parameters()), torch.device("cpu"))
    args, kwargs = mapped((call.args, call.kwargs), lambda tensor: tensor.to(device))
    output = mapped(module(*args, **kwargs), Tensor.cpu)
    return replace(call, output=output, versions=versions((call.args, call.kwargs, output)))


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


def _attentions(found: _Evaluated, paths: Sequence[str]) -> list[str]:
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
