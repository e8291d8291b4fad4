"""The second proof of a check: what a clean instance of the model computes, in float64.

It has the same classes, configuration and weights. Buffers that are not part of the weights, such
as rotary frequencies and causal masks, are computed from the configuration.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from bertviewer.core.activations.check_step import CheckStep
from bertviewer.core.architecture.source_info import SEED
from bertviewer.core.building.building import build_on_meta, compute_buffers
from bertviewer.core.checking.checker import repeated
from bertviewer.core.checking.clean_pass import CleanPass, Proven
from bertviewer.core.checking.comparison import Look, step_of
from bertviewer.core.checking.evaluator import NoRecomputationError
from bertviewer.core.errors import Cancelled, UserError
from bertviewer.core.flow.nested_tensors import mapped
from bertviewer.core.frozen import frozen
from bertviewer.core.loading.absent_weight import AbsentWeight
from bertviewer.core.loading.layer_by_layer import attach
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.loading.weight_loading import without_caches
from bertviewer.core.progress import Progress
from bertviewer.core.run.big_bird_attention import choose_attention
from bertviewer.core.run.capture import Capture, KeptCall


def clean_model(model: LoadedModel, inputs: Mapping[str, Any]) -> nn.Module:
    """Build a second instance of a model, with the weights of the running one, on the CPU.

    What was done to the running model's modules is not in it. Its parameters are the very same
    tensors where they are on the CPU, so that no second copy of the weights is made. Buffers that
    the checkpoint has, such as the running means of a BatchNorm, are copied. All others, and the
    parameters of ``fixed_tables``, are computed from the configuration, and have the dtype of the
    running model's.
    A tensor of another shape, or one that the running model lacks, stays without numbers.

    Args:
        model: the running one.
        inputs: what it will be called with.
    """
    running = model.running_module
    clean, computed = _built(model, SEED)
    others = dict(running.named_modules())
    computed -= _drawn(model, clean, computed)
    for path, module in clean.named_modules():
        if path in others:
            _fill(module, others[path], {name for owner, name in computed if owner == path})
    used = getattr(getattr(running, "config", None), "_attn_implementation", None)
    built: Any = clean
    if used != getattr(getattr(clean, "config", None), "_attn_implementation", None):
        built.set_attn_implementation(used)
    if model.reading is not None:
        attach(clean, model.reading)
    clean.eval()
    choose_attention(clean, inputs)
    return without_caches(clean)


def _drawn(
    model: LoadedModel, clean: nn.Module, computed: Collection[tuple[str, str]]
) -> set[tuple[str, str]]:
    """Return which of the computed buffers are drawn at random: with another seed they differ."""

    def differing(other: nn.Module) -> set[tuple[str, str]]:
        modules, found = dict(other.named_modules()), set()
        for path, name in computed:
            one = getattr(clean.get_submodule(path), name)
            another = getattr(modules.get(path), name, None)
            if not (isinstance(another, Tensor) and torch.equal(one.to(another), another)):
                found.add((path, name))
        return found

    if not differing(model.running_module):
        return set()
    return differing(_built(model, SEED + 1)[0])


def _built(model: LoadedModel, seed: int) -> tuple[nn.Module, set[tuple[str, str]]]:
    source = model.source
    is_random = model.checkpoint is None or model.keys is None
    dtype = getattr(model.config, "dtype", None) if is_random else None
    stored = () if is_random or model.keys is None else model.keys.stored
    module = build_on_meta(model.config, source.task, source.name, source.untied)
    return module, compute_buffers(module, stored, dtype or torch.float32, seed)


def _fill(module: nn.Module, other: nn.Module, computed: Collection[str]) -> None:
    for name, tensor in list(_tensors(module)):
        found = getattr(other, name, None)
        if name in computed:
            if isinstance(found, Tensor):
                setattr(module, name, _like(tensor, found))
            continue
        if not isinstance(found, Tensor) or found.shape != tensor.shape:
            continue
        if isinstance(found, AbsentWeight):
            module._parameters[name] = found.at(torch.device("cpu"))
            continue
        found = found.detach().cpu()
        if isinstance(tensor, nn.Parameter):
            setattr(module, name, nn.Parameter(found, requires_grad=False))
        else:
            # A model may write to it, and the running one must not notice.
            setattr(module, name, found.clone())


def _like(tensor: Tensor, found: Tensor) -> Tensor:
    """Return a tensor in the dtype of the running model's; a parameter stays one."""
    converted = tensor.detach().to(found.dtype)
    is_parameter = isinstance(tensor, nn.Parameter)
    return nn.Parameter(converted, requires_grad=False) if is_parameter else converted


