"""Hooks that watch every module of a model during a forward pass."""

import math
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from bertviewer.core.architecture import ancestors
from bertviewer.core.progress import Progress
from bertviewer.core.run.activation_run import ModuleActivation
from bertviewer.core.run.macs import own_macs
from bertviewer.core.run.statistics import Statistics


def measure(tensor: Tensor) -> Statistics:
    """Return the statistics of a tensor, summed in float64: [...] of any dtype."""
    count = tensor.numel()
    values = tensor.detach().reshape(-1).to(torch.float64)
    # One sum tells whether all is finite: NaN and Inf survive every addition.
    total = values.sum().item()
    nan = inf = 0
    if not math.isfinite(total):
        nan = int(values.isnan().sum())
        inf = int(values.isinf().sum())
        values = values[values.isfinite()]
        total = values.sum().item()
    zeros = values.numel() - int(values.count_nonzero())
    low, high = (v.item() for v in values.aminmax()) if values.numel() else (None, None)
    return Statistics(count, nan, inf, zeros, total, values.dot(values).item(), low, high)


def first_tensor(value: Any) -> Tensor | None:
    """Return a module's output as one tensor: the first, if it gives several."""
    if isinstance(value, Tensor):
        return value
    if isinstance(value, dict):
        value = tuple(value.values())
    if isinstance(value, tuple | list):
        return next((found for item in value if (found := first_tensor(item)) is not None), None)
    return None


class Recorder:
    """Collects what every called module took and gave; keeps figures, not tensors."""

    def __init__(self, model: nn.Module, progress: Progress) -> None:
        self._model = model
        self._progress = progress
        self._paths = {module: path for path, module in model.named_modules()}
        self._calls: dict[str, list[Statistics]] = {}
        self._shapes: dict[str, tuple[tuple[int, ...] | None, tuple[int, ...]]] = {}
        self._macs: dict[str, int | None] = {}
        # Dropouts and containers hand on the very tensor that their last child gave, so the
        # last few measurements serve most modules. Holding the tensors keeps their ids valid.
        self._recent: deque[tuple[Tensor, int, Statistics]] = deque(maxlen=4)

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Watch all modules inside the ``with``; the hooks are gone after it, whatever happens."""
        handles = [
            module.register_forward_hook(self._record, with_kwargs=True) for module in self._paths
        ]
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()
            self._recent.clear()

    def activations(self) -> tuple[ModuleActivation, ...]:
        """Return what was recorded, in the order of ``named_modules()``."""
        macs = self._macs_by_path()
        return tuple(
            ModuleActivation(
                path,
                type(module).__name__,
                *self._shapes[path],
                tuple(self._calls[path]),
                macs[path],
            )
            for module, path in self._paths.items()
            if path in self._calls
        )

    def _record(
        self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any
    ) -> None:
        path = self._paths[module]
        self._progress(len(self._calls), len(self._paths), path or type(module).__name__)
        tensor = first_tensor(output)
        if tensor is None or tensor.is_meta:
            return
        inputs = [*args, *kwargs.values()]
        shapes = tuple(tuple(v.shape) for item in inputs if (v := first_tensor(item)) is not None)
        shape = tuple(tensor.shape)
        self._calls.setdefault(path, []).append(self._statistics(tensor))
        self._shapes[path] = (shapes[0] if shapes else None, shape)
        macs, before = own_macs(module, shapes, shape), self._macs.get(path, 0)
        self._macs[path] = None if macs is None or before is None else before + macs

    def _statistics(self, tensor: Tensor) -> Statistics:
        if tensor.is_inference():
            return measure(tensor)  # it does not tell whether it was changed
        for known, version, statistics in self._recent:
            # The version tells whether the tensor was changed in place meanwhile.
            if known is tensor and version == tensor._version:
                return statistics
        statistics = measure(tensor)
        self._recent.append((tensor, tensor._version, statistics))
        return statistics

    def _macs_by_path(self) -> dict[str, int | None]:
        """Add each module's own multiply-adds to every module above it."""
        total: dict[str, int | None] = {}
        for path, own in self._macs.items():
            for above in ancestors(path):
                so_far = total.get(above, 0)
                total[above] = None if own is None or so_far is None else so_far + own
        return total
