"""Calls parts of a model again as a run did, to see what was not kept of it.

In eval mode a module gives the same for the same arguments, so that nothing but the arguments of
the layers has to be kept of a run: a histogram, the attention or a check are made on demand.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn

from bertviewer.core.loading import LoadedModel
from bertviewer.core.progress import Progress, no_progress
from bertviewer.core.run.capture import Capture, tensors_in
from bertviewer.core.run.units import unit_of


def replay(
    model: LoadedModel,
    kept: Capture,
    paths: Iterable[str],
    progress: Progress = no_progress,
    budget: float = math.inf,
) -> Capture:
    """Return the calls of the modules at ``paths`` in the run that ``kept`` was filled by.

    Only the layers that hold them are called, or the whole model where one of them lies above
    the layers. A module that the run did not call has no calls. The model goes back to the
    device of that run.

    Raises:
        Cancelled: ``progress`` said so.
    """
    device = next((str(tensor.device) for tensor in tensors_in(kept.inputs)), None)
    module = model.module(random_weights=True, progress=progress, device=device)
    found = Capture(budget=budget)
    found.inputs = kept.inputs
    watched = {path: module.get_submodule(path) for path in paths}
    with torch.no_grad(), telling(module, progress), found.watching(watched):
        units = _units(kept, watched)
        if units is None:
            module(**kept.inputs)
        else:
            for unit in units:
                for call in kept.calls[unit]:
                    module.get_submodule(unit)(*call.args, **call.kwargs)
    return found


def _units(kept: Capture, paths: Mapping[str, Any]) -> list[str] | None:
    """Return the units to call, ``None`` if that would not do."""
    complete = [path for path in kept.calls if path not in kept.refused]
    kept_units = tuple(complete) if kept.scope == "units" else ()
    units = {unit_of(path, kept_units): None for path in paths}
    if any(unit is None or not all(c.is_intact for c in kept.calls[unit]) for unit in units):
        return None
    return [unit for unit in units if unit is not None]


@contextmanager
def telling(module: nn.Module, progress: Progress) -> Iterator[None]:
    """Tell of every module that is called, so that the work can be stopped between them."""
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
