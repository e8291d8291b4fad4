"""Watches every module of a model during a forward pass."""

from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any
from weakref import ref

from torch import Tensor, nn

from bertviewer.core.graph.module_calls import Arguments, CallObserver, observing
from bertviewer.core.runs.macs import NOT_COUNTED, Macs
from bertviewer.core.runs.measuring import Norms, add_up, left_out
from bertviewer.core.schema.activation_run import ModuleActivation
from bertviewer.core.schema.statistics import NOTHING, Statistics
from bertviewer.core.util.progress import Progress

Shape = tuple[int, ...]
_UNKNOWN = -1


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
    """Collects what every called module took and gave; keeps figures, not tensors.

    With ``paths`` it watches only the modules of ``model`` at these.
    """

    def __init__(
        self,
        model: nn.Module,
        progress: Progress,
        paths: Collection[str] | None = None,
    ) -> None:
        self._progress = progress
        self._watches = [
            _Watched(path, module)
            for path, module in model.named_modules()
            if paths is None or path in paths
        ]
        self._called = 0
        # Dropouts and containers hand on the very tensor that their last child gave, so the
        # last few measurements serve most modules.
        self._recent: deque[_Given | _LeftOut] = deque(maxlen=4)
        self._givers: list[tuple[str, _Given | _LeftOut]] = []

    @contextmanager
    def watching(self) -> Iterator[None]:
        """CallObserver all modules inside the ``with``; they are as before after it, whatever happens."""
        try:
            with observing(
                CallObserver(watched.module, partial(self._see, watched))
                for watched in self._watches
            ):
                yield
        finally:
            self._recent.clear()

    @property
    def called(self) -> frozenset[str]:
        """The modules that were called."""
        return frozenset(watch.path for watch in self._watches if watch.given)

    def activations(self, macs: Mapping[str, Macs] | None = None) -> tuple[ModuleActivation, ...]:
        """Return what was recorded, in the order of ``named_modules()``.

        ``macs`` has the multiply-adds of each module.
        """
        macs = macs or {}
        return tuple(
            watch.activation(macs.get(watch.path, NOT_COUNTED))
            for watch in self._watches
            if watch.given
        )

    def givers(self, tensor: Tensor) -> list[str]:
        """Return the paths of the modules that gave just these numbers, the first one first.

        Their tensor may have had another shape, as GPT-2 gives its last one a new view, or its axes
        in another order, as SqueezeBERT's convolutions give [1, D, S].
        """
        return [path for path, given in self._givers if given.is_of(tensor)]

    def _see(self, watch: "_Watched", taken: Arguments, output: Any, _noted: None) -> None:
        self._called += 1
        self._progress(self._called, len(self._watches), watch.name)
        tensor = first_tensor(output)
        if tensor is not None and not tensor.is_meta:
            args, kwargs = taken
            watch.inputs.append(_shapes((*args, *kwargs.values())))
            given = self._measured(tensor)
            watch.given.append(given)
            self._givers.append((watch.path, given))

    def _measured(self, tensor: Tensor) -> "_Given | _LeftOut":
        """Return what is known of a tensor; it is measured if it is none of the last few."""
        for given in self._recent:
            if given.is_still(tensor):
                return given
        try:
            given = _Given(tensor)
        except (RuntimeError, TypeError):
            # Asked only now: nearly every tensor can be measured.
            if not left_out(tensor):
                raise
            given = _LeftOut(tensor)
        self._recent.appendleft(given)
        return given