def fixed_tables(model: LoadedModel) -> dict[str, Tensor]:
    """Return the parameters that are computed from the configuration, by their names.

    They are not trained, and the checkpoint lacks them: sinusoidal positions, for one. Empty if
    no second instance can be built.
    """
    if all(tensor.trainable for tensor in model.architecture.parameters):
        return {}
    running = model.running_module
    try:
        clean, computed = _built(model, SEED)
        computed -= _drawn(model, clean, computed)
    except UserError:
        return {}
    found = {}
    for path, name in computed:
        table = clean.get_submodule(path)._parameters.get(name)
        used = getattr(dict(running.named_modules()).get(path), name, None)
        if table is not None and isinstance(used, Tensor):
            found[f"{path}.{name}" if path else name] = _like(table, used)
    return found


def _tensors(module: nn.Module) -> Iterator[tuple[str, Tensor]]:
    """Yield a module's own tensors; some are neither parameters nor buffers."""
    yield from module.named_parameters(recurse=False)
    yield from module.named_buffers(recurse=False)
    for name, value in vars(module).items():
        if isinstance(value, Tensor):
            yield name, value


@frozen
class CleanProof:
    """By path the steps of the modules that were proven, and why others were not."""

    steps: Mapping[str, tuple[CheckStep, ...]]
    reasons: Mapping[str, str]


_NO_CLEAN = "no reference instance of this model can be built and run"


def clean_proof(
    model: LoadedModel,
    capture: Capture,
    paths: Collection[str],
    progress: Progress,
    look: Look | None = None,
) -> CleanProof:
    """Prove modules of a run by the flow of a clean instance of the same model.

    A clean instance has the same classes and configuration, and the running model's parameters. It
    is run once. Every module at ``paths`` gets there what it got in the run, does its own
    operations, in float64 beside the model's dtype, and finds in place of each module in it what
    that gave in the run. So what it hands to each of these, and what it gives itself, is proven
    step by step from its own inputs.

    Args:
        model: the running one.
        capture: the run's calls, on the CPU.
        paths: the modules to prove.
        progress: told of every module.
        look: is shown each step with the tensors that were compared.

    Raises:
        Cancelled: ``progress`` said so.
    """
    running = model.running_module
    inputs = mapped(capture.inputs, Tensor.cpu)
    try:
        clean = clean_model(model, inputs)
    except UserError:
        return CleanProof({}, dict.fromkeys(paths, _NO_CLEAN))
    changed: dict[str, str] = {}

    def find(path: str, number: int) -> KeptCall | None:
        try:
            return _usable(running, capture, path, number)
        except NoRecomputationError as error:
            changed[path] = str(error)
            return None

    proving = CleanPass(clean, paths, find, progress, keep=look is not None)
    failure = "a reference instance of this model does not call it"
    try:
        proving.run(inputs)
    except (Cancelled, UserError):
        raise
    except Exception:  # noqa: BLE001 - a model's forward fails with any kind of error
        failure = _NO_CLEAN
    steps = {path: _steps(path, proofs, look) for path, proofs in proving.proofs.items()}
    reasons = {
        path: changed.get(path) or _reason(proving.proofs.get(path), failure) for path in paths
    }
    return CleanProof(
        {path: found for path, found in steps.items() if not reasons[path]},
        {path: reason for path, reason in reasons.items() if reason},
    )


def _usable(running: nn.Module, capture: Capture, path: str, number: int) -> KeptCall | None:
    """Return a call of the run with what it took and gave as it was then.

    Raises:
        NoRecomputationError: that is not known any more.
    """
    calls = capture.calls.get(path, [])
    if path in capture.refused or number >= len(calls):
        return None
    call = calls[number]
    return call if call.is_intact else repeated(running.get_submodule(path), call)


def _steps(path: str, proofs: list[Proven], look: Look | None) -> tuple[CheckStep, ...]:
    steps = []
    for number, proof in enumerate(proofs):
        for name, found in proof.steps:
            told = name if len(proofs) == 1 else f"{name}, call {number}"
            steps.append(step_of(path, told, found, "flow"))
            if look is not None:
                look(steps[-1], found)
    return tuple(steps)


def _reason(proofs: list[Proven] | None, failure: str) -> str:
    if proofs is None:
        return failure
    return next((proof.reason for proof in proofs if proof.reason), "")
