"""Traces a forward pass: every call of a torch function with its operands, every call of a module.

A ``TorchFunctionMode`` sees torch's functions by the names by which the model's code calls them,
one level above the ATen operations.
"""

import inspect
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache, partial
from typing import Any
from weakref import ref

import torch
from msgspec.structs import replace
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode, resolve_name
from torch.utils._python_dispatch import _disable_current_modes

from bertviewer.core.graph.module_calls import (
    Arguments,
    CallObserver,
    map_tensors,
    memory_of,
    named_in,
    observing,
    tensors_in,
)
from bertviewer.core.graph.trace import Call, Operation, Ref, Shape, Trace, Value, ValueKind, Word
from bertviewer.core.util.budget import OverBudget

NamedValues = tuple[tuple[str, int], ...]
OpenCall = tuple[int, Call]
"""A call that has not ended, without outputs, and its number among all calls."""


class CallTracer:
    """Records calls and matrix products inside ``with tracer.watching():``.

    In its trace each product is an operation, and each input or output of a call is a new value.
    It does not affect the model and costs little. ``Tracer`` records operations and values.
    """

    def __init__(self, model: nn.Module) -> None:
        self._modules = [
            (path, module) for path, module in model.named_modules() if callable(module.forward)
        ]
        self._values: list[Value] = []
        self._operations: list[Operation] = []
        self._calls: list[Call | None] = []
        self._above: list[int | None] = []
        self._open: list[OpenCall] = []
        self._times: dict[str, int] = {}
        self.unknown: dict[int, str] = {}
        """Why the products of operations are not known, by their numbers."""

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Trace the calls inside the ``with``."""
        with observing(
            CallObserver(module, self._leave, partial(self._enter, path, type(module)))
            for path, module in self._modules
        ):
            yield

    @property
    def path(self) -> str:
        """The path of the running module."""
        return self._open[-1][1].path if self._open else ""

    @property
    def call_number(self) -> int:
        """The number of previous calls of the running module."""
        return self._open[-1][1].number if self._open else 0

    def note_product(self, dimensions: Shape) -> None:
        """Record a matrix product of the running module."""
        self._operations.append(Operation("", (), (), (), (), (dimensions,)))

    def note_unknown(self, reason: str) -> None:
        """Record an unknown product of the running module."""
        self.unknown[len(self._operations)] = reason
        self._operations.append(Operation("", (), (), ()))

    def trace(self, stopped: tuple[str, str] | None = None) -> Trace:
        """Return the trace, without the calls that did not end."""
        kept = [call for call in self._calls if call is not None]
        if len(kept) < len(self._calls):
            ended = (number for number, call in enumerate(self._calls) if call is not None)
            places = {number: place for place, number in enumerate(ended)}
            kept = [replace(call, above=self._ended_above(call.above, places)) for call in kept]
        return Trace(tuple(self._values), tuple(self._operations), tuple(kept), stopped)

    def _ended_above(self, number: int | None, places: Mapping[int, int]) -> int | None:
        """Return the place of the innermost enclosing call that ended, ``None`` for none."""
        while number is not None and number not in places:
            number = self._above[number]
        return None if number is None else places[number]

    def _enter(self, path: str, kind: type[nn.Module], arguments: Arguments) -> OpenCall:
        times = self._times.get(path, 0)
        self._times[path] = times + 1
        named = _named_arguments(kind, arguments)
        inputs = tuple((name, self._input(tensor, name)) for name, tensor in named)
        above = self._open[-1][0] if self._open else None
        start = len(self._operations)
        call = Call(path, kind.__name__, start, start, above, inputs, (), times)
        opened = len(self._calls), call
        self._calls.append(None)
        self._above.append(above)
        self._open.append(opened)
        return opened

    def _leave(self, _arguments: Arguments, output: Any, opened: OpenCall) -> Any:
        # Calls below that failed with an error that the model caught are still open.
        while self._open.pop() is not opened:
            pass
        number, call = opened
        output, outputs = self._output(output, call.inputs)
        self._calls[number] = replace(call, stop=len(self._operations), outputs=outputs)
        return output

    def _input(self, tensor: Tensor, name: str) -> int:
        """Return the number of the value of a call's input."""
        return self._add_value(tensor)

    def _output(self, output: Any, inputs: NamedValues) -> tuple[Any, NamedValues]:
        """Return the output of a call, and the tensors in it."""
        return output, tuple((name, self._add_value(it)) for name, it in named_in(output))

    def _add_value(
        self,
        tensor: Tensor,
        kind: ValueKind = "result",
        name: str = "",
        *,
        is_causal: bool = False,
    ) -> int:
        dtype = str(tensor.dtype).removeprefix("torch.")
        try:
            shape = tuple(tensor.shape)
        except RuntimeError:  # a nested tensor has none
            shape = ()
        self._values.append(Value(shape, dtype, kind, name, is_causal))
        return len(self._values) - 1