class _Given:
    """A tensor that was given: its figures of that moment, but not the tensor itself."""

    __slots__ = (
        *("_figures", "_found", "_offset", "_storage", "_strides", "_tensor", "_version"),
        "shape",
    )
    left_out = ""

    def __init__(self, tensor: Tensor) -> None:
        self._tensor = ref(tensor)
        self._storage = ref(tensor.untyped_storage())
        self._offset = tensor.storage_offset()
        self._strides = tensor.stride()
        self._version = _version(tensor)
        self.shape: Shape = tensor.shape
        self._figures = add_up(tensor)
        self._found: tuple[Statistics, Norms | None] | None = None

    def is_still(self, tensor: Tensor) -> bool:
        """Whether this is the same tensor, and was not changed in place meanwhile."""
        return self._tensor() is tensor and self._version == _version(tensor) != _UNKNOWN

    def is_of(self, tensor: Tensor) -> bool:
        """Whether this was all of the same numbers, in any shape and order."""
        return (
            self._storage() is tensor.untyped_storage()
            and self._offset == tensor.storage_offset()
            and self._version == _version(tensor)
            and _places(self.shape, self._strides) == _places(tensor.shape, tensor.stride())
        )

    def figures(self) -> tuple[Statistics, Norms | None]:
        """Return the statistics, and the norms of the tokens where the rows are tokens."""
        if self._found is None:
            statistics, norms = self._figures()
            # The rows of [1, S, D] are the vectors of one sentence's tokens. A copy, as the norms
            # may be a part of a larger array.
            is_by_token = len(self.shape) == 3 and self.shape[0] == 1
            self._found = statistics, norms.copy() if is_by_token else None
        return self._found


class _LeftOut:
    """A tensor that was given and is none of those that are measured: what it is, in one word."""

    __slots__ = ("_tensor", "_version", "left_out", "shape")

    def __init__(self, tensor: Tensor) -> None:
        self._tensor = ref(tensor)
        self._version = _version(tensor)
        self.left_out = left_out(tensor)
        self.shape = _shape(tensor)

    def is_still(self, tensor: Tensor) -> bool:
        """Whether this is the same tensor."""
        return self._tensor() is tensor and self._version == _version(tensor) != _UNKNOWN

    def is_of(self, _tensor: Tensor) -> bool:
        """Nothing is known of its numbers."""
        return False

    def figures(self) -> tuple[Statistics, Norms | None]:
        """Return statistics of no elements."""
        return NOTHING, None


class _Watched:
    """What one module took and gave in each of its calls."""

    __slots__ = ("given", "inputs", "module", "name", "path")

    def __init__(self, path: str, module: nn.Module) -> None:
        self.path = path
        self.name = path or type(module).__name__
        self.module = module
        self.inputs: list[tuple[Shape, ...]] = []
        self.given: list[_Given | _LeftOut] = []

    def activation(self, macs: Macs) -> ModuleActivation:
        """Return what was seen, as plain data."""
        inputs, last = self.inputs[-1], self.given[-1]
        figures = [given.figures() for given in self.given]
        return ModuleActivation(
            self.path,
            type(self.module).__name__,
            tuple(inputs[0]) if inputs else None,
            tuple(last.shape),
            tuple(statistics for statistics, _ in figures),
            macs.count,
            figures[-1][1],
            next((given.left_out for given in self.given if given.left_out), ""),
            macs.reason,
        )


def _version(tensor: Tensor) -> int:
    """Return how often a tensor was changed in place."""
    try:
        return tensor._version
    except RuntimeError:  # a tensor that was made in inference mode does not count it
        return _UNKNOWN


def _shapes(values: Sequence[Any]) -> tuple[Shape, ...]:
    """Return the shapes of the tensors among a call's arguments."""
    try:
        return tuple([t.shape for value in values if (t := first_tensor(value)) is not None])
    except RuntimeError:  # a nested one has none
        return tuple([_shape(t) for value in values if (t := first_tensor(value)) is not None])


def _shape(tensor: Tensor) -> Shape:
    """Return a tensor's shape; a nested one, whose rows differ, has none."""
    try:
        shape: Shape = tensor.shape
    except RuntimeError:
        return ()
    return shape


def _places(shape: Shape, strides: tuple[int, ...]) -> list[tuple[int, int]]:
    """Return which elements of its memory a view has, in whatever order: sizes and strides.

    Axes that follow one another without a gap are one.
    """
    merged: list[tuple[int, int]] = []
    for stride, size in sorted(zip(strides, shape, strict=True), reverse=True):
        if size == 1:
            continue
        if merged and merged[-1][0] == stride * size:
            merged[-1] = stride, merged[-1][1] * size
        else:
            merged.append((stride, size))
    return merged
