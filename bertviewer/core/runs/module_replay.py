"""Replay: calling modules of a recorded run again with their recorded inputs.

In eval mode a module returns the same for the same arguments. So a run keeps the arguments of its
layers only, and everything else is computed on demand.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from bertviewer.core.analysis.layers import unit_of, unit_paths
from bertviewer.core.graph.module_calls import Arguments, CallObserver, observing, tensors_in
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.runs.activation_cache import ActivationCache, RecordedCall
from bertviewer.core.runs.attention_implementation import reset_model_state
from bertviewer.core.runs.failures import as_user_error
from bertviewer.core.runs.recording import first_tensor
from bertviewer.core.util.progress import Progress, no_progress

Before = TypeVar("Before")
After = TypeVar("After")

ModuleCall = tuple[nn.Module, tuple[Any, ...], Mapping[str, Any]]
"""A module to call, and its arguments: ``(module, args, kwargs)``."""

_PLAIN = (torch.Tensor, torch.dtype, torch.device, bool, int, float, str)


def replay(
    model: LoadedModel,
    cache: ActivationCache,
    paths: Iterable[str],
    progress: Progress = no_progress,
    budget: float = math.inf,
) -> ActivationCache:
    """Return the calls of the modules at ``paths`` in the run that filled ``cache``.

    Only the layers that contain them are called, or the whole model if one of them is above the
    layers. The model moves to the device of that run.

    Raises:
        UserError: a module cannot be called again, for example for lack of memory.
        Cancelled: by ``progress``.
    """
    module = _prepared(model, cache, progress)
    found = ActivationCache(budget=budget)
    found.inputs = cache.inputs
    modules = {path: module.get_submodule(path) for path in paths}
    with found.recording(modules):
        _call(model, _calls_for(model, cache, tuple(modules)), progress)
    return found


def replay_outputs(
    model: LoadedModel,
    cache: ActivationCache,
    paths: Iterable[str],
    measure: Callable[[Tensor], After],
    progress: Progress,
) -> dict[str, list[After]]:
    """Return ``measure`` of the first output tensor of every call of the modules at ``paths``.

    It is called when the module returns, before the model can change the tensor in place. Modules
    without an output tensor are left out.

    Raises:
        As ``replay``.
    """
    module = _prepared(model, cache, progress)
    found: dict[str, list[After]] = {}

    def observer(path: str) -> CallObserver:
        def after(_arguments: Arguments, output: Any, _before: None) -> None:
            if (tensor := first_tensor(output)) is not None:
                found.setdefault(path, []).append(measure(tensor.detach()))

        return CallObserver(module.get_submodule(path), after)

    chosen = tuple(dict.fromkeys(paths))
    with observing(map(observer, chosen)):
        _call(model, _calls_for(model, cache, chosen), progress)
    return found


def replay_call(  # noqa: PLR0917
    model: LoadedModel,
    cache: ActivationCache,
    path: str,
    before: Callable[[Arguments], Before],
    after: Callable[[Any], After] | None,
    progress: Progress = no_progress,
    *,
    number: int = 0,
    count: int = 1,
) -> tuple[Before, After | None]:
    """Return the results of two functions for one call of a module in a run.

    They get the arguments and the output at the time of the call, and nothing is called after
    that. Of a layer that was called several times only the call with that number is repeated, if
    each of them calls the module equally often.

    Args:
        model: the model of the run.
        cache: what the run recorded.
        path: the module.
        before: takes the arguments.
        after: takes the output; ``None`` stops before the module computes anything.
        progress: is called for every module.
        number: the call of the module.
        count: how many calls of the module the run has.

    Raises:
        LookupError: there was no such call.
        UserError: a module cannot be called again.
        Cancelled: by ``progress``.
    """
    module = _prepared(model, cache, progress)
    calls = _calls_for(model, cache, (path,))
    each = count // len(calls) if count % len(calls) == 0 else 0
    first = number // each if each else 0
    remaining = number - first * each
    found: list[tuple[Before, After | None]] = []

    def enter(arguments: Arguments) -> Before | None:
        nonlocal remaining
        remaining -= 1
        if remaining >= 0:
            return None
        result = before(arguments)
        if after is None:
            found.append((result, None))
            raise _EnoughError
        return result

    def leave(_arguments: Arguments, output: Any, result: Before) -> None:
        if remaining < 0 and after is not None:
            found.append((result, after(output)))
            raise _EnoughError

    observer = CallObserver(module.get_submodule(path), leave, enter)
    with suppress(_EnoughError), observing([observer]):
        _call(model, calls[first:], progress)
    if not found:
        raise LookupError(f"{path} was not called that many times")
    return found[0]


class _EnoughError(Exception):
    """The call was seen; nothing else needs to be computed."""


def call_model(
    model: LoadedModel, inputs: Mapping[str, Any], progress: Progress, problem: str
) -> Any:
    """Call the whole model, and return its output.

    Raises:
        UserError: it fails; the message starts with ``problem``.
        Cancelled: by ``progress``.
    """
    module = model.running_module
    reset_model_state(module, inputs)
    with torch.no_grad(), as_user_error(module, problem), reporting(module, progress):
        return module(**inputs)


def is_repeatable_alone(model: LoadedModel, cache: ActivationCache, path: str) -> bool:
    """Return whether calling a module alone repeats its recorded calls.

    It does not if an argument may have changed, or if a submodule is shared with other modules, so
    that not all of its recorded calls come from this module.
    """
    if not path or path in cache.refused:
        return False
    if not all(map(_is_repeatable, cache.calls.get(path, ()))):
        return False
    inside: set[int] = set()
    outside: set[int] = set()
    for other, inner in model.running_module.named_modules(remove_duplicate=False):
        is_inside = f"{other}.".startswith(f"{path}.")
        (inside if is_inside else outside).add(id(inner))
    return inside.isdisjoint(outside)


@contextmanager
def reporting(module: nn.Module, progress: Progress) -> Iterator[None]:
    """Report the call of every submodule, which can be cancelled there, inside the ``with``."""
    names = {inner: path or type(module).__name__ for path, inner in module.named_modules()}
    count = 0

    def observer(inner: nn.Module, name: str) -> CallObserver:
        def before(_arguments: Arguments) -> None:
            nonlocal count
            count += 1
            progress(min(count, len(names)), len(names), name)

        return CallObserver(inner, before=before)

    with observing(observer(inner, name) for inner, name in names.items()):
        yield


def _prepared(model: LoadedModel, cache: ActivationCache, progress: Progress) -> nn.Module:
    """Return the model as it was before the run: on its device, with its attention."""
    device = next((str(tensor.device) for tensor in tensors_in(cache.inputs)), None)
    module = model.module(random_weights=True, progress=progress, device=device)
    reset_model_state(module, cache.inputs)
    return module


def _call(model: LoadedModel, calls: Iterable[ModuleCall], progress: Progress) -> None:
    module = model.running_module
    with (
        torch.no_grad(),
        as_user_error(module, f"{model.source.name}: part of the run cannot be replayed"),
        reporting(module, progress),
    ):
        for called, args, kwargs in calls:
            called(*args, **kwargs)


def _calls_for(
    model: LoadedModel, cache: ActivationCache, paths: tuple[str, ...]
) -> list[ModuleCall]:
    """Return the calls to make so that the modules at ``paths`` are called as in the run."""
    module = model.running_module
    units = _units(model, cache, paths)
    if units is None:
        return [(module, (), cache.inputs)]
    return [
        (module.get_submodule(unit), call.args, call.kwargs)
        for unit in units
        for call in cache.calls[unit]
    ]


def _units(model: LoadedModel, cache: ActivationCache, paths: tuple[str, ...]) -> list[str] | None:
    """Return the units to call, ``None`` if the whole model has to be called."""
    known = cache.calls if cache.scope == "units" else unit_paths(model.architecture)
    recorded = tuple(path for path in known if path in cache.calls and path not in cache.refused)
    unit_by_path = {path: unit_of(path, recorded) for path in paths}
    units = list(dict.fromkeys(unit for unit in unit_by_path.values() if unit is not None))
    if None in unit_by_path.values():
        return None
    if not all(_is_repeatable(call) for unit in units for call in cache.calls[unit]):
        return None
    module = model.running_module
    within = {
        id(module.get_submodule(path)): unit for path, unit in unit_by_path.items() if unit != path
    }
    for other, inner in module.named_modules(remove_duplicate=False):
        # XLM's layers share one activation, which is listed in the first one.
        if id(inner) in within and unit_of(other, recorded) != within[id(inner)]:
            return None
    return units


def _is_repeatable(call: RecordedCall) -> bool:
    # Other objects may have changed: a call adds to a key/value cache.
    return call.is_intact and _is_plain((call.args, call.kwargs))


def _is_plain(value: Any) -> bool:
    if isinstance(value, Mapping):
        return all(map(_is_plain, value.values()))
    if isinstance(value, tuple | list):
        return all(map(_is_plain, value))
    return value is None or isinstance(value, _PLAIN)
