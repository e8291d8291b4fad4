"""Calls parts of a model again as a run did, to see what was not kept of it.

In eval mode a module gives the same for the same arguments, so that nothing but the arguments of
the layers has to be kept of a run: a histogram, the attention or a check are made on demand.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

import torch
from torch import nn

from bertviewer.core.analysis.layers import unit_of, unit_paths
from bertviewer.core.graph.module_calls import Arguments, CallObserver, observing, tensors_in
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.runs.activation_cache import ActivationCache, RecordedCall
from bertviewer.core.runs.attention_implementation import reset_model_state
from bertviewer.core.runs.failures import as_user_error
from bertviewer.core.util.progress import Progress, no_progress

Taken = TypeVar("Taken")
Given = TypeVar("Given")

_PLAIN = (torch.Tensor, torch.dtype, torch.device, bool, int, float, str)


def replay(
    model: LoadedModel,
    kept: ActivationCache,
    paths: Iterable[str],
    progress: Progress = no_progress,
    budget: float = math.inf,
) -> ActivationCache:
    """Return the calls of the modules at ``paths`` in the run that ``kept`` was filled by.

    Only the layers that hold them are called, or the whole model where one of them lies above
    the layers. A module that the run did not call has no calls. The model goes back to the
    device of that run.

    Raises:
        UserError: a module cannot be called once more, as for want of memory.
        Cancelled: ``progress`` said so.
    """
    module = _on_the_device(model, kept, progress)
    found = ActivationCache(budget=budget)
    found.inputs = kept.inputs
    watched = {path: module.get_submodule(path) for path in paths}
    with (
        torch.no_grad(),
        as_user_error(module, _failure(model)),
        reporting(module, progress),
        found.recording(watched),
    ):
        units = _units(model, kept, watched)
        if units is None:
            module(**kept.inputs)
        else:
            for unit in units:
                for call in kept.calls[unit]:
                    module.get_submodule(unit)(*call.args, **call.kwargs)
    return found


def replay_call(  # noqa: PLR0917
    model: LoadedModel,
    kept: ActivationCache,
    path: str,
    look_before: Callable[[Arguments], Taken],
    look_after: Callable[[Any], Given] | None,
    progress: Progress = no_progress,
    *,
    number: int = 0,
    count: int = 1,
) -> tuple[Taken, Given | None]:
    """Return what is made of the arguments and of the output of one call of a module in a run.

    They are seen at the moment when the module takes and gives them, and nothing is called any
    more after that: what is handed out stays as it is. Of a layer that was called several times,
    just one call is made again; it is one that calls the module as often as each of the others
    does.

    Args:
        model: the model of the run.
        kept: what the run filled.
        path: the module.
        look_before: takes the arguments.
        look_after: takes the output; ``None`` stops before the module does anything.
        progress: told of every module that is called.
        number: the call of the module that is meant.
        count: how many calls of it there were in the run.

    Raises:
        LookupError: there was no such call.
        UserError: a module cannot be called once more.
        Cancelled: ``progress`` said so.
    """
    module = _on_the_device(model, kept, progress)
    units = _units(model, kept, (path,))
    if units is None:
        pieces, skipped = [(module, RecordedCall((), kept.inputs, None, ()))], 0
    else:
        (unit,) = units
        layer, calls = module.get_submodule(unit), kept.calls[unit]
        each = count // len(calls) if count % len(calls) == 0 else 0
        first = number // each if each else 0
        pieces, skipped = [(layer, call) for call in calls[first:]], first * each
    waiting = number - skipped
    seen: list[tuple[Taken, Given | None]] = []

    def before(taken: Arguments) -> Taken | None:
        nonlocal waiting
        waiting -= 1
        if waiting >= 0:
            return None
        found = look_before(taken)
        if look_after is None:
            seen.append((found, None))
            raise _EnoughError
        return found

    def after(_taken: Arguments, output: Any, found: Taken) -> None:
        if waiting < 0 and look_after is not None:
            seen.append((found, look_after(output)))
            raise _EnoughError

    with (
        torch.no_grad(),
        as_user_error(module, _failure(model)),
        reporting(module, progress),
        suppress(_EnoughError),
        observing([CallObserver(module.get_submodule(path), after, before)]),
    ):
        for called, call in pieces:
            called(*call.args, **call.kwargs)
    if not seen:
        raise LookupError(f"{path} was not called that many times")
    return seen[0]


class _EnoughError(Exception):
    """What was to be seen has been."""


def _on_the_device(model: LoadedModel, kept: ActivationCache, progress: Progress) -> nn.Module:
    """Return the model on the device of the run that ``kept`` was filled by, with its attention."""
    device = next((str(tensor.device) for tensor in tensors_in(kept.inputs)), None)
    module = model.module(random_weights=True, progress=progress, device=device)
    reset_model_state(module, kept.inputs)
    return module


def _units(model: LoadedModel, kept: ActivationCache, paths: Iterable[str]) -> list[str] | None:
    """Return the units to call, ``None`` if that would not do."""
    paths = tuple(paths)
    known = kept.calls if kept.scope == "units" else unit_paths(model.architecture)
    kept_units = tuple(path for path in known if path in kept.calls and path not in kept.refused)
    units = {unit_of(path, kept_units): None for path in paths}
    if any(unit is None or not all(map(_can_be_repeated, kept.calls[unit])) for unit in units):
        return None
    module = model.running_module
    within = {
        id(module.get_submodule(path)): unit
        for path in paths
        if (unit := unit_of(path, kept_units)) != path
    }
    for other, inner in module.named_modules(remove_duplicate=False):
        # XLM's layers hold one activation: it is listed in the first, and called by all.
        if id(inner) in within and unit_of(other, kept_units) != within[id(inner)]:
            return None
    return [unit for unit in units if unit is not None]


def is_repeatable_alone(model: LoadedModel, capture: ActivationCache, path: str) -> bool:
    """Return whether the captured calls of a module can be made again by calling it alone.

    They cannot where an argument may have changed, or where modules outside of it hold one that it
    holds, so that the captured calls of that one are not all its own.
    """
    if not path or path in capture.refused:
        return False
    if not all(map(_can_be_repeated, capture.calls.get(path, ()))):
        return False
    inside: set[int] = set()
    outside: set[int] = set()
    for other, inner in model.running_module.named_modules(remove_duplicate=False):
        is_inside = f"{other}.".startswith(f"{path}.")
        (inside if is_inside else outside).add(id(inner))
    return inside.isdisjoint(outside)


def _can_be_repeated(call: RecordedCall) -> bool:
    # Anything else may have changed, as a cache has, which the call itself has put something into.
    return call.is_intact and _is_plain((call.args, call.kwargs))


def _is_plain(value: Any) -> bool:
    if isinstance(value, Mapping):
        return all(map(_is_plain, value.values()))
    if isinstance(value, tuple | list):
        return all(map(_is_plain, value))
    return value is None or isinstance(value, _PLAIN)


def _failure(model: LoadedModel) -> str:
    return f"{model.source.name}: part of the run cannot be replayed"


@contextmanager
def reporting(module: nn.Module, progress: Progress) -> Iterator[None]:
    """Report every module that is called, so that the work can be stopped between them."""
    names = {inner: path or type(module).__name__ for path, inner in module.named_modules()}
    count = 0

    def tell(inner: nn.Module, _args: Any) -> None:
        nonlocal count
        count += 1
        progress(min(count, len(names)), len(names), names[inner])

    handles = [inner.register_forward_pre_hook(tell) for inner in names]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()
