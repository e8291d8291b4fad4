"""A trace as a graph: which operation reads which one's results, view operations elided."""

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from math import prod
from typing import NamedTuple, TypeVar

from bertviewer.core.graph.operation_names import SELECTIONS, SIZED_LIKE, VIEWS, word_of
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

AUXILIARY, PARAMETER, ACTIVATION = 0, 1, 2
"""What a value depends on: masks, positions and buffers alone; parameters too; the model's data."""

_AUXILIARY_INPUTS = ("mask", "position", "bias")

Item = TypeVar("Item")


class Reading(NamedTuple):
    """One tensor that an operation reads.

    ``same`` is the value with the same numbers before all view operations, ``maker`` the operation
    that computed those, selections seen through, -1 for what comes from outside, and ``word`` that
    operation's, then "". ``level`` is ``AUXILIARY``, ``PARAMETER`` or ``ACTIVATION``.
    """

    value: int
    same: int
    maker: int
    word: str
    level: int


class View(NamedTuple):
    """Where a value was taken from by a view operation, whose word it is; all of it or a part."""

    source: int
    word: str
    is_part: bool = False


class Graph:
    """Answers what reads what in a trace."""

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
        """Return whether a value is one number."""
        return max(self.shape(value), default=1) == 1

    def view(self, value: int) -> View | None:
        """Return where a value was taken from by a view operation."""
        return self._views.get(value)

    def views(self, value: int) -> Iterator[View]:
        """Yield all view operations that lead to a value, from the last to the first."""
        while (view := self._views.get(value)) is not None:
            yield view
            value = view.source

    def same(self, value: int) -> int:
        """Return the first value with the same numbers, before all view operations."""
        while (view := self._views.get(value)) is not None and not view.is_part:
            value = view.source
        return value

    def whole(self, value: int) -> int:
        """Return the value before all view operations, itself without any."""
        while (view := self._views.get(value)) is not None:
            value = view.source
        return value

    def is_view(self, operation: int) -> bool:
        """Return whether an operation only changes its operand's form, or takes a part of it."""
        return operation in self._viewing

    def maker(self, value: int) -> int:
        """Return the operation that computed a value's numbers, selections seen through; or -1."""
        return self.trace.maker.get(self.whole(value), -1)

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
        """What the code says of each operation but for the tensors: 1, 1.0 and True differ."""
        return tuple(
            repr((each.function, with_refs((each.args, each.kwargs), lambda _: Ref)))
            for each in self.trace.operations
        )

    @cached_property
    def given(self) -> frozenset[int]:
        """The operations whose numbers are an output of a module."""
        calls = self.trace.calls
        return frozenset(self.maker(value) for call in calls for _, value in call.outputs)

    def numbers(self, operation: int) -> tuple[float, ...]:
        """Return the plain numbers among an operation's positional operands."""
        args = self.trace.operations[operation].args
        return tuple(
            arg for arg in args if isinstance(arg, int | float) and not isinstance(arg, bool)
        )

    def option(self, operation: int, name: str) -> Argument:
        """Return an operand that an operation is given by name, ``None`` without."""
        return dict(self.trace.operations[operation].kwargs).get(name)

    def made(self, operation: int) -> int:
        """Return the first value that an operation computed."""
        return self.trace.operations[operation].makes[0]

    def level_of(self, operation: int) -> int:
        """Return the highest level of an operation's results."""
        return self._level_of[operation]

    def parameter(self, value: int) -> str:
        """Return the name of the parameter that a value is a view of, "" for others."""
        whole = self.trace.values[self.whole(value)]
        return whole.name if whole.kind == "parameter" else ""

    def positions(
        self, operations: Iterable[int], levels: Container[int]
    ) -> dict[tuple[int, int], str]:
        """Return the role of positions for all readings of operations at some levels."""
        return {
            (each, reading.value): "position"
            for each in operations
            for reading in self.readings[each]
            if reading.level in levels
        }

    def _views_of(self, word: str, operation: Operation) -> Iterator[tuple[int, View]]:
        """Yield the results of an operation that have the numbers of its operand."""
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
        # What was written in place without a change of numbers, as by requires_grad_(), is no
        # view. A view's source always is a smaller number, so that following them ends.
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
        """Return whether an index selects a part by its place, and looks nothing up."""
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
            # Of a tensor that is only moved or copied in its form, nothing else counts.
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
    """Return whether a dropout is in force."""
    is_function = operation.function.startswith("torch.nn.functional")
    third = operation.args[2] if len(operation.args) > 2 else is_function
    return bool(dict(operation.kwargs).get("training" if is_function else "train", third))


def _label(word: str, before: Value, after: Value) -> str:
    """Return what a view operation did to a tensor."""
    if before.dtype != after.dtype:
        return f"to {after.dtype}"
    if word in ("to", "float", "half", "bfloat16", "double", "type", "type_as", "view_as"):
        return "view" if before.shape != after.shape else "unchanged"
    return word


def closure(start: Iterable[Item], following: Callable[[Item], Iterable[Item]]) -> frozenset[Item]:
    """Return the start and all that follows from it step by step."""
    found = set(start)
    waiting = list(found)
    while waiting:
        for each in following(waiting.pop()):
            if each not in found:
                found.add(each)
                waiting.append(each)
    return frozenset(found)
