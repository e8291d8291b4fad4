"""A trace as a graph: which operation reads which one's results, with view operations elided."""

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from math import prod
from typing import NamedTuple, TypeVar

from msgspec import Struct, field

from bertviewer.core.graph.operation_names import LINEAR, SELECTIONS, SIZED_LIKE, VIEWS, word_of
from bertviewer.core.graph.trace import (
    Argument,
    Operation,
    Ref,
    Shape,
    Trace,
    Value,
    text_of,
    with_refs,
)
from bertviewer.core.schema.flow import KnownOperation
from bertviewer.core.util.serialization import Scalar

AUXILIARY, PARAMETER, ACTIVATION = 0, 1, 2
"""Levels: values that depend on masks, positions and buffers only; also on parameters; on data."""

_AUXILIARY_INPUTS = ("mask", "position", "bias")
Item = TypeVar("Item")


class Reading(NamedTuple):
    """One tensor that an operation reads.

    ``same`` is the value with the same numbers before all view operations. ``maker`` is the
    operation that computed these numbers, before selections as well, -1 for values from outside;
    ``word`` is its canonical name. ``level`` is ``AUXILIARY``, ``PARAMETER`` or ``ACTIVATION``.
    """

    value: int
    same: int
    maker: int
    word: str
    level: int


class View(NamedTuple):
    """A view operation, by its word, and the value that it views, whole or in part."""

    source: int
    word: str
    is_part: bool = False


