"""The trace of a forward pass, operation by operation: plain data, free of torch.

It is one flat list of operations of the whole model. A call of a module is an interval of it:
values that its operations read and none of them computes are the module's inputs, including caches
and masks.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from math import prod
from types import EllipsisType
from typing import Any, Literal

from msgspec import Struct

from bertviewer.core.schema.modules import ancestors

ValueKind = Literal["input", "parameter", "buffer", "constant", "result"]

Shape = tuple[int, ...]


class Ref(Struct, frozen=True):
    """A tensor operand: the number of its value in ``Trace.values``."""

    value: int


class Word(Struct, frozen=True):
    """An operand of a type of torch, as text: ``torch.float32``, ``cpu``."""

    text: str


Argument = (
    Ref | Word | EllipsisType | slice | list[Any] | tuple[Any, ...]
    | int | float | complex | bool | str | None
)  # fmt: skip
"""An argument of an operation; the items of tuples, lists and slices are arguments too."""


class Value(Struct, frozen=True):
    """One version of a tensor; after a write in place it is another value.

    Attributes:
        shape: its sizes.
        dtype: torch's name without ``torch.``.
        kind: where it comes from.
        name: of a parameter or buffer as in ``named_parameters()`` and ``named_buffers()``; of an
            input the name of the argument.
        is_causal: whether it is a causal mask, which hides later tokens from each token.
    """

    shape: Shape
    dtype: str
    kind: ValueKind = "result"
    name: str = ""
    is_causal: bool = False


class Operation(Struct, frozen=True):
    """One call of a torch function.

    Attributes:
        function: torch's name, ``torch.nn.functional.linear``.
        args: its positional operands.
        kwargs: its operands by name.
        results: the values that it returned, in order.
        rewritten: old and new numbers of values that it wrote to in place.
        products: the dimensions of its matrix products, whose products are the multiply-adds.
    """

    function: str
    args: tuple[Argument, ...]
    kwargs: tuple[tuple[str, Argument], ...]
    results: tuple[int, ...]
    rewritten: tuple[tuple[int, int], ...] = ()
    products: tuple[Shape, ...] = ()

    @property
    def reads(self) -> tuple[int, ...]:
        """The values among its operands, in order."""
        return tuple(refs_in((self.args, self.kwargs)))

    @property
    def makes(self) -> tuple[int, ...]:
        """The values that it created."""
        return (*self.results, *(new for _, new in self.rewritten if new not in self.results))


class Call(Struct, frozen=True):
    """One call of a module.

    Attributes:
        path: the module's name in ``named_modules()``.
        class_name: its class.
        start: its first operation.
        stop: the first operation after it.
        above: the number of the enclosing call, ``None`` for the root.
        inputs: the tensors among its arguments with their names, ``past.0`` for one in a tuple.
        outputs: the tensors that it returned, likewise; a single one has an empty name.
        number: the number of previous calls of the same module.
    """

    path: str
    class_name: str
    start: int
    stop: int
    above: int | None
    inputs: tuple[tuple[str, int], ...]
    outputs: tuple[tuple[str, int], ...]
    number: int = 0

    @property
    def holder(self) -> str:
        """The path of the module that contains it."""
        return self.path.rpartition(".")[0]

    @property
    def name(self) -> str:
        """The module's name in the module that contains it."""
        return self.path.rpartition(".")[2]

    @property
    def is_numbered(self) -> bool:
        """Whether it is a member of a list and has several operations."""
        return self.name.isdecimal() and len(self.operations) > 1

    @property
    def operations(self) -> range:
        """The numbers of its operations, including those of calls below."""
        return range(self.start, self.stop)


