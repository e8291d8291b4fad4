"""Computes every operation of a model a second time in float64, and a third time in its own dtype.

In float64, torch's fused kernels are replaced by plain sums, products and exponentials, so that a
kernel is not compared with itself. The model itself continues with the recorded values and makes
all decisions: which expert, which bucket, how often a loop is repeated. A ``Frame`` holds the
results of the same operations starting from one call's inputs, with no recorded values in between.
"""

from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import Any

import torch
from msgspec import Struct, field
from torch import Tensor, nn
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from bertviewer.core.checks.float64_functions import (
    float64_dtype,
    in_float64,
    is_fractional,
    to_float64,
)
from bertviewer.core.graph.module_calls import map_tensors, memory_of, tensors_in
from bertviewer.core.graph.tracing import name_of

DECISIONS = frozenset(("round", "floor", "ceil", "trunc", "fix", "sign", "sgn", "heaviside"))
"""Discontinuous functions, of which the model's own result is used."""

_LOOK_UPS = frozenset(("embedding", "index_select", "__getitem__"))
"""Functions that copy rows of a table, which need not be converted to float64."""

_OPENED = {
    "multi_head_attention_forward": FunctionType(
        functional.multi_head_attention_forward.__code__,
        {**vars(functional), "has_torch_function": lambda _tensors: False},
        argdefs=functional.multi_head_attention_forward.__defaults__,
    )
}
"""Functions that torch implements in Python, of which each operation is evaluated."""

_FRAMES = "_reference_values"


class NoValuesError(Exception):
    """An operation on a meta tensor; torch allows some, with uninitialized results."""


class Values(Struct):
    """A tensor's values in one frame.

    ``exact`` is in float64, ``None`` if the tensor's own numbers are exact. ``rough`` is rounded to
    the model's dtype, ``None`` if it is the tensor itself. ``is_given``: it was passed in, and not
    computed in the frame.
    """

    exact: Tensor | None = None
    rough: Tensor | None = None
    is_given: bool = False


class Frame(Struct, eq=False):
    """One evaluation of a module's call in float64 and in the model's dtype.

    ``coarsest`` is the dtype with the largest rounding error, ``None`` before any computation.
    ``problem`` is the reason why something could not be computed in float64, or "".
    """

    coarsest: torch.dtype | None = None
    problem: str = ""

    def fail(self, problem: str) -> None:
        """Record a problem if it is the first."""
        self.problem = self.problem or problem

    def note(self, tensors: Sequence[Tensor]) -> None:
        """Record the dtypes of results."""
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
            # Stored, so that views share its memory.
            values.exact = to_float64(tensor)
        return values.exact

    def rough(self, tensor: Tensor) -> Tensor:
        """Return a tensor rounded to the model's dtype."""
        values = self.values(tensor)
        return tensor if values is None or values.rough is None else values.rough

    def is_rough(self, tensors: Sequence[Tensor]) -> bool:
        """Return whether the rounded values of any tensor differ from its own."""
        return any(self.rough(tensor) is not tensor for tensor in tensors)


class _Operation(Struct):
    """One operation; operands from outside of all frames are converted once."""

    function: Callable[..., Any]
    short: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    written: Sequence[Tensor]
    operands: Sequence[Tensor]
    converted: dict[int, Tensor] = field(default_factory=dict)

    def results(self, frame: Frame, *, exact: bool) -> list[Tensor]:
        """Return the results in float64 or in the model's dtype, none after an error."""

        def change(tensor: Tensor) -> Tensor:
            if not exact:
                return frame.rough(tensor)
            if frame.values(tensor) is not None or not is_fractional(tensor):
                return frame.exact(tensor)
            if id(tensor) not in self.converted:
                self.converted[id(tensor)] = to_float64(tensor)
            return self.converted[id(tensor)]

        args, kwargs = map_tensors((self.args, self.kwargs), change)
        if exact:
            args = tuple(map(_widened_dtype, args))
            kwargs = {name: _widened_dtype(value) for name, value in kwargs.items()}
        try:
            if self.written or not exact:
                return tensors_in(self.function(*args, **kwargs))
            results = tensors_in(in_float64(self.function, self.short, args, kwargs))
        except Exception:  # noqa: BLE001 - torch raises any kind of error
            self.fail(frame)
            return []
        # A cast copies for the model, but not if its operand is in float64 already.
        before = {id(tensor) for tensor in tensors_in((args, kwargs))}
        return [
            to_float64(it) if id(it) in before or it.dtype != float64_dtype(it.dtype) else it
            for it in results
        ]

    def fail(self, frame: Frame) -> None:
        """Record in a frame that the operation cannot be computed."""
        frame.fail(f"{self.short} cannot be computed in float64")


