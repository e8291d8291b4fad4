"""Computes every operation of a model a second time in float64, and a third time in its own dtype.

The model itself goes on with the recorded values and makes all decisions: which expert, which
bucket, how often a loop is repeated. A ``Frame`` holds what the same operations give when they
start from one call's inputs and nothing in between is replaced by recorded values.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from bertviewer.core.checking.arithmetic import (
    DECISIONS,
    float64_dtype,
    in_float64,
    is_fractional,
    to_float64,
)
from bertviewer.core.flow.nested_tensors import memory_of, tensors_in
from bertviewer.core.flow.tracing import name_of

_LOOK_UPS = frozenset(("embedding", "index_select", "__getitem__"))
"""Functions that copy numbers out of a table, which itself need not be converted to float64."""

_SORTS = frozenset(("sort", "argsort", "topk"))
_FRAMES = "_reference_values"


class NoNumbersError(Exception):
    """An operation on a tensor of the meta device, which has no numbers.

    torch allows some of them, and the result is whatever is in memory.
    """


@dataclass(slots=True)
class Values:
    """A tensor's values in one frame.

    Attributes:
        exact: in float64; ``None`` where the tensor's own numbers are exact.
        rough: rounded to the model's dtype; ``None`` where it is the tensor itself.
        is_given: whether it was passed in, and not computed in the frame.
    """

    exact: Tensor | None = None
    rough: Tensor | None = None
    is_given: bool = False


@dataclass(slots=True, eq=False)
class Frame:
    """One evaluation of a module's call in float64 and in the model's dtype.

    Attributes:
        coarsest: the dtype with the largest rounding error, ``None`` before any computation.
        problem: why something could not be computed in float64, "" if all was.
    """

    coarsest: torch.dtype | None = None
    problem: str = ""

    def fail(self, problem: str) -> None:
        """Note a problem; the first one is kept."""
        self.problem = self.problem or problem

    def note(self, dtype: torch.dtype) -> None:
        """Note the dtype of a result."""
        if self.coarsest is None or torch.finfo(dtype).eps > torch.finfo(self.coarsest).eps:
            self.coarsest = dtype

    def values(self, tensor: Tensor) -> Values | None:
        """Return a tensor's values in this frame, ``None`` if it comes from outside."""
        found: Values | None = vars(tensor).get(_FRAMES, {}).get(self)
        return found

    def put(self, tensor: Tensor, values: Values) -> None:
        """Set a tensor's values."""
        vars(tensor).setdefault(_FRAMES, {})[self] = values

    def exact(self, tensor: Tensor) -> Tensor:
        """Return a tensor in float64; integers and Booleans unchanged."""
        if not is_fractional(tensor):
            return tensor
        values = self.values(tensor)
        if values is None:
            return to_float64(tensor)
        if values.exact is None:
            # Kept, so that views of it share one memory.
            values.exact = to_float64(tensor)
        return values.exact

    def rough(self, tensor: Tensor) -> Tensor:
        """Return a tensor as the model's dtype rounds it."""
        values = self.values(tensor)
        return tensor if values is None or values.rough is None else values.rough


class Observer(Protocol):
    """Is called after each operation of the module at work."""

    sorted: list[Tensor]

    def operation(self, short: str, function: Any, args: Any, kwargs: Any, results: Any) -> None:
        """Note an operation; ``short`` is the last part of its name."""


@dataclass(slots=True)
class _Operation:
    """One operation, with its operands from outside all frames converted only once."""

    function: Any
    short: str
    args: Sequence[Any]
    kwargs: Mapping[str, Any]
    converted: dict[int, Tensor] = field(default_factory=dict)

    def exact(self, frame: Frame) -> tuple[Any, Any]:
        """Return the operands in float64."""

        def change(value: Any) -> Any:
            if isinstance(value, torch.dtype):
                return float64_dtype(value)
            if not isinstance(value, Tensor) or not is_fractional(value):
                return value
            if frame.values(value) is not None:
                return frame.exact(value)
            if id(value) not in self.converted:
                self.converted[id(value)] = to_float64(value)
            return self.converted[id(value)]

        return _changed(self.args, change), _changed(self.kwargs, change)

    def rough(self, frame: Frame) -> tuple[Any, Any]:
        """Return the operands as the model's dtype rounds them."""

        def change(value: Any) -> Any:
            return frame.rough(value) if isinstance(value, Tensor) else value

        return _changed(self.args, change), _changed(self.kwargs, change)


