"""Computes every operation of a model a second time in float64, and a third time in its own dtype.

The model itself goes on with the recorded values and makes all decisions: which expert, which
bucket, how often a loop is repeated. A ``Frame`` holds what the same operations give when they
start from one call's inputs and nothing in between is replaced by recorded values.
"""

from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import Any

import torch
from msgspec import Struct, field
from torch import Tensor, nn
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from bertviewer.core.checks.arithmetic import (
    DECISIONS,
    float64_dtype,
    in_float64,
    is_fractional,
    to_float64,
)
from bertviewer.core.graph.nested_tensors import mapped_in, memory_of, tensors_in
from bertviewer.core.graph.tracing import name_of

_LOOK_UPS = frozenset(("embedding", "index_select", "__getitem__"))
"""Functions that copy numbers out of a table, which itself need not be converted to float64."""

_OPENED = {
    "multi_head_attention_forward": FunctionType(
        functional.multi_head_attention_forward.__code__,
        {**vars(functional), "has_torch_function": lambda _tensors: False},
        argdefs=functional.multi_head_attention_forward.__defaults__,
    )
}
"""Functions that torch writes in Python: the operations in them are evaluated one by one."""

_FRAMES = "_reference_values"


class NoNumbersError(Exception):
    """An operation on a tensor of the meta device, which has no numbers.

    torch allows some of them, and the result is whatever is in memory.
    """


class Values(Struct):
    """A tensor's values in one frame.

    ``exact`` is in float64, ``None`` where the tensor's own numbers are exact. ``rough`` is rounded
    to the model's dtype, ``None`` where it is the tensor itself. ``is_given`` says whether it was
    passed in, and not computed in the frame.
    """

    exact: Tensor | None = None
    rough: Tensor | None = None
    is_given: bool = False


class Frame(Struct, eq=False):
    """One evaluation of a module's call in float64 and in the model's dtype.

    ``coarsest`` is the dtype with the largest rounding error, ``None`` before any computation.
    ``problem`` says why something could not be computed in float64, "" if all was.
    """

    coarsest: torch.dtype | None = None
    problem: str = ""

    def fail(self, problem: str) -> None:
        """Note a problem; the first one is kept."""
        self.problem = self.problem or problem

    def note(self, tensors: Sequence[Tensor]) -> None:
        """Note the dtypes of results."""
        for dtype in {tensor.dtype for tensor in tensors if is_fractional(tensor)}:
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

    def is_rough(self, tensors: Sequence[Tensor]) -> bool:
        """Return whether the model's dtype rounds any of these to other numbers than its own."""
        return any(self.rough(tensor) is not tensor for tensor in tensors)


class _Operation(Struct):
    """One operation, with its operands from outside all frames converted only once."""

    function: Callable[..., Any]
    short: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    written: Sequence[Tensor]
    taken: Sequence[Tensor]
    converted: dict[int, Tensor] = field(default_factory=dict)

    def results(self, frame: Frame, *, exact: bool) -> list[Tensor]:
        """Return the results in float64 or in the model's dtype; none where it fails."""

        def change(tensor: Tensor) -> Tensor:
            if not exact:
                return frame.rough(tensor)
            if frame.values(tensor) is not None or not is_fractional(tensor):
                return frame.exact(tensor)
            if id(tensor) not in self.converted:
                self.converted[id(tensor)] = to_float64(tensor)
            return self.converted[id(tensor)]

        args, kwargs = mapped_in((self.args, self.kwargs), change)
        if exact:
            args = tuple(map(_finest, args))
            kwargs = {name: _finest(value) for name, value in kwargs.items()}
        try:
            if self.written or not exact:
                return tensors_in(self.function(*args, **kwargs))
            results = tensors_in(in_float64(self.function, self.short, args, kwargs))
        except Exception:  # noqa: BLE001 - torch raises any kind of error
            self.fail(frame)
            return []
        # A cast makes a copy for the model, but not of what is in float64 already.
        before = {id(tensor) for tensor in tensors_in((args, kwargs))}
        return [
            to_float64(it) if id(it) in before or it.dtype != float64_dtype(it.dtype) else it
            for it in results
        ]

    def fail(self, frame: Frame) -> None:
        """Note in a frame that it cannot be computed."""
        frame.fail(f"{self.short} cannot be computed in float64")