class Trace(Struct, frozen=True, dict=True):
    """A forward pass.

    Attributes:
        values: all tensors that were read or computed, by number.
        operations: in order of execution.
        calls: the modules' calls in the order in which they began; only those that ended.
        stopped: the path of the module that failed and the reason, ``None`` for a complete pass.
    """

    values: tuple[Value, ...]
    operations: tuple[Operation, ...]
    calls: tuple[Call, ...]
    stopped: tuple[str, str] | None = None

    @cached_property
    def maker_of(self) -> Mapping[int, int]:
        """The operation that computed each value."""
        return {
            value: number
            for number, operation in enumerate(self.operations)
            for value in operation.makes
        }

    @cached_property
    def reads(self) -> Sequence[tuple[int, ...]]:
        """The values that each operation reads, in order."""
        return tuple(operation.reads for operation in self.operations)

    @cached_property
    def calls_of(self) -> Mapping[str, tuple[int, ...]]:
        """The numbers of a module's calls by its path."""
        found: dict[str, list[int]] = {}
        for number, call in enumerate(self.calls):
            found.setdefault(call.path, []).append(number)
        return {path: tuple(numbers) for path, numbers in found.items()}

    @cached_property
    def below(self) -> Mapping[int | None, tuple[int, ...]]:
        """The numbers of the calls directly below each call, under ``None`` the root's."""
        found: dict[int | None, list[int]] = {}
        for number, call in enumerate(self.calls):
            found.setdefault(call.above, []).append(number)
        return {above: tuple(numbers) for above, numbers in found.items()}

    def children(self, call: Call) -> list[Call]:
        """Return the calls directly below a call."""
        number = self.calls_of[call.path][call.number]
        return [self.calls[each] for each in self.below.get(number, ())]

    @cached_property
    def innermost(self) -> Sequence[int | None]:
        """The number of the innermost call of each operation, ``None`` outside of all calls."""
        found: list[int | None] = [None] * len(self.operations)
        for number, call in enumerate(self.calls):  # outer ones first
            found[call.start : call.stop] = [number] * len(call.operations)
        return tuple(found)


def macs_of(trace: Trace, operations: Iterable[int]) -> int:
    """Return the multiply-adds of operations, by their numbers."""
    return sum(prod(sizes) for number in operations for sizes in trace.operations[number].products)


def macs_by_module(trace: Trace) -> dict[str, int]:
    """Return the multiply-adds of all calls of each module, including calls below.

    A container that is not called itself has those of its modules; a module without any call is
    missing.
    """
    return {
        path: sum(macs_of(trace, operations) for operations in parts)
        for path, parts in operations_by_module(trace).items()
    }


def operations_by_module(trace: Trace) -> Mapping[str, tuple[range, ...]]:
    """Return the operations in all calls of each module, of a container those of its modules."""
    found: dict[str, list[range]] = {}
    for call in trace.calls:
        for path in ancestors(call.path):
            if path != call.path and path in trace.calls_of:
                continue
            parts = found.setdefault(path, [])
            # A call within a call of the same module or of a sibling is counted already.
            if not parts or call.start >= parts[-1].stop:
                parts.append(call.operations)
    return {path: tuple(parts) for path, parts in found.items()}


def refs_in(operand: object) -> Sequence[int]:
    """Return the values in an operand, in order."""
    found: list[int] = []
    with_refs(operand, found.append)
    return found


def with_refs(operand: Any, change: Callable[[int], object]) -> Any:
    """Return an operand with each ``Ref`` in it replaced."""
    if isinstance(operand, Ref):
        return change(operand.value)
    if isinstance(operand, tuple | list):
        items = [with_refs(item, change) for item in operand]
        return tuple(items) if isinstance(operand, tuple) else items
    if isinstance(operand, slice):
        parts = (operand.start, operand.stop, operand.step)
        return slice(*(with_refs(part, change) for part in parts))
    return operand


def text_of(operand: Argument) -> str:
    """Return an operand as Python code, ``?`` for a tensor."""
    if isinstance(operand, slice):
        parts = (operand.start, operand.stop, operand.step)
        start, stop, step = ("" if part is None else text_of(part) for part in parts)
        return f"{start}:{stop}" + (f":{step}" if step else "")
    if isinstance(operand, tuple | list):
        return f"[{', '.join(map(text_of, operand))}]"
    if isinstance(operand, Ref | Word):
        return operand.text if isinstance(operand, Word) else "?"
    if operand is ...:
        return "..."
    return f"{operand:.6g}" if isinstance(operand, float) else str(operand)