class Float64Mode(TorchFunctionMode):
    """Evaluates operations inside the ``with`` in each of ``frames``.

    A model's writes to its own parameters are skipped: it made them in the recorded run.
    """

    def __init__(self) -> None:
        super().__init__()
        self.frames: Sequence[Frame] = ()
        self.observer: Observer | None = None

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Carry out an operation as the model does, and then in every frame."""
        kwargs = kwargs or {}
        name, may_write = name_of(func)
        written = _written(args, kwargs) if may_write or _OUTPUTS & kwargs.keys() else ()
        if any(isinstance(tensor, nn.Parameter) for tensor in written):
            return args[0]
        taken = tensors_in((args, kwargs))
        has_no_numbers = any(tensor.is_meta for tensor in taken)
        if written and has_no_numbers:
            raise NoNumbersError(name)
        operation = _Operation(func, _short(name), args, kwargs)
        if written and self.frames:
            output = self._write(operation, written)
        else:
            output = func(*args, **kwargs)
            if not (results := tensors_in(output)):
                return output
            if has_no_numbers:
                raise NoNumbersError(name)
            if not self.frames:
                return output
            self._follow(operation, taken, results)
        if self.observer is not None:
            self.observer.operation(operation.short, func, args, kwargs, output)
        return output

    def _follow(
        self, operation: _Operation, taken: Sequence[Tensor], results: Sequence[Tensor]
    ) -> None:
        is_sort = operation.short in _SORTS and taken[0].dim() == 1
        if is_sort and self.observer is not None and not is_fractional(taken[0]):
            self.observer.sorted.append(taken[0][results[-1]])
        # A tensor that is returned as it was taken keeps its values.
        new = [not any(result is it for it in taken) for result in results]
        for frame in self.frames:
            if _is_exact(frame, operation.short, taken, results):
                found = [Values() for _ in results]
            else:
                found = _computed(frame, operation, taken, results)
            for result, values, is_new in zip(results, found, new, strict=True):
                if is_new:
                    frame.put(result, values)

    def _write(self, operation: _Operation, written: Sequence[Tensor]) -> Any:
        """Carry out what writes in place, in every memory."""
        numbers = [tensor for tensor in written if is_fractional(tensor)]
        taken = tensors_in((operation.args, operation.kwargs))
        operands = []
        if len(numbers) == len(written):
            for frame in self.frames:
                rough = any(frame.rough(tensor) is not tensor for tensor in taken)
                for tensor in numbers:
                    values = frame.values(tensor)
                    if values is None:
                        frame.put(tensor, values := Values(to_float64(tensor)))
                    if rough and values.rough is None:
                        values.rough = tensor.detach().clone()
                exact = operation.exact(frame)
                operands.append((frame, exact, operation.rough(frame) if rough else None))
        output = operation.function(*operation.args, **operation.kwargs)
        for frame in self.frames:
            for tensor in written:
                values = frame.values(tensor)
                frame.put(
                    tensor, Values() if values is None else Values(values.exact, values.rough)
                )
            for tensor in numbers:
                frame.note(tensor.dtype)
        for frame, exact, rough_operands in operands:
            try:
                operation.function(*exact[0], **exact[1])
                if rough_operands is not None:
                    operation.function(*rough_operands[0], **rough_operands[1])
            except Exception:  # noqa: BLE001 - torch raises any kind of error
                frame.fail(_impossible(operation.short))
        return output


def _is_exact(frame: Frame, short: str, taken: Sequence[Tensor], results: Sequence[Tensor]) -> bool:
    """Return whether results are exact in a frame without being computed in float64."""
    if not any(map(is_fractional, results)):
        return True
    if any(frame.values(tensor) is not None for tensor in taken if is_fractional(tensor)):
        return False
    memories = {memory_of(tensor) for tensor in taken}
    return short in _LOOK_UPS or all(memory_of(result) in memories for result in results)


def _computed(
    frame: Frame, operation: _Operation, taken: Sequence[Tensor], results: Sequence[Tensor]
) -> list[Values]:
    """Return the values of an operation's results in a frame."""
    for result in results:
        if is_fractional(result):
            frame.note(result.dtype)
    if operation.short in DECISIONS or not any(map(is_fractional, taken)):
        # Copied, since they may be written to.
        return [Values(to_float64(it) if is_fractional(it) else None) for it in results]
    operands = operation.exact(frame)
    exact = _results(frame, operation, operands, float64=True)
    if len(exact) != len(results):
        frame.fail(_impossible(operation.short))
        return [Values() for _ in results]
    rough: Sequence[Tensor | None] = [None] * len(results)
    if any(frame.rough(tensor) is not tensor for tensor in taken):
        found = _results(frame, operation, operation.rough(frame), float64=False)
        rough = found if len(found) == len(results) else rough
    before = {id(tensor) for tensor in tensors_in(operands)}
    values = []
    for result, number, rounded in zip(results, exact, rough, strict=True):
        if not is_fractional(result):
            values.append(Values())
        elif number.shape != result.shape or not is_fractional(number):
            frame.fail(_impossible(operation.short))
            values.append(Values())
        else:
            # A cast makes a copy for the model, but not of what is in float64 already.
            is_kept = id(number) in before or number.dtype != float64_dtype(number.dtype)
            values.append(Values(to_float64(number) if is_kept else number, rounded))
    return values


def _results(
    frame: Frame, operation: _Operation, operands: tuple[Any, Any], *, float64: bool
) -> list[Tensor]:
    args, kwargs = operands
    try:
        if float64:
            return tensors_in(in_float64(operation.function, operation.short, args, kwargs))
        return tensors_in(operation.function(*args, **kwargs))
    except Exception:  # noqa: BLE001 - torch raises any kind of error
        frame.fail(_impossible(operation.short))
        return []


def _impossible(short: str) -> str:
    return f"{short} cannot be computed in float64"


def _short(name: str) -> str:
    """Return the last part of a function's name; of a property the property's name."""
    return name.removesuffix(".__get__").rpartition(".")[2]


_OUTPUTS = frozenset(("out", "inplace"))


def _written(args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Tensor, ...]:
    """Return what an operation writes to: ``out``, or its first operand."""
    if kwargs.get("out") is not None:
        return tuple(tensors_in(kwargs["out"]))
    if kwargs.get("inplace") is False:
        return ()
    return tuple(tensors_in(args[:1]))


def _changed(value: Any, change: Any) -> Any:
    """Return operands with tensors and dtypes changed."""
    if isinstance(value, Mapping):
        return {key: _changed(item, change) for key, item in value.items()}
    if isinstance(value, tuple | list) and not isinstance(value, torch.Size):
        return type(value)([_changed(item, change) for item in value])
    return change(value)
