"""Records the output statistics of every module in a forward pass."""

from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any
from weakref import ref

from torch import Tensor, nn

from bertviewer.core.graph.module_calls import Arguments, CallObserver, observing
from bertviewer.core.runs.macs import NOT_COUNTED, Macs
from bertviewer.core.runs.measuring import FinishMeasuring, Norms, skip_reason, start_measuring
from bertviewer.core.schema.activation_run import ModuleActivation
from bertviewer.core.schema.statistics import NO_ELEMENTS, Statistics
from bertviewer.core.util.progress import Progress

Shape = tuple[int, ...]
_UNKNOWN = -1


def first_tensor(value: Any) -> Tensor | None:
    """Return the first tensor of a module's output, ``None`` if it has none."""
    if isinstance(value, Tensor):
        return value
    if isinstance(value, dict):
        value = tuple(value.values())
    if isinstance(value, tuple | list):
        return next((found for item in value if (found := first_tensor(item)) is not None), None)
    return None


class Recorder:
    """Records output statistics, not tensors, of a model's modules, or of those at ``paths``."""

    def __init__(
        self, model: nn.Module, progress: Progress, paths: Collection[str] | None = None
    ) -> None:
        self._progress = progress
        self._modules = [
            _RecordedModule(path, module)
            for path, module in model.named_modules()
            if paths is None or path in paths
        ]
        self._called = 0
        # Dropouts and containers return the tensor of their last child, so that the last few
        # measurements serve most modules.
        self._recent: deque[_Output] = deque(maxlen=4)
        self._outputs: list[tuple[str, _Output]] = []

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Record the calls inside the ``with``."""
        try:
            with observing(CallObserver(it.module, partial(self._see, it)) for it in self._modules):
                yield
        finally:
            self._recent.clear()

    @property
    def called(self) -> frozenset[str]:
        """The paths of the modules that were called."""
        return frozenset(module.path for module in self._modules if module.outputs)

    def activations(self, macs: Mapping[str, Macs] | None = None) -> tuple[ModuleActivation, ...]:
        """Return the records in the order of ``named_modules()``; ``macs`` are by path."""
        macs = macs or {}
        return tuple(
            module.activation(macs.get(module.path, NOT_COUNTED))
            for module in self._modules
            if module.outputs
        )

    def producers(self, tensor: Tensor) -> list[str]:
        """Return the paths of the modules that returned the elements of a tensor, in order.

        Their tensor may have had another shape (GPT-2 returns its last state as a new view) or
        another order of axes (SqueezeBERT's convolutions return [1, D, S]).
        """
        return [path for path, output in self._outputs if output.has_same_elements(tensor)]

    def _see(
        self, module: "_RecordedModule", arguments: Arguments, output: Any, _before: None
    ) -> None:
        self._called += 1
        self._progress(self._called, len(self._modules), module.name)
        tensor = first_tensor(output)
        if tensor is not None and not tensor.is_meta:
            args, kwargs = arguments
            module.inputs.append(_shapes((*args, *kwargs.values())))
            measured = self._measured(tensor)
            module.outputs.append(measured)
            self._outputs.append((module.path, measured))

    def _measured(self, tensor: Tensor) -> "_Output":
        """Return the record of a tensor: one of the last few, or a new one."""
        for output in self._recent:
            if output.is_still(tensor):
                return output
        output = _Output(tensor)
        self._recent.appendleft(output)
        return output


class _Output:
    """The statistics of a tensor at the time of a call, and its identity.

    Attributes:
        shape: of the tensor.
        skip_reason: why it was not measured, as "complex64".
    """

    __slots__ = (
        *("_finish", "_found", "_offset", "_storage", "_strides", "_tensor", "_version"),
        *("shape", "skip_reason"),
    )

    def __init__(self, tensor: Tensor) -> None:
        self._tensor = ref(tensor)
        self._version = _version(tensor)
        self._found: tuple[Statistics, Norms | None] | None = None
        self.skip_reason = ""
        try:
            self._storage = ref(tensor.untyped_storage())
            self._offset = tensor.storage_offset()
            self._strides = tensor.stride()
            self.shape: Shape = tensor.shape
            self._finish: FinishMeasuring = start_measuring(tensor)
        except (RuntimeError, TypeError):
            # Only checked now, since nearly every tensor can be measured.
            self.skip_reason = skip_reason(tensor)
            if not self.skip_reason:
                raise
            self.shape = _shape(tensor)
            self._found = NO_ELEMENTS, None

    def is_still(self, tensor: Tensor) -> bool:
        """Whether this is the same tensor, not changed in place since."""
        return self._tensor() is tensor and self._version == _version(tensor) != _UNKNOWN

    def has_same_elements(self, tensor: Tensor) -> bool:
        """Whether a tensor has the same elements in the same memory, in any shape and order."""
        return (
            not self.skip_reason
            and self._storage() is tensor.untyped_storage()
            and self._offset == tensor.storage_offset()
            and self._version == _version(tensor)
            and _layout(self.shape, self._strides) == _layout(tensor.shape, tensor.stride())
        )

    def figures(self) -> tuple[Statistics, Norms | None]:
        """Return the statistics, and the norms of the rows if these are tokens: [1, S, D]."""
        if self._found is None:
            statistics, norms = self._finish()
            is_by_token = len(self.shape) == 3 and self.shape[0] == 1
            # A copy, since the norms may be a view of a larger array.
            self._found = statistics, norms.copy() if is_by_token else None
        return self._found


class _RecordedModule:
    """The inputs and outputs of one module in each of its calls."""

    __slots__ = ("inputs", "module", "name", "outputs", "path")

    def __init__(self, path: str, module: nn.Module) -> None:
        self.path = path
        self.name = path or type(module).__name__
        self.module = module
        self.inputs: list[tuple[Shape, ...]] = []
        self.outputs: list[_Output] = []

    def activation(self, macs: Macs) -> ModuleActivation:
        inputs, figures = self.inputs[-1], [output.figures() for output in self.outputs]
        return ModuleActivation(
            path=self.path,
            class_name=type(self.module).__name__,
            input_shape=tuple(inputs[0]) if inputs else None,
            output_shape=tuple(self.outputs[-1].shape),
            calls=tuple(statistics for statistics, _ in figures),
            macs=macs.count,
            token_norms=figures[-1][1],
            skip_reason=next((it.skip_reason for it in self.outputs if it.skip_reason), ""),
            macs_reason=macs.reason,
        )


def _version(tensor: Tensor) -> int:
    """Return how many times a tensor was changed in place."""
    try:
        return tensor._version
    except RuntimeError:  # it was made in inference mode
        return _UNKNOWN


def _shapes(values: Sequence[Any]) -> tuple[Shape, ...]:
    try:
        return tuple([t.shape for value in values if (t := first_tensor(value)) is not None])
    except RuntimeError:  # one of them is nested
        return tuple([_shape(t) for value in values if (t := first_tensor(value)) is not None])


def _shape(tensor: Tensor) -> Shape:
    """Return a tensor's shape, () for a nested one."""
    try:
        shape: Shape = tensor.shape
    except RuntimeError:
        return ()
    return shape


def _layout(shape: Shape, strides: tuple[int, ...]) -> list[tuple[int, int]]:
    """Return strides and sizes of a view in canonical order, with contiguous axes merged."""
    merged: list[tuple[int, int]] = []
    for stride, size in sorted(zip(strides, shape, strict=True), reverse=True):
        if size == 1:
            continue
        if merged and merged[-1][0] == stride * size:
            merged[-1] = stride, merged[-1][1] * size
        else:
            merged.append((stride, size))
    return merged
