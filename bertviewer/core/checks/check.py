"""Checks a run: compares captured modules with the reference instance."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import torch
from msgspec import Struct
from torch import Tensor, nn

from bertviewer.core.analysis.layers import outermost_layer
from bertviewer.core.building.buffers import compute_buffers
from bertviewer.core.building.configurations import build_config
from bertviewer.core.building.models import build_on_meta
from bertviewer.core.checks.comparison import Deviation, Triple, compare_each
from bertviewer.core.checks.layer_steps import steps_of
from bertviewer.core.checks.observed_calls import ObservedCall
from bertviewer.core.checks.reference_pass import NO_REFERENCE, Pieces, ReferencePass
from bertviewer.core.graph.module_calls import map_plain, versions
from bertviewer.core.loading.layer_by_layer import load_on_call
from bertviewer.core.loading.lazy_parameter import LazyParameter
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.loading.weight_loading import disable_kv_cache
from bertviewer.core.runs.activation_cache import CHECK_BYTES, ActivationCache, RecordedCall
from bertviewer.core.runs.attention_implementation import reset_model_state
from bertviewer.core.runs.failures import failing_module_name, failure_reason, is_out_of_memory
from bertviewer.core.runs.module_replay import is_repeatable_alone, replay, reporting
from bertviewer.core.schema.check import Check, CheckStep, Unchecked
from bertviewer.core.schema.source_info import SEED
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.progress import Progress, no_progress


class ReferenceModule(Struct, frozen=True, eq=False):
    """A reference instance.

    Attributes:
        module: in eval mode on the CPU.
        buffers: copies of the buffers that are computed from the configuration, by the path of
            their module and by name.
    """

    module: nn.Module
    buffers: Mapping[str, Mapping[str, Tensor]]


def reference_of(model: LoadedModel, inputs: Mapping[str, Any]) -> ReferenceModule:
    """Build the reference instance of a model.

    Nothing that was done to the model's own modules is in it. Its parameters are the model's
    tensors if these are on the CPU, so that the weights are not copied. Buffers of the checkpoint,
    such as the running means of a BatchNorm, are copied. Other buffers, such as causal masks, and
    parameters that are neither trained nor in the checkpoint, such as sinusoidal positions, are
    computed from the configuration in the model's dtype. A tensor of another shape, or one that the
    model lacks, stays on the meta device.

    Args:
        model: the model with its weights.
        inputs: the arguments that it will be called with.

    Raises:
        UserError: no second instance can be built.
    """
    running = model.running_module
    module, computed = _built(model, SEED)
    if _differing(module, running, computed):
        # Random tensors differ with another seed, and are copied.
        computed -= _differing(module, _built(model, SEED + 1)[0], computed)
    others, buffers = dict(running.named_modules()), dict[str, dict[str, Tensor]]()
    for path, part in module.named_modules():
        names = sorted(name for owner, name in computed if owner == path)
        if path in others:
            _fill(part, others[path], names)
        buffers[path] = {name: getattr(part, name).detach().clone() for name in names}
    if model.offload_state is not None:
        load_on_call(module, model.offload_state)
    module.eval()
    reset_model_state(module, inputs)
    return ReferenceModule(disable_kv_cache(module), buffers)


def _differing(
    module: nn.Module, other: nn.Module, computed: Collection[tuple[str, str]]
) -> set[tuple[str, str]]:
    """Return the computed tensors that differ in another module."""
    modules, found = dict(other.named_modules()), set()
    for path, name in computed:
        one = getattr(module.get_submodule(path), name)
        another = getattr(modules.get(path), name, None)
        if not (isinstance(another, Tensor) and torch.equal(one.to(another), another)):
            found.add((path, name))
    return found


def _built(model: LoadedModel, seed: int) -> tuple[nn.Module, set[tuple[str, str]]]:
    source = model.source
    is_random = model.checkpoint is None or model.load_report is None
    dtype = getattr(model.config, "dtype", None) if is_random else None
    stored = () if is_random or model.load_report is None else model.load_report.stored
    # Not the running model's configuration, which may have been changed.
    config = build_config(model.architecture.config, source.name)
    used = getattr(getattr(model.running_module, "config", None), "_attn_implementation", None)
    if used is not None:
        config._attn_implementation = used
    module = build_on_meta(config, source.task, source.name, source.untied)
    return module, compute_buffers(module, stored, dtype or torch.float32, seed)


def _fill(module: nn.Module, other: nn.Module, computed: Collection[str]) -> None:
    """Copy tensors of another module, but only the dtypes of computed ones."""
    own = dict(module.named_parameters(recurse=False)) | dict(module.named_buffers(recurse=False))
    # Some are neither parameters nor buffers.
    own |= {name: value for name, value in vars(module).items() if isinstance(value, Tensor)}
    for name, tensor in own.items():
        found, is_parameter = getattr(other, name, None), isinstance(tensor, nn.Parameter)
        if not isinstance(found, Tensor) or (name not in computed and found.shape != tensor.shape):
            continue
        if name in computed:
            value = tensor.detach().to(found.dtype)
        elif isinstance(found, LazyParameter):
            module._parameters[name] = found.at(torch.device("cpu"))
            continue
        else:
            # A model may write to a buffer, and the running one must not notice.
            value = found.detach().cpu() if is_parameter else found.detach().cpu().clone()
        setattr(module, name, nn.Parameter(value, requires_grad=False) if is_parameter else value)


EAGER, SDPA = "eager", "sdpa"
"""Implementations of attention in transformers."""

_NOT_AGAIN = "the attention could not be run a second time with another implementation"
_NOT_IN_RUN = "it was not called in this run"
CheckedStep = tuple[CheckStep, Deviation]


def check_run(
    model: LoadedModel, capture: ActivationCache, progress: Progress = no_progress
) -> Check:
    """Compare the outputs of all captured modules with those of the reference instance.

    The reference instance gets each module's recorded inputs, and computes every operation in
    float64. The inputs and outputs are those of the run, the weights the current ones; a module
    whose output was changed in place is called again with its recorded inputs. Attention is checked
    with the implementation of the run, and again with the other one.

    Raises:
        Cancelled: by ``progress``.
    """
    called = {*capture.calls, *capture.refused}
    return _check(model, capture, [path for path in _within(model, "") if path in called], progress)


def check_all(
    model: LoadedModel, cache: ActivationCache, progress: Progress = no_progress
) -> Check:
    """Check every module of a run, each called again with the layers' inputs in ``cache``.

    Raises:
        Cancelled: by ``progress``.
    """
    # A module that was replaced for the run may contain others than the architecture.
    current = {path for path, _ in model.running_module.named_modules()}
    paths = [path for path in _within(model, "") if path in current]
    return check_run(model, replay(model, cache, paths, progress), progress)


def check_module(
    model: LoadedModel, cache: ActivationCache, path: str, progress: Progress = no_progress
) -> Check:
    """Check one module of a run, and the attentions in it if it is a layer or a part of one.

    The module is called again with its recorded inputs in ``cache``.

    Raises:
        Cancelled: by ``progress``.
    """
    capture = replay(model, cache, _within(model, path), progress, CHECK_BYTES)
    return _check(model, capture, [path], progress)


def replay_step(
    model: LoadedModel, cache: ActivationCache, step: CheckStep, progress: Progress = no_progress
) -> Deviation:
    """Repeat one step of a check, and return its deviation with the tensors.

    Raises:
        UserError: the step no longer exists.
        Cancelled: by ``progress``.
    """
    path = step.path
    capture = replay(model, cache, _within(model, path), progress, CHECK_BYTES)
    with torch.no_grad():
        checker = _Checker(model, capture, progress, keep=True)
        is_other = any(f"({name})" in step.step for name in (EAGER, SDPA))
        found = (
            checker.steps_again([path]) if is_other else checker.steps(path, checker.run([path]))
        )
        for other, deviation in found:
            if other.step == step.step:
                return deviation
    raise UserError(f"{path or 'the model'}: {step.step} cannot be recomputed")


def _check(
    model: LoadedModel, capture: ActivationCache, chosen: list[str], progress: Progress
) -> Check:
    """Check the chosen modules, and the attentions in those that are layers or parts of them."""
    steps: dict[str, list[CheckStep]] = {}
    reasons: dict[str, str] = {}
    skip_reason = ""
    with torch.no_grad():
        try:
            checker = _Checker(model, capture, progress)
        except UserError:
            reasons = dict.fromkeys(chosen, NO_REFERENCE)
        else:
            found = checker.run(chosen)
            in_layers = [path for path in chosen if outermost_layer(path)]
            inside = {*chosen, *found.attentions(in_layers)}
            chosen = [path for path in _within(model, "") if path in inside]
            for path in chosen:
                steps[path] = [step for step, _ in checker.steps(path, found)]
                reasons[path] = found.reason(path)
            for step, _ in checker.steps_again(found.attentions(chosen, inside=False)):
                steps[step.path].append(step)
            skip_reason = checker.skip_reason
    reasons |= {path: _NOT_IN_RUN for path in chosen if path not in capture.calls}
    reasons |= dict.fromkeys(
        capture.refused,
        "its tensors were not kept: the sentence is too long for the limit of "
        f"{capture.budget / 1e6:,.0f} MB per run",
    )
    unchecked = [Unchecked(path, reasons[path]) for path in chosen if not steps.get(path)]
    if skip_reason:
        unchecked.insert(0, Unchecked("", skip_reason))
    return Check(tuple(step for path in chosen for step in steps.get(path, ())), tuple(unchecked))


class _Checker:
    """Compares a captured run with a reference instance.

    ``keep`` keeps the compared tensors. ``skip_reason`` says why the attention could not be
    run with the other implementation.

    Raises:
        UserError: no reference instance can be built.
    """

    def __init__(
        self,
        model: LoadedModel,
        capture: ActivationCache,
        progress: Progress,
        *,
        keep: bool = False,
    ) -> None:
        self._model = model
        self._running = model.running_module
        self._capture = capture
        self._inputs = map_plain(capture.inputs, Tensor.cpu)
        self._progress = progress
        self._keep = keep
        self._reference = reference_of(model, self._inputs)
        self.skip_reason = ""

    def run(self, paths: Collection[str], other: ActivationCache | None = None) -> ReferencePass:
        """Run the reference instance, or only these of its modules if they can be called alone."""
        # On the CPU, as accelerators may lack float64.
        capture = (other or self._capture).on_cpu()
        passed = ReferencePass(
            self._reference.module, self._running, capture, self._progress, keep=self._keep
        )
        roots = [p for p in paths if not any(_is_in(p, other) for other in paths if other != p)]
        pieces: Pieces = [
            (path, call.args, call.kwargs) for path in roots for call in capture.calls.get(path, ())
        ]
        if not all(
            isinstance(self._running.get_submodule(path), nn.MultiheadAttention)
            or is_repeatable_alone(self._model, capture, path)
            for path in roots
        ):
            pieces = [("", (), self._inputs)]
        passed.run(pieces)
        return passed

    def steps(self, path: str, found: ReferencePass) -> Iterator[CheckedStep]:
        """Yield the steps of all calls of a module."""
        calls = found.calls.get(path, ())
        if not calls or any(call.problem for call in calls):
            return
        for name, deviation in self._buffers(path):
            yield _step(path, name, deviation)
        for call in calls:
            for name, deviation in steps_of(call):
                yield _step(path, _numbered(name, call, calls), deviation)

    def steps_again(self, attentions: Sequence[str]) -> Iterator[CheckedStep]:
        """Yield the steps of attentions with the other implementation, without single heads."""
        module: Any = self._reference.module
        try:
            name, other = _other_attention(self._running, self._capture, attentions, self._progress)
        except UserError:
            raise
        except Exception as error:
            if failure_reason(error, self._running) is None:
                raise
            # Not the text of the exception.
            place = f"{failing_module_name(error, self._running) or 'the device'} failed"
            reason = "not enough memory" if is_out_of_memory(error) else place
            self.skip_reason = f"{_NOT_AGAIN}: {reason}"
            return
        used = [path for path in attentions if path in other.calls]
        if not all(isinstance(module.get_submodule(p), nn.MultiheadAttention) for p in used):
            module.set_attn_implementation(name)
        calls = self.run(used, other).calls if used else {}
        for call in (call for path in used for call in calls.get(path, ()) if not call.problem):
            for step, deviation in call.chosen([it for it in call.output if not it.is_head]):
                label = _numbered(f"{step} ({name})", call, calls[call.path])
                yield _step(call.path, label, deviation)

    def _buffers(self, path: str) -> Iterator[tuple[str, Deviation]]:
        """Yield the comparisons of a module's buffers with those computed from the configuration.

        Buffers that the module itself replaces, such as frequencies that depend on the length, are
        skipped.
        """
        own = self._reference.module.get_submodule(path)
        running = dict(self._running.named_modules()).get(path)
        for name, value in self._reference.buffers.get(path, {}).items():
            used, now = getattr(running, name, None), getattr(own, name, None)
            if not isinstance(now, Tensor) or not isinstance(used, Tensor):
                continue
            if now.shape == value.shape and torch.equal(now, value):
                exact = value.double() if value.is_floating_point() else value
                triple = Triple(exact, value, used.detach().cpu())
                if (found := compare_each([triple], (), None)) is not None:
                    yield f"buffer {name}", found


def _other_attention(
    module: Any, first: ActivationCache, paths: Collection[str], progress: Progress
) -> tuple[str, ActivationCache]:
    """Return the name of the other implementation, and the calls of the attentions with it.

    The model is run with the first run's inputs; its own implementation is restored afterwards.
    """
    capture = ActivationCache(budget=first.budget)
    capture.inputs = first.inputs
    others = {path: module.get_submodule(path) for path in paths}
    for path in [path for path, it in others.items() if isinstance(it, nn.MultiheadAttention)]:
        # Asked for its weights, torch.nn's attention does not use SDPA.
        inner = others.pop(path)
        for call in first.calls.get(path, ()):
            progress(0, 0, path)
            # The fifth positional argument is need_weights.
            args, kwargs = call.args[:4], {**call.kwargs, "need_weights": True}
            output = inner(*args, **kwargs)
            counters = versions((args, kwargs, output))
            capture.add(path, RecordedCall(args, kwargs, output, versions=counters))
    used = getattr(getattr(module, "config", None), "_attn_implementation", None)
    name = SDPA if used == EAGER else EAGER
    if others and used in (EAGER, SDPA) and getattr(module, "_supports_sdpa", False):
        try:
            module.set_attn_implementation(name)
            with reporting(module, progress), capture.recording(others):
                module(**capture.inputs)
        finally:
            module.set_attn_implementation(used)
    return name, capture


def _step(path: str, name: str, found: Deviation) -> CheckedStep:
    return CheckStep(path, name, found.error, found.tolerance, found.ok), found


def _numbered(name: str, call: ObservedCall, calls: Sequence[ObservedCall]) -> str:
    # A shared layer is called several times.
    return name if len(calls) == 1 else f"{name}, call {call.number}"


def _is_in(path: str, other: str) -> bool:
    return not other or path.startswith(f"{other}.")


def _within(model: LoadedModel, path: str) -> list[str]:
    """Return the path of a module and those of the modules in it."""
    every = (node.path for node in model.architecture.modules)
    return [other for other in every if other == path or _is_in(other, path)]