class Float64Mode(TorchFunctionMode):
    """Evaluates operations inside the ``with`` in each of ``frames``.

    A model's writes to its own parameters are skipped: it made them in the recorded run.

    Attributes:
        frames: the evaluations.
        observe: is called after each operation with the function, its operands by place and by
            name, and its results.
    """

    def __init__(self) -> None:
        super().__init__()
        self.frames: Sequence[Frame] = ()
        self.observe: Callable[[Any, Any, Any, Any], None] | None = None

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Carry out an operation as the model does, and in every frame."""
        kwargs = kwargs or {}
        name, may_write = name_of(func)
        short = name.removesuffix(".__get__").rpartition(".")[2]
        if short in _OPENED:
            with self:
                return _OPENED[short](*args, **kwargs)
        written = _written(args, kwargs, may_write=may_write)
        if any(isinstance(tensor, nn.Parameter) for tensor in written):
            return args[0]
        taken = tensors_in((args, kwargs))
        has_no_numbers = any(tensor.is_meta for tensor in taken)
        if written and has_no_numbers:
            raise NoNumbersError(name)
        operation = _Operation(func, short, args, kwargs, written, taken)
        for frame in self.frames if written else ():
            _write(frame, operation)
        output = func(*args, **kwargs)
        results = tensors_in(output)
        if results and has_no_numbers:
            raise NoNumbersError(name)
        for frame in self.frames if results and not written else ():
            values = _values(frame, operation, results)
            for result, found in zip(results, values, strict=True):
                # A tensor that is returned as it was taken keeps its values.
                if not any(result is tensor for tensor in taken):
                    frame.put(result, found)
        if self.observe is not None and (results or written):
            self.observe(func, args, kwargs, output)
        return output


def _write(frame: Frame, operation: _Operation) -> None:
    """Carry out in a frame what writes in place."""
    written, is_rough = operation.written, frame.is_rough(operation.taken)
    is_fractions = all(map(is_fractional, written))
    for tensor in written:
        values = frame.values(tensor) or Values()
        values.is_given = False
        frame.put(tensor, values)
        if is_fractions:
            frame.exact(tensor)
            if is_rough and values.rough is None:
                values.rough = tensor.detach().clone()
    frame.note(written)
    if is_fractions:
        operation.results(frame, exact=True)
        if is_rough:
            operation.results(frame, exact=False)


def _values(frame: Frame, operation: _Operation, results: Sequence[Tensor]) -> list[Values]:
    """Return the values of an operation's results in a frame."""
    taken, nothing = operation.taken, [Values() for _ in results]
    fractions = [tensor for tensor in taken if is_fractional(tensor)]
    if not any(map(is_fractional, results)):
        return nothing
    if all(frame.values(tensor) is None for tensor in fractions):
        # Numbers from outside that are only copied or viewed are exact.
        memories = {memory_of(tensor) for tensor in taken}
        if operation.short in _LOOK_UPS or all(memory_of(it) in memories for it in results):
            return nothing
    frame.note(results)
    if operation.short in DECISIONS or not fractions:
        # Copied, since they may be written to.
        return [Values(to_float64(it) if is_fractional(it) else None) for it in results]
    exact = operation.results(frame, exact=True)
    if list(map(_form, exact)) != list(map(_form, results)):
        operation.fail(frame)
        return nothing
    rough = operation.results(frame, exact=False) if frame.is_rough(taken) else []
    roughs = rough if len(rough) == len(results) else [None] * len(results)
    pairs = zip(exact, roughs, strict=True)
    return [Values(*pair) if is_fractional(pair[0]) else Values() for pair in pairs]


def _form(tensor: Tensor) -> tuple[torch.Size, bool]:
    return tensor.shape, is_fractional(tensor)


def _written(args: Sequence[Any], kwargs: Mapping[str, Any], *, may_write: bool) -> list[Tensor]:
    """Return what an operation writes to: ``out``, or its first operand."""
    if kwargs.get("out") is not None:
        return tensors_in(kwargs["out"])
    is_in_place = kwargs.get("inplace", may_write)
    return tensors_in(args[:1]) if is_in_place else []


def _finest(value: Any) -> Any:
    return float64_dtype(value) if isinstance(value, torch.dtype) else value
