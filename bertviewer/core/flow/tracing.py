"""Traces a forward pass: every call of torch with its operands, and every call of a module.

A ``TorchFunctionMode`` sees torch's functions by the names that the model's code calls them by,
one level above the operations that they are made of.
"""

import copy
import inspect
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any
from weakref import ref

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode, resolve_name

from bertviewer.core.flow.known_values import tensors_in
from bertviewer.core.flow.trace import (
    Call,
    Listed,
    Operand,
    Operation,
    Ref,
    Shape,
    Slice,
    Trace,
    Value,
    Word,
)
from bertviewer.core.run.forwards import Arguments, Watch, watching

MOST_OPERATIONS = 200_000
"""A model of a hundred layers takes some 5,000; one that goes token by token takes more."""

VIEW = "torch.Tensor.view_as"

_WRITES = frozenset(("__setitem__", "__iadd__", "__isub__", "__imul__", "__itruediv__", "__ior__"))


class TooLongError(RuntimeError):
    """A model takes more operations than anybody could look at."""


class Tracer(TorchFunctionMode):
    """Notes what a model does, inside ``with tracer.watching():``.

    Nothing of the numbers is kept, and a tensor that the model lets go is let go here.
    """

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self._thread = threading.get_ident()
        self._names: dict[int, tuple[str, str]] = {}
        for name, parameter in model.named_parameters(remove_duplicate=False):
            self._names.setdefault(id(parameter), ("parameter", name))
        for name, buffer in model.named_buffers(remove_duplicate=False):
            self._names.setdefault(id(buffer), ("buffer", name))
        self._modules = [
            (path, module) for path, module in model.named_modules() if callable(module.forward)
        ]
        self._numbers: dict[int, tuple[ref[Tensor], int]] = {}
        self._storages: dict[int, list[ref[Tensor]]] = {}
        self._values: list[Value] = []
        self._operations: list[Operation] = []
        self._calls: list[Call | None] = []
        self._open: list[_Open] = []
        self._times: dict[str, int] = {}
        self._products: list[Shape] = []
        self.constants: dict[int, Tensor] = {}
        """Tensors that were there before and are none of the model's, by the value's number."""

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Trace what is done inside the ``with``, in this thread."""
        watches = (
            Watch(module, self._leave, partial(self._enter, path, module))
            for path, module in self._modules
        )
        with watching(watches), self:
            yield

    @property
    def path(self) -> str:
        """The path of the module at work."""
        return self._open[-1].path if self._open else ""

    @property
    def call_number(self) -> int:
        """How many calls of the module at work went before this one."""
        return self._open[-1].times if self._open else 0

    def note_product(self, dimensions: Shape) -> None:
        """Note a matrix product of the operation at work."""
        self._products.append(dimensions)

    def trace(self, stopped: tuple[str, str] | None = None) -> Trace:
        """Return what was seen. Calls that did not end are left out with all around them."""
        kept = {number: call for number, call in enumerate(self._calls) if call is not None}
        places = {number: place for place, number in enumerate(kept)}
        calls = tuple(
            replace(call, above=None if call.above is None else places.get(call.above))
            for call in kept.values()
        )
        return Trace(tuple(self._values), tuple(self._operations), calls, stopped)

    def __torch_function__(
        self,
        func: Any,
        types: Any,
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Carry out an operation, and note it if a tensor comes out or is written to."""
        del types
        kwargs = kwargs or {}
        if threading.get_ident() != self._thread:
            return func(*args, **kwargs)
        name, may_write = _name_of(func)
        if may_write or "out" in kwargs:
            return self._noted_write(func, name, args, kwargs)
        if not self._open:
            return func(*args, **kwargs)
        before = len(self._products)
        output = func(*args, **kwargs)
        if tensors_in(output):
            operands = self._operands(args, kwargs)
            output = _fresh(output, operands[2])
            results = [self._new(tensor) for tensor in tensors_in(output)]
            self._note(name, operands, results, (), before)
        return output

    def _noted_write(
        self, func: Any, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> Any:
        operands = self._operands(args, kwargs)
        before = len(self._products)
        versions = {key: _version(tensor) for key, tensor in operands[2].items()}
        output = func(*args, **kwargs)
        rewritten: dict[int, int] = {}
        for key, tensor in operands[2].items():
            if _version(tensor) != versions[key]:
                rewritten |= self._renumbered(tensor)
        results = [self._number(tensor) for tensor in tensors_in(output)]
        if results or rewritten:
            self._note(name, operands, results, tuple(rewritten.items()), before)
        return output

    def _note(
        self,
        name: str,
        operands: tuple[tuple[Operand, ...], tuple[tuple[str, Operand], ...], dict[int, Tensor]],
        results: Sequence[int],
        rewritten: tuple[tuple[int, int], ...],
        before: int,
    ) -> None:
        args, kwargs, _ = operands
        products = tuple(self._products[before:])
        del self._products[before:]
        self._operations.append(Operation(name, args, kwargs, tuple(results), rewritten, products))
        if len(self._operations) > MOST_OPERATIONS:
            raise TooLongError("the model takes too many steps, it may go token by token")

    def _operands(
        self, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> tuple[tuple[Operand, ...], tuple[tuple[str, Operand], ...], dict[int, Tensor]]:
        taken: dict[int, Tensor] = {}
        return (
            tuple([self._operand(arg, taken) for arg in args]),
            tuple([(name, self._operand(arg, taken)) for name, arg in kwargs.items()]),
            taken,
        )

    def _operand(self, value: Any, taken: dict[int, Tensor]) -> Operand:
        if isinstance(value, Tensor):
            taken[id(value)] = value
            return Ref(self._number(value))
        if value is None or isinstance(value, int | float | str | complex):
            return value
        if isinstance(value, tuple):
            return tuple([self._operand(item, taken) for item in value])
        if isinstance(value, list):
            return Listed(tuple([self._operand(item, taken) for item in value]))
        if isinstance(value, slice):
            parts = (value.start, value.stop, value.step)
            return Slice(*(self._operand(part, taken) for part in parts))
        if isinstance(value, torch.dtype):
            return Word("dtype", str(value))
        if isinstance(value, torch.device):
            return Word("device", str(value))
        if value is ...:
            return Word("ellipsis", "...")
        return Word("other", str(value)[:80])

    def _number(self, tensor: Tensor) -> int:
        """Return a tensor's number; one that was not seen before comes from outside."""
        known = self._known(tensor)
        if known is not None:
            return known
        kind, name = self._names.get(id(tensor), ("constant", ""))
        number = self._new(tensor, kind, name)
        if kind == "constant":
            self.constants[number] = tensor
        return number

    def _known(self, tensor: Tensor) -> int | None:
        known = self._numbers.get(id(tensor))
        # The address of a tensor that is gone may be another one's now.
        return known[1] if known is not None and known[0]() is tensor else None

    def _new(self, tensor: Tensor, kind: Any = "result", name: str = "") -> int:
        number = len(self._values)
        dtype = str(tensor.dtype).removeprefix("torch.")
        self._values.append(Value(tuple(tensor.shape), dtype, kind, name))
        self._numbers[id(tensor)] = (ref(tensor), number)
        self._storages.setdefault(_storage(tensor), []).append(ref(tensor))
        return number

    def _renumbered(self, written: Tensor) -> dict[int, int]:
        """Give a tensor that was written to, and all views of its memory, new numbers."""
        found = {}
        alive = [it for it in self._storages.get(_storage(written), ()) if it() is not None]
        for each in alive:
            tensor = each()
            if tensor is not None and (old := self._known(tensor)) is not None:
                found[old] = self._new(tensor)
        self._storages[_storage(written)] = alive
        return found

    def _enter(self, path: str, module: nn.Module, taken: Arguments) -> "_Open":
        times = self._times.get(path, 0)
        self._times[path] = times + 1
        inputs = []
        for name, tensor in _named_arguments(type(module), *taken):
            is_new = not self._open and self._known(tensor) is None
            kind = ("input", name) if is_new else None
            inputs.append((name, self._new(tensor, *kind) if kind else self._number(tensor)))
        above = self._open[-1].number if self._open else None
        number, start = len(self._calls), len(self._operations)
        self._calls.append(None)
        opened = _Open(path, type(module).__name__, number, start, above, tuple(inputs), times)
        self._open.append(opened)
        return opened

    def _leave(self, taken: Arguments, output: Any, opened: "_Open") -> Any:
        del taken
        # A call below that failed, and was caught by the model, is no longer at work.
        while self._open.pop() is not opened:
            pass
        outside = {value for _, value in opened.inputs}
        output = mapped_in(output, lambda tensor: self._own(tensor, outside))
        outputs = tuple((name, self._number(tensor)) for name, tensor in named_in(output))
        self._calls[opened.number] = Call(
            opened.path,
            opened.class_name,
            opened.start,
            len(self._operations),
            opened.above,
            opened.inputs,
            outputs,
            opened.times,
        )
        return output

    def _own(self, tensor: Tensor, outside: set[int]) -> Tensor:
        """Return a tensor that a module hands on as it took it as one of its own."""
        number = self._number(tensor)
        if number not in outside:
            return tensor
        fresh = tensor.view_as(tensor)
        operands = (Ref(number), Ref(number))
        self._operations.append(Operation(VIEW, operands, (), (self._new(fresh),)))
        return fresh


@dataclass(slots=True)
class _Open:
    """A call that has not ended."""

    path: str
    class_name: str
    number: int
    start: int
    above: int | None
    inputs: tuple[tuple[str, int], ...]
    times: int


@cache
def _name_of(function: Any) -> tuple[str, bool]:
    """Return torch's name of a function, and whether it may write to what it takes."""
    name = resolve_name(function) or f"{getattr(function, '__module__', '')}.{function.__name__}"
    short = name.rpartition(".")[2]
    return name, short in _WRITES or (short.endswith("_") and not short.endswith("__"))


@cache
def _parameter_names(kind: Any) -> tuple[str, ...]:
    """Return the names of what the modules of a class take by place."""
    return tuple(inspect.signature(kind.forward).parameters)[1:]


def _named_arguments(
    kind: type[nn.Module], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Iterator[tuple[str, Tensor]]:
    of_class: Any = kind
    names = _parameter_names(of_class) if args else ()
    for place, argument in enumerate(args):
        # What is left over goes into *args, or into the forward of one object alone.
        name = names[place] if place < len(names) else str(place)
        yield from named_in(argument, name)
    for name, argument in kwargs.items():
        yield from named_in(argument, name)


def named_in(value: Any, name: str = "") -> Iterator[tuple[str, Tensor]]:
    """Yield the tensors in a value with their names in it, ``past.0`` for one in a tuple."""
    if isinstance(value, Tensor):
        yield name, value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from named_in(item, f"{name}.{key}" if name else str(key))
    elif isinstance(value, tuple | list):
        for place, item in enumerate(value):
            yield from named_in(item, f"{name}.{place}" if name else str(place))


def mapped_in(value: Any, change: Callable[[Tensor], Tensor]) -> Any:
    """Return a value of the same make with every tensor in it changed."""
    if isinstance(value, Tensor):
        return change(value)
    if not isinstance(value, tuple | list | dict):
        return value
    changed = {
        key: mapped_in(item, change)
        for key, item in (value.items() if isinstance(value, dict) else enumerate(value))
    }
    if all(changed[key] is value[key] for key in changed):
        return value
    if isinstance(value, dict):  # a ModelOutput too
        made = copy.copy(value)
        for key, item in changed.items():
            made[key] = item
        return made
    items = changed.values()
    return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)


def _fresh(output: Any, taken: Mapping[int, Tensor]) -> Any:
    """Return what an operation gave with new views of what it handed on as it took it."""
    return mapped_in(
        output, lambda tensor: tensor.view_as(tensor) if id(tensor) in taken else tensor
    )


def _storage(tensor: Tensor) -> int:
    try:
        return int(tensor.untyped_storage()._cdata)
    except NotImplementedError:  # sparse tensors have none
        return id(tensor)


def _version(tensor: Tensor) -> int:
    try:
        return int(tensor._version)
    except RuntimeError:  # made in inference mode
        return 0