class Float64Mode(TorchFunctionMode):
    """Evaluates operations inside the ``with`` in each of ``frames``.

    Writes of a model to its own parameters are skipped, as they happened in the recorded run.

    Attributes:
        frames: the evaluations.
        observe: is called after each operation with the function, its positional and keyword
            operands, and its results.
    """

    def __init__(self) -> None:
        super().__init__()
        self.frames: Sequence[Frame] = ()
        self.observe: Callable[[Any, Any, Any, Any], None] | None = None

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run an operation as the model does, and in every frame."""
        kwargs = kwargs or {}
        name, may_write = name_of(func)
        short = name.removesuffix(".__get__").rpartition(".")[2]
        if short in _OPENED:
            with self:
                return _OPENED[short](*args, **kwargs)
        written = _written(args, kwargs, may_write=may_write)
        if any(isinstance(tensor, nn.Parameter) for tensor in written):
            return args[0]
        operands = tensors_in((args, kwargs))
        is_meta = any(tensor.is_meta for tensor in operands)
        if written and is_meta:
            raise NoValuesError(name)
        operation = _Operation(func, short, args, kwargs, written, operands)
        for frame in self.frames if written else ():
            _write(frame, operation)
        output = func(*args, **kwargs)
        results = tensors_in(output)
        if results and is_meta:
            raise NoValuesError(name)
        for frame in self.frames if results and not written else ():
            values = _values(frame, operation, results)
            for result, found in zip(results, values, strict=True):
                # An operand that is returned keeps its values.
                if not any(result is tensor for tensor in operands):
                    frame.put(result, found)
        if self.observe is not None and (results or written):
            self.observe(func, args, kwargs, output)
        return output


def _write(frame: Frame, operation: _Operation) -> None:
    """Run an operation that writes in place in a frame."""
    written, is_rough = operation.written, frame.is_rough(operation.operands)
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
    operands, nothing = operation.operands, [Values() for _ in results]
    fractions = [tensor for tensor in operands if is_fractional(tensor)]
    if not any(map(is_fractional, results)):
        return nothing
    if all(frame.values(tensor) is None for tensor in fractions):
        # Copies and views of tensors from outside are exact.
        memories = {memory_of(tensor) for tensor in operands}
        if operation.short in _LOOK_UPS or all(memory_of(it) in memories for it in results):
            return nothing
    frame.note(results)
    if operation.short in DECISIONS or not fractions:
        # Copies, as they may be written to.
        return [Values(to_float64(it) if is_fractional(it) else None) for it in results]
    exact = operation.results(frame, exact=True)
    if list(map(_form, exact)) != list(map(_form, results)):
        operation.fail(frame)
        return nothing
    rough = operation.results(frame, exact=False) if frame.is_rough(operands) else []
    roughs = rough if len(rough) == len(results) else [None] * len(results)
    pairs = zip(exact, roughs, strict=True)
    return [Values(*pair) if is_fractional(pair[0]) else Values() for pair in pairs]


def _form(tensor: Tensor) -> tuple[torch.Size, bool]:
    return tensor.shape, is_fractional(tensor)


def _written(args: Sequence[Any], kwargs: Mapping[str, Any], *, may_write: bool) -> list[Tensor]:
    """Return the tensors that an operation writes to: ``out``, or its first operand."""
    if kwargs.get("out") is not None:
        return tensors_in(kwargs["out"])
    is_in_place = kwargs.get("inplace", may_write)
    return tensors_in(args[:1]) if is_in_place else []


def _widened_dtype(value: Any) -> Any:
    return float64_dtype(value) if isinstance(value, torch.dtype) else value