class Graph:
    """Which operation of a trace reads which one's results; ``words`` are the operations' names."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.words: Sequence[str] = tuple(word_of(each.function) for each in trace.operations)
        self._views: dict[int, View] = {}
        for word, operation in zip(self.words, trace.operations, strict=True):
            self._views.update(self._views_of(word, operation))
        self._viewing = frozenset(
            number
            for number, operation in enumerate(trace.operations)
            if operation.results and self._views.keys() >= set(operation.results)
        )
        self.level = self._levels()
        self._level_of = tuple(
            max(self.level[value] for value in operation.makes) for operation in trace.operations
        )

    def shape(self, value: int) -> Shape:
        """Return a value's shape."""
        return self.trace.values[value].shape

    def is_scalar(self, value: int) -> bool:
        """Return whether a value has one element."""
        return max(self.shape(value), default=1) == 1

    def view(self, value: int) -> View | None:
        """Return the view operation that made a value, ``None`` for others."""
        return self._views.get(value)

    def views(self, value: int) -> Iterator[View]:
        """Yield the chain of view operations that made a value, from the last to the first."""
        while (view := self._views.get(value)) is not None:
            yield view
            value = view.source

    def same(self, value: int) -> int:
        """Return the first value with the same numbers, before all view operations."""
        while (view := self._views.get(value)) is not None and not view.is_part:
            value = view.source
        return value

    def whole(self, value: int) -> int:
        """Return the value before all view operations, parts included."""
        while (view := self._views.get(value)) is not None:
            value = view.source
        return value

    def is_view(self, operation: int) -> bool:
        """Return whether an operation only changes its operand's shape, or selects a part."""
        return operation in self._viewing

    def maker(self, value: int) -> int:
        """Return the operation that computed a value's numbers, before all views; -1 for none."""
        return self.trace.maker_of.get(self.whole(value), -1)

    def word(self, operation: int) -> str:
        """Return an operation's word, "" for -1."""
        return self.words[operation] if operation >= 0 else ""

    @cached_property
    def readings(self) -> Sequence[tuple[Reading, ...]]:
        """What each operation reads, in order."""
        return tuple(tuple(map(self._reading, reads)) for reads in self.trace.reads)

    def _reading(self, value: int) -> Reading:
        maker = self.maker(value)
        return Reading(value, self.same(value), maker, self.word(maker), self.level[value])

    @cached_property
    def _users(self) -> Mapping[int, tuple[int, ...]]:
        found: dict[int, dict[int, None]] = {}
        for number in range(len(self.words)):
            if not self.is_view(number):
                for maker in self.makers(number):
                    found.setdefault(maker, {})[number] = None
        return {maker: tuple(users) for maker, users in found.items()}

    def users(self, operation: int) -> tuple[int, ...]:
        """Return the operations that read an operation's results, view operations elided."""
        return self._users.get(operation, ())

    def sole_user(self, operation: int) -> int:
        """Return the one operation that reads an operation's results, -1 for none or several."""
        users = self.users(operation)
        return users[0] if len(users) == 1 else -1

    def makers(self, operation: int) -> list[int]:
        """Return the operations whose results an operation reads, view operations elided."""
        return [each.maker for each in self.readings[operation] if each.maker >= 0]

    def data(self, operation: int) -> tuple[Reading, ...]:
        """Return the activations that an operation reads."""
        return tuple(each for each in self.readings[operation] if each.level == ACTIVATION)

    def data_makers(self, operation: int) -> list[int]:
        """Return the ``makers`` of activations."""
        return [each.maker for each in self.data(operation) if each.maker >= 0]

    @cached_property
    def texts(self) -> Sequence[str]:
        """Each operation as text without its tensors; 1, 1.0 and True differ."""
        return tuple(
            repr((each.function, with_refs((each.args, each.kwargs), lambda _: Ref)))
            for each in self.trace.operations
        )

    @cached_property
    def output_makers(self) -> frozenset[int]:
        """The operations that compute an output of a module."""
        calls = self.trace.calls
        return frozenset(self.maker(value) for call in calls for _, value in call.outputs)

    def numbers(self, operation: int) -> tuple[float, ...]:
        """Return the plain numbers among an operation's positional operands."""
        args = self.trace.operations[operation].args
        return tuple(
            arg for arg in args if isinstance(arg, int | float) and not isinstance(arg, bool)
        )

    def option(self, operation: int, name: str) -> Argument:
        """Return a keyword operand of an operation, ``None`` without it."""
        return dict(self.trace.operations[operation].kwargs).get(name)

    def made(self, operation: int) -> int:
        """Return the first value that an operation computed."""
        return self.trace.operations[operation].makes[0]

    def level_of(self, operation: int) -> int:
        """Return the maximum of the levels of an operation's results."""
        return self._level_of[operation]

    def parameter(self, value: int) -> str:
        """Return the name of the parameter that a value views, "" for others."""
        whole = self.trace.values[self.whole(value)]
        return whole.name if whole.kind == "parameter" else ""

    def positions(
        self, operations: Iterable[int], levels: Container[int]
    ) -> dict[tuple[int, int], str]:
        """Return the role ``position`` for readings of operations at these levels."""
        return {
            (each, reading.value): "position"
            for each in operations
            for reading in self.readings[each]
            if reading.level in levels
        }

    def _views_of(self, word: str, operation: Operation) -> Iterator[tuple[int, View]]:
        """Yield the results of an operation that are views of its operand."""
        if not operation.results or operation.rewritten:
            return
        made, *_ = results = operation.results
        if word == "cat":
            full = [ref for ref in operation.reads if 0 not in self.shape(ref)]
            if len(full) == 1 and full[0] < made:
                yield made, View(full[0], "cat")
            return
        named = (item for name, item in operation.kwargs if name in ("input", "self", "tensor"))
        first = next(iter((*operation.args, *named)), None)
        # Writes in place without new numbers, as by requires_grad_(), are no views. The source of
        # a view always has a smaller number, so that following views ends.
        if not isinstance(first, Ref) or min(results) <= first.value:
            return
        before = self.trace.values[first.value]
        if word in VIEWS and not ("dropout" in word and _is_training(operation)):
            yield made, View(first.value, _label(word, before, self.trace.values[made]))
        elif word in SELECTIONS:
            index = operation.args[1] if word == "__getitem__" else None
            if not self._is_basic(index):
                return
            for place, value in enumerate(results):
                if prod(self.shape(value)) == prod(before.shape):
                    yield value, View(first.value, "view")
                elif word == "__getitem__":
                    items = index if isinstance(index, tuple) else (index,)
                    text = ", ".join("…" if it is ... else text_of(it) for it in items)
                    yield value, View(first.value, f"part [{text}]", is_part=True)
                else:
                    text = f"{word} {place} of {len(results)}"
                    yield value, View(first.value, text, is_part=True)

    def _is_basic(self, index: Argument) -> bool:
        """Return whether an index is basic: numbers and slices, no tensors of indices."""
        if isinstance(index, tuple):
            return all(map(self._is_basic, index))
        if isinstance(index, slice):
            return all(
                part is None
                or isinstance(part, int)
                or (isinstance(part, Ref) and self.shape(part.value) == ())
                for part in (index.start, index.stop, index.step)
            )
        is_place = isinstance(index, int) and not isinstance(index, bool)
        return index is None or is_place or index is ...

    def _levels(self) -> Sequence[int]:
        """Return every value's level."""
        has_data, has_weight = [], []
        for value in self.trace.values:
            is_number = value.dtype.startswith(("float", "bfloat", "complex"))
            is_data = value.kind == "input" and not any(w in value.name for w in _AUXILIARY_INPUTS)
            has_data.append(is_data)
            has_weight.append(value.kind == "parameter" or (is_data and is_number))
        for number, operation in enumerate(self.trace.operations):
            # Operands such as the shape source of view_as do not count.
            views = [view for made in operation.results if (view := self._views.get(made))]
            reads = [v.source for v in views if not v.is_part] or self.trace.reads[number]
            if self.words[number] in SIZED_LIKE:
                reads = ()
            data = any(has_data[value] for value in reads)
            weight = any(has_weight[value] for value in reads)
            for made in operation.makes:
                is_whole = self.trace.values[made].dtype.startswith(("int", "uint", "bool"))
                has_data[made] = data
                # Indices that depend on the data and on weights depend on the data.
                has_weight[made] = weight and not (is_whole and not data)
        return [
            (ACTIVATION if data else PARAMETER) if weight else AUXILIARY
            for data, weight in zip(has_data, has_weight, strict=True)
        ]


