"""Hooks that watch every module of a model during a forward pass."""

from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any
from weakref import ReferenceType, ref

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.multiprocessing.reductions import StorageWeakRef

from bertviewer.core.architecture import ancestors
from bertviewer.core.progress import Progress
from bertviewer.core.run.activation_run import ModuleActivation
from bertviewer.core.run.macs import own_macs
from bertviewer.core.run.measuring import measure
from bertviewer.core.run.statistics import Statistics

Shape = tuple[int, ...]
Measured = tuple[Statistics, NDArray[np.floating]]
# A storage and how many elements of it; and how often it was changed in place.
_Numbers = tuple[StorageWeakRef, int, int]


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
        self._progress = progress
        self._watches = [_Watch(self, path, module) for path, module in model.named_modules()]
        self._called = 0
        # Dropouts and containers hand on the very tensor that their last child gave, so the
        # last few measurements serve most modules.
        self._recent: deque[tuple[ReferenceType[Tensor], int, Measured]] = deque(maxlen=4)
        self._given: list[tuple[str, _Numbers]] = []

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Watch all modules inside the ``with``; the hooks are gone after it, whatever happens."""
        handles = [
            watch.module.register_forward_hook(watch, with_kwargs=True) for watch in self._watches
        ]
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()
            self._recent.clear()

    def activations(self) -> tuple[ModuleActivation, ...]:
        """Return what was recorded, in the order of ``named_modules()``."""
        macs = self._macs()
        return tuple(watch.activation(macs[watch.path]) for watch in self._watches if watch.outputs)

    def tell(self, path: str) -> None:
        """Say that the module at ``path`` is done, and stop here if that is wished."""
        self._called += 1
        self._progress(self._called, len(self._watches), path)

    def note(self, path: str, tensor: Tensor) -> None:
        """Remember, but do not keep alive, what the module at ``path`` gave."""
        self._given.append((path, _numbers(tensor)))

    def givers(self, tensor: Tensor) -> list[str]:
        """Return the paths of the modules that gave just these numbers, the first one first.

        Their tensor may have had another shape: GPT-2 gives its last one a new view.
        """
        wanted = _numbers(tensor)
        return [path for path, given in self._given if given == wanted]

    def measured(self, tensor: Tensor) -> Measured:
        """Return a tensor's figures; they are known if it was one of the last few."""
        if tensor.is_inference():
            return measure(tensor)  # it does not tell whether it was changed
        for known, version, found in self._recent:
            # The version tells whether the tensor was changed in place meanwhile.
            if known() is tensor and version == tensor._version:
                return found
        found = measure(tensor)
        self._recent.appendleft((ref(tensor), tensor._version, found))
        return found

    def _macs(self) -> dict[str, int | None]:
        """Return each module's multiply-adds of all calls, and of all modules below."""
        total: dict[str, int | None] = {}
        for watch in self._watches:
            for inputs, output in zip(watch.inputs, watch.outputs, strict=True):
                own = own_macs(watch.module, inputs, output)
                for above in ancestors(watch.path) if own != 0 else (watch.path,):
                    so_far = total.get(above, 0)
                    total[above] = None if own is None or so_far is None else so_far + own
        return total


class _Watch:
    """The hook of one module: the shapes and figures of each of its calls."""

    __slots__ = ("figures", "inputs", "module", "name", "outputs", "path", "recorder")

    def __init__(self, recorder: Recorder, path: str, module: nn.Module) -> None:
        self.recorder = recorder
        self.path = path
        self.name = path or type(module).__name__
        self.module = module
        self.inputs: list[tuple[Shape, ...]] = []
        self.outputs: list[Shape] = []
        self.figures: list[Measured] = []

    def __call__(
        self, _module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any
    ) -> None:
        recorder = self.recorder
        recorder.tell(self.name)
        tensor = first_tensor(output)
        if tensor is None or tensor.is_meta:
            return
        self.figures.append(recorder.measured(tensor))
        self.inputs.append(_shapes((*args, *kwargs.values())))
        self.outputs.append(tensor.shape)
        recorder.note(self.path, tensor)

    def activation(self, macs: int | None) -> ModuleActivation:
        """Return what was seen, as plain data."""
        inputs, output = self.inputs[-1], tuple(self.outputs[-1])
        # The rows of [1, S, D] are the vectors of one sentence's tokens.
        is_by_token = len(output) == 3 and output[0] == 1
        return ModuleActivation(
            self.path,
            type(self.module).__name__,
            tuple(inputs[0]) if inputs else None,
            output,
            tuple(statistics for statistics, _ in self.figures),
            macs,
            self.figures[-1][1] if is_by_token else None,
        )


def _numbers(tensor: Tensor) -> _Numbers:
    version = 0 if tensor.is_inference() else tensor._version
    storage = StorageWeakRef(tensor.untyped_storage())  # type: ignore[no-untyped-call]
    return storage, tensor.numel(), version


def _shapes(values: Iterable[Any]) -> tuple[Shape, ...]:
    """Return the shapes of the tensors among a call's arguments."""
    return tuple([found.shape for value in values if (found := first_tensor(value)) is not None])
