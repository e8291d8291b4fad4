"""A trace as a graph: which operation reads which one's results, view operations elided."""

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from math import prod
from typing import TypeVar

from bertviewer.core.frozen import frozen
from bertviewer.core.graph.operation_names import MOVEMENT, SELECTION, SIZED_LIKE, word_of
from bertviewer.core.graph.trace import (
    Argument,
    Operation,
    Ref,
    Shape,
    Trace,
    Value,
    text_of,
)

ASIDE, LEARNT, DATA = 0, 1, 2
"""What a value depends on: masks, positions and buffers alone; parameters too; the model's text."""

_ASIDE_INPUTS = ("mask", "position", "bias")

Item = TypeVar("Item")


@frozen
class Reading:
    """One tensor that an operation reads.

    ``same`` is the value with the same numbers before all movement, and ``maker`` the operation
    that computed those, parts seen through. ``level`` is ``ASIDE``, ``LEARNT`` or ``DATA``.
    """

    value: int
    same: int
    maker: int | None
    level: int


class Graph:
    """Answers what reads what in a trace."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.words: Sequence[str] = tuple(word_of(each.function) for each in trace.operations)
        self._moved: dict[int, tuple[int, str]] = {}
        self._part: dict[int, tuple[int, str]] = {}
        for word, operation in zip(self.words, trace.operations, strict=True):
            self._note_movement(word, operation)
        self._moving = frozenset(
            number
            for number, operation in enumerate(trace.operations)
            if operation.results and all(self.back(value) for value in operation.results)
        )
        self.level = self._levels()
        self._level_of = tuple(
            max(self.level[value] for value in operation.makes) for operation in trace.operations
        )

    def value(self, number: int) -> Value:
        """Return a value by its number."""
        return self.trace.values[number]

    def shape(self, value: int) -> Shape:
        """Return a value's shape."""
        return self.trace.values[value].shape

    def same(self, value: int) -> int:
        """Return the first value with the same numbers, before all movement."""
        while value in self._moved:
            value = self._moved[value][0]
        return value

    def back(self, value: int) -> tuple[int, str] | None:
        """Return the value that one was moved from or is a part of, and the word for that."""
        return self._moved.get(value) or self._part.get(value)

    def moves(self, value: int) -> Iterator[tuple[int, str]]:
        """Yield all steps ``back`` from a value."""
        while (step := self.back(value)) is not None:
            yield step
            value = step[0]

    def whole(self, value: int) -> int:
        """Return the value at the end of all steps ``back``, itself without any."""
        while (step := self.back(value)) is not None:
            value = step[0]
        return value

    def is_moving(self, operation: int) -> bool:
        """Tell whether an operation only moves its operand, or takes a part of it."""
        return operation in self._moving

    def maker(self, value: int) -> int | None:
        """Return the operation that computed a value's numbers, parts seen through."""
        return self.trace.maker.get(self.whole(value))

    @cached_property
    def readings(self) -> Sequence[tuple[Reading, ...]]:
        """What each operation reads, in order."""
        return tuple(
            tuple(
                Reading(value, self.same(value), self.maker(value), self.level[value])
                for value in reads
            )
            for reads in self.trace.reads
        )

    @cached_property
    def _users(self) -> Mapping[int, tuple[int, ...]]:
        found: dict[int, dict[int, None]] = {}
        for number in range(len(self.words)):
            if not self.is_moving(number):
                for maker in self.makers(number):
                    found.setdefault(maker, {})[number] = None
        return {maker: tuple(users) for maker, users in found.items()}

    def users(self, operation: int) -> tuple[int, ...]:
        """Return the operations that read an operation's results, movement and parts elided."""
        return self._users.get(operation, ())

    def sole_user(self, operation: int) -> int | None:
        """Return the one operation that reads an operation's results, ``None`` for several."""
        users = self.users(operation)
        return users[0] if len(users) == 1 else None

    def makers(self, operation: int) -> list[int]:
        """Return the operations whose results an operation reads, movement and parts elided."""
        return [each.maker for each in self.readings[operation] if each.maker is not None]

    def data(self, operation: int) -> tuple[Reading, ...]:
        """Return what an operation reads that depends on the model's text."""
        return tuple(each for each in self.readings[operation] if each.level == DATA)

    def data_makers(self, operation: int) -> list[int]:
        """Return the ``makers`` of data."""
        return [each.maker for each in self.data(operation) if each.maker is not None]

    @cached_property
    def given(self) -> frozenset[int]:
        """The operations whose numbers are an output of a module."""
        makers = (self.maker(value) for call in self.trace.calls for _, value in call.outputs)
        return frozenset(maker for maker in makers if maker is not None)

    def numbers(self, operation: int) -> tuple[float, ...]:
        """Return the plain numbers among an operation's positional operands."""
        args = self.trace.operations[operation].args
        return tuple(
            arg for arg in args if isinstance(arg, int | float) and not isinstance(arg, bool)
        )

    def made(self, operation: int) -> int:
        """Return the first value that an operation computed."""
        return self.trace.operations[operation].makes[0]

    def level_of(self, operation: int) -> int:
        """Return the highest level of an operation's results."""
        return self._level_of[operation]

    def parameter(self, value: int) -> str:
        """Return the name of the parameter that a value is, moved or not; "" if it is none."""
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

    def _note_movement(self, word: str, operation: Operation) -> None:
        named = (item for name, item in operation.kwargs if name in ("input", "self", "tensor"))
        first = next(iter((*operation.args, *named)), None)
        if word == "cat":
            full = [ref for ref in operation.reads if 0 not in self.shape(ref)]
            if len(full) == 1 and full[0] < operation.results[0]:
                self._moved[operation.results[0]] = full[0], "cat"
            return
        if not isinstance(first, Ref) or not operation.results or operation.rewritten:
            return
        if min(operation.results) <= first.value:
            # Written in place without a change of numbers, as by requires_grad_(). A step back
            # always leads to a smaller number, so that following the steps ends.
            return
        taken, before = first.value, self.trace.values[first.value]
        if word in MOVEMENT and not ("dropout" in word and _is_training(operation)):
            made = operation.results[0]
            self._moved[made] = taken, _movement(word, before, self.trace.values[made])
        elif word in SELECTION:
            index = operation.args[1] if word == "__getitem__" else None
            if not self._is_basic(index):
                return
            for place, value in enumerate(operation.results):
                if prod(self.shape(value)) == prod(before.shape):
                    self._moved[value] = taken, "view"
                elif word == "__getitem__":
                    items = index if isinstance(index, tuple) else (index,)
                    text = ", ".join("…" if it is ... else text_of(it) for it in items)
                    self._part[value] = taken, f"part [{text}]"
                else:
                    self._part[value] = taken, f"{word} {place} of {len(operation.results)}"

    def _is_basic(self, index: Argument) -> bool:
        """Tell whether an index selects a part by its place, and looks nothing up."""
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

    def _levels(self) -> Mapping[int, int]:
        """Return every value's level."""
        has_text: dict[int, bool] = {}
        has_weight: dict[int, bool] = {}
        for number, value in enumerate(self.trace.values):
            is_number = value.dtype.startswith(("float", "bfloat", "complex"))
            is_text = value.kind == "input" and not any(w in value.name for w in _ASIDE_INPUTS)
            has_text[number] = is_text
            has_weight[number] = value.kind == "parameter" or (is_text and is_number)
        for number, operation in enumerate(self.trace.operations):
            # Of a tensor that is only moved or copied in its form, nothing else counts.
            moved = [self._moved[made][0] for made in operation.results if made in self._moved]
            reads = moved or self.trace.reads[number]
            if self.words[number] in SIZED_LIKE:
                reads = ()
            text = any(has_text[value] for value in reads)
            weight = any(has_weight[value] for value in reads)
            for made in operation.makes:
                is_whole = self.trace.values[made].dtype.startswith(("int", "uint", "bool"))
                has_text[made] = text
                # Indices that depend on the text and on weights depend on the text.
                has_weight[made] = weight and not (is_whole and not text)
        return {
            number: (DATA if text else LEARNT) if has_weight[number] else ASIDE
            for number, text in has_text.items()
        }


def _is_training(operation: Operation) -> bool:
    """Tell whether a dropout is in force."""
    is_function = operation.function.startswith("torch.nn.functional")
    third = operation.args[2] if len(operation.args) > 2 else is_function
    return bool(dict(operation.kwargs).get("training" if is_function else "train", third))


def _movement(word: str, before: Value, after: Value) -> str:
    """Return what was done to a tensor, as people call it."""
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