@cache
def _parameter_names(kind: Any) -> tuple[str, ...]:
    """Return the names of the positional arguments of a class of modules."""
    return tuple(inspect.signature(kind.forward).parameters)[1:]


def _named_arguments(kind: Any, arguments: Arguments) -> Iterator[tuple[str, Tensor]]:
    args, kwargs = arguments
    names = _parameter_names(kind) if args else ()
    for place, argument in enumerate(args):
        # Others are *args, or those of an object's own forward.
        yield from named_in(argument, names[place] if place < len(names) else str(place))
    yield from named_in(kwargs)


VIEW = "torch.Tensor.view_as"
MAX_OPERATIONS = 100_000
"""Limit of a trace's operations; reading longer ones would take minutes."""

HIDING = 1e4
"""Minimum of numbers that hide a token when added to a score: OpenAI GPT adds -10,000."""

_PLAIN = (int, float, str, complex, type(None), type(...))  # checked faster than their union
_WRITES = frozenset(("__setitem__", "__iadd__", "__isub__", "__imul__", "__itruediv__", "__ior__"))


class Tracer(CallTracer, TorchFunctionMode):
    """Records calls, operations and values inside ``with tracer.watching():``.

    Neither values nor tensors that the model releases are kept alive.
    """

    def __init__(self, model: nn.Module) -> None:
        CallTracer.__init__(self, model)
        TorchFunctionMode.__init__(self)
        self._thread = threading.get_ident()
        self._names: dict[int, tuple[ValueKind, str]] = {}
        for name, parameter in model.named_parameters(remove_duplicate=False):
            self._names.setdefault(id(parameter), ("parameter", name))
        for name, buffer in model.named_buffers(remove_duplicate=False):
            self._names.setdefault(id(buffer), ("buffer", name))
        self._numbers: dict[int, tuple[ref[Tensor], int]] = {}
        self._storages: dict[int, list[ref[Tensor]]] = {}
        self._products: list[Shape] = []
        self.value_of: Callable[[Tensor], Tensor | None] = lambda tensor: tensor
        """Returns a tensor's values if they are known."""
        self.constants: dict[int, Tensor] = {}
        """Existing tensors that are not the model's, by the value's number."""

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Trace this thread inside the ``with``."""
        with super().watching(), self:
            yield

    def note_product(self, dimensions: Shape) -> None:
        """Record a matrix product of the running operation."""
        self._products.append(dimensions)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call a function, and record it if it returns a tensor or writes to one."""
        kwargs = kwargs or {}
        if threading.get_ident() != self._thread:
            return func(*args, **kwargs)
        name, may_write = name_of(func)
        may_write = may_write or "out" in kwargs
        if not may_write and not self._open:
            return func(*args, **kwargs)
        before = len(self._products)
        given = tuple(args), tuple(kwargs.items())
        taken: dict[int, Tensor] = {}  # the tensors among the operands
        operands = self._operand(given, taken) if may_write else None
        versions = {key: _version(tensor) for key, tensor in taken.items()}
        output = func(*args, **kwargs)
        made = tensors_in(output)
        if operands is None:
            if not made:
                return output
            operands = self._operand(given, taken)
            if any(id(tensor) in taken for tensor in made):
                # An operand that is returned becomes a new view.
                output = map_tensors(output, lambda it: it.view_as(it) if id(it) in taken else it)
                made = tensors_in(output)
        rewritten: dict[int, int] = {}
        for key, version in versions.items():
            if _version(taken[key]) != version:
                rewritten |= self._renumbered(taken[key])
        results = tuple([self._number(it) if may_write else self._new(it) for it in made])
        if results or rewritten:
            products = tuple(self._products[before:])
            written = tuple(rewritten.items())
            self._operations.append(
                Operation(name, operands[0], operands[1], results, written, products)
            )
            if len(self._operations) > MAX_OPERATIONS:
                raise OverBudget(f"the model takes more than {MAX_OPERATIONS:,} steps")
        return output

    def _operand(self, value: Any, taken: dict[int, Tensor]) -> Any:
        if isinstance(value, Tensor):
            taken[id(value)] = value
            return Ref(self._number(value))
        if isinstance(value, _PLAIN):
            return value
        if isinstance(value, tuple | list):
            items = [self._operand(item, taken) for item in value]
            return tuple(items) if isinstance(value, tuple) else items
        if isinstance(value, slice):
            parts = (value.start, value.stop, value.step)
            return slice(*(self._operand(part, taken) for part in parts))
        return Word(str(value)[:80])

    def _number(self, tensor: Tensor) -> int:
        """Return a tensor's number; an unknown tensor comes from outside."""
        if (known := self._known(tensor)) is not None:
            return known
        kind, name = self._names.get(id(tensor), ("constant", ""))
        number = self._new(tensor, kind, name)
        if kind == "constant":
            self.constants[number] = tensor
        return number

    def _known(self, tensor: Tensor) -> int | None:
        known = self._numbers.get(id(tensor))
        # The id of a released tensor may be reused.
        return known[1] if known is not None and known[0]() is tensor else None

    def _new(self, tensor: Tensor, kind: ValueKind = "result", name: str = "") -> int:
        is_causal = kind in ("result", "input") and self._is_causal(tensor)
        number = self._add_value(tensor, kind, name, is_causal=is_causal)
        weak = ref(tensor)
        self._numbers[id(tensor)] = (weak, number)
        self._storages.setdefault(memory_of(tensor), []).append(weak)
        return number

    def _is_causal(self, tensor: Tensor) -> bool:
        """Return whether a tensor is a mask that hides later tokens, but not each token itself.

        This is decided by values. A Boolean mask may be true for visible tokens
        (``scaled_dot_product_attention``) or hidden ones (``masked_fill``); numbers may be added to
        the scores or, as in XLNet, subtracted.
        """
        is_mask = tensor.dtype == torch.bool or tensor.is_floating_point()
        if not is_mask or tensor.dim() < 2 or not tensor.shape[-1] == tensor.shape[-2] > 1:
            return False
        with _disable_current_modes():
            values = self.value_of(tensor)
            if values is None or not values.numel():
                return False
            rows = values[(0,) * (values.dim() - 2)]
            ends = _hides(rows[0, :: rows.shape[1] - 1])  # enough to rule out a large image
            if ends.all() or not ends.any():
                return False
            hides = _hides(rows)
            return _hides_later(hides) or (rows.dtype == torch.bool and _hides_later(~hides))

    def _renumbered(self, written: Tensor) -> dict[int, int]:
        """Give new numbers to a tensor that was written to and to all views of its memory."""
        found = {}
        for each in self._storages.pop(memory_of(written), ()):
            if (tensor := each()) is not None and (old := self._known(tensor)) is not None:
                found[old] = self._new(tensor)
        return found

    # Reading an attribute of a tensor, such as its shape, also calls __torch_function__.
    def _enter(self, path: str, kind: type[nn.Module], arguments: Arguments) -> OpenCall:
        with torch._C.DisableTorchFunction():
            return super()._enter(path, kind, arguments)

    def _leave(self, arguments: Arguments, output: Any, opened: OpenCall) -> Any:
        with torch._C.DisableTorchFunction():
            return super()._leave(arguments, output, opened)

    def _input(self, tensor: Tensor, name: str) -> int:
        is_new = not self._open and self._known(tensor) is None
        return self._new(tensor, "input", name) if is_new else self._number(tensor)

    def _output(self, output: Any, inputs: NamedValues) -> tuple[Any, NamedValues]:
        outside = {value for _, value in inputs}
        output = map_tensors(output, lambda tensor: self._own(tensor, outside))
        return output, tuple((name, self._number(tensor)) for name, tensor in named_in(output))

    def _own(self, tensor: Tensor, outside: set[int]) -> Tensor:
        """Return an output of a module, as a new view if it is an input."""
        number = self._number(tensor)
        if number not in outside:
            return tensor
        fresh = tensor.view_as(tensor)
        operands = (Ref(number), Ref(number))
        self._operations.append(Operation(VIEW, operands, (), (self._new(fresh),)))
        return fresh


@cache
def name_of(function: Any) -> tuple[str, bool]:
    """Return torch's name of a function, and whether it may write to its operands."""
    name = resolve_name(function) or f"{getattr(function, '__module__', '')}.{function.__name__}"
    short = name.rpartition(".")[2]
    return name, short in _WRITES or (short.endswith("_") and not short.endswith("__"))


def _hides(rows: Tensor) -> Tensor:
    return rows if rows.dtype == torch.bool else rows.abs() >= HIDING


def _hides_later(hides: Tensor) -> bool:
    """Return whether [S, S] is true above the diagonal and false on it."""
    return bool((hides | torch.ones_like(hides).tril()).all()) and not bool(hides.diagonal().any())


def _version(tensor: Tensor) -> int:
    try:
        return int(tensor._version)
    except RuntimeError:  # an inference tensor
        return 0
