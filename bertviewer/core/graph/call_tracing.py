"""Traces the calls of a model's modules, and the products in each."""

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, partial
from typing import Any

from msgspec.structs import replace
from torch import Tensor, nn

from bertviewer.core.graph.forwards import Arguments, Watch, watching
from bertviewer.core.graph.nested_tensors import named_in
from bertviewer.core.graph.trace import Call, Operation, Shape, Trace, Value, ValueKind

NamedValues = tuple[tuple[str, int], ...]
OpenCall = tuple[int, Call]
"""A call that has not ended, without outputs, and its number among all calls."""


class CallTracer:
    """Records calls and products inside ``with tracer.watching():``.

    A product is an operation of its trace, and each input or output of a call is a new value. It
    does not change what the model does, and costs little; ``Tracer`` sees operations and values.
    """

    def __init__(self, model: nn.Module) -> None:
        self._modules = [
            (path, module) for path, module in model.named_modules() if callable(module.forward)
        ]
        self._values: list[Value] = []
        self._operations: list[Operation] = []
        self._calls: list[Call | None] = []
        self._open: list[OpenCall] = []
        self._times: dict[str, int] = {}
        self.unknown: dict[int, str] = {}
        """Why the products of an operation are not known, by its number."""

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Trace the calls inside the ``with``."""
        with watching(
            Watch(module, self._leave, partial(self._enter, path, type(module)))
            for path, module in self._modules
        ):
            yield

    @property
    def path(self) -> str:
        """The path of the module at work."""
        return self._open[-1][1].path if self._open else ""

    @property
    def call_number(self) -> int:
        """How many calls of the module at work came before this one."""
        return self._open[-1][1].number if self._open else 0

    def note_product(self, dimensions: Shape) -> None:
        """Record a matrix product of the module at work."""
        self._operations.append(Operation("", (), (), (), (), (dimensions,)))

    def note_unknown(self, reason: str) -> None:
        """Record that the module at work multiplies what is not known."""
        self.unknown[len(self._operations)] = reason
        self._operations.append(Operation("", (), (), ()))

    def trace(self, stopped: tuple[str, str] | None = None) -> Trace:
        """Return what was recorded, without the calls that did not end."""
        kept = [call for call in self._calls if call is not None]
        if len(kept) < len(self._calls):
            ended = (number for number, call in enumerate(self._calls) if call is not None)
            places: dict[int | None, int] = {number: place for place, number in enumerate(ended)}
            kept = [replace(call, above=places.get(call.above)) for call in kept]
        return Trace(tuple(self._values), tuple(self._operations), tuple(kept), stopped)

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
        self._open.append(opened)
        return opened

    def _leave(self, _arguments: Arguments, output: Any, opened: OpenCall) -> Any:
        # A call below that failed, and was caught by the model, is no longer at work.
        while self._open.pop() is not opened:
            pass
        number, call = opened
        output, outputs = self._output(output, call.inputs)
        self._calls[number] = replace(call, stop=len(self._operations), outputs=outputs)
        return output

    def _input(self, tensor: Tensor, name: str) -> int:
        """Return the number of an input of a call."""
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
        except RuntimeError:  # the rows of a nested one differ
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
        # The others go into *args, or into the forward of one object alone.
        yield from named_in(argument, names[place] if place < len(names) else str(place))
    yield from named_in(kwargs)