def _is_training(operation: Operation) -> bool:
    """Return whether a dropout is active."""
    is_function = operation.function.startswith("torch.nn.functional")
    third = operation.args[2] if len(operation.args) > 2 else is_function
    return bool(dict(operation.kwargs).get("training" if is_function else "train", third))


def _label(word: str, before: Value, after: Value) -> str:
    """Return a text for a view operation."""
    if before.dtype != after.dtype:
        return f"to {after.dtype}"
    if word in ("to", "float", "half", "bfloat16", "double", "type", "type_as", "view_as"):
        return "view" if before.shape != after.shape else "unchanged"
    return word


def closure(start: Iterable[Item], following: Callable[[Item], Iterable[Item]]) -> frozenset[Item]:
    """Return the transitive closure of ``following`` from some items, these included."""
    found = set(start)
    waiting = list(found)
    while waiting:
        for each in following(waiting.pop()):
            if each not in found:
                found.add(each)
                waiting.append(each)
    return frozenset(found)


class Pattern(Struct, frozen=True):
    """Operations of a trace that together compute one known thing, without view operations.

    ``name`` is the usual name if it is not ``operation``; ``details`` are those of ``Node``, and
    ``roles``, by operation and value, those of ``Edge``.
    """

    operation: KnownOperation
    operations: frozenset[int]
    name: str = ""
    details: Mapping[str, Scalar] = field(default_factory=dict)
    roles: Mapping[tuple[int, int], str] = field(default_factory=dict)

    @property
    def last(self) -> int:
        """The operation that computes the result."""
        return max(self.operations)


class Patterns(Struct, frozen=True, dict=True):
    """The patterns of a trace by their operations.

    ``outer`` are the largest ones, ``inner`` the smallest: activations in feed-forward networks.
    """

    outer: Mapping[int, Pattern]
    inner: Mapping[int, Pattern]


_JOINED = ("cat", "stack", "_weight_norm")


def weight_of(graph: Graph, number: int) -> Shape | None:
    """Return the shape of the matrix of a linear layer, ``None`` for other operations.

    A convolution with kernel size 1 is a linear layer as well.
    """
    if graph.words[number] not in LINEAR:
        return None
    weights = [
        graph.shape(each.value)
        for each in graph.readings[number]
        if is_weight(graph, each) and len(graph.shape(each.value)) >= 2
    ]
    if len(weights) != 1 or operand_of(graph, number) is None:
        return None
    if graph.words[number].startswith("conv") and any(size != 1 for size in weights[0][2:]):
        return None
    return weights[0]


def is_weight(graph: Graph, reading: Reading) -> bool:
    """Return whether a tensor is a parameter, or several concatenated."""
    if graph.parameter(reading.value):
        return True
    return reading.word in _JOINED and all(
        graph.parameter(each.value) for each in graph.readings[reading.maker]
    )


def operand_of(graph: Graph, number: int) -> Reading | None:
    """Return the only operand of a product that is no parameter, ``None`` if there are several."""
    others = [each for each in graph.readings[number] if not is_weight(graph, each)]
    return others[0] if len(others) == 1 else None


def is_linear(graph: Graph, number: int) -> bool:
    """Return whether an operation multiplies its operand by one learned matrix."""
    return weight_of(graph, number) is not None


def widths_of(graph: Graph, number: int) -> tuple[int, int]:
    """Return the numbers of input and output features of a linear layer."""
    equation = graph.trace.operations[number].args[0]
    if graph.words[number] == "einsum" and isinstance(equation, str):
        return _widths_by_letters(graph, number, equation)
    operand = operand_of(graph, number)
    assert operand is not None  # it is a linear layer
    axis = 1 if graph.words[number].startswith("conv") else -1
    return graph.shape(operand.value)[axis], graph.shape(graph.made(number))[axis]


def _widths_by_letters(graph: Graph, number: int, equation: str) -> tuple[int, int]:
    """Return the widths of an einsum with a weight, such as ibh,hnd->ibnd."""
    terms, result = equation.replace(" ", "").split("->")
    inputs, outputs = 1, 1
    for letters, reading in zip(terms.split(","), graph.readings[number], strict=True):
        if is_weight(graph, reading):
            for letter, size in zip(letters, graph.shape(reading.value), strict=True):
                if letter in result:
                    outputs *= size
                else:
                    inputs *= size
    return inputs, outputs
