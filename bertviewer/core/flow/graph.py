"""A trace as a graph: which operation reads what another made, seen through mere movement."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from bertviewer.core.flow.operation_names import MOVEMENT, SELECTION, SIZED_LIKE, word_of
from bertviewer.core.flow.trace import Argument, Operation, Ref, Shape, Slice, Trace, Value, Word
from bertviewer.core.frozen import frozen

ASIDE, LEARNT, DATA = 0, 1, 2
"""What a value hangs on: masks, positions and buffers alone; parameters too; the model's text."""

_ASIDE_INPUTS = ("mask", "position", "bias", "head_mask")


@frozen
class Reading:
    """One tensor that an operation takes.

    Attributes:
        value: as it takes it.
        same: the value with the same numbers before it was moved.
        maker: the operation that made those, movement and parts seen through; ``None`` for what
            no operation made.
        level: ``ASIDE``, ``LEARNT`` or ``DATA``.
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
        for number, operation in enumerate(trace.operations):
            self._note_movement(number, operation)
        self._same: dict[int, int] = {}
        self.level = self._levels()

    def value(self, number: int) -> Value:
        """Return a value by its number."""
        return self.trace.values[number]

    def shape(self, value: int) -> Shape:
        """Return a value's shape."""
        return self.trace.values[value].shape

    def same(self, value: int) -> int:
        """Return the first value with the same numbers, before all movement."""
        known = self._same.get(value)
        if known is None:
            known = value
            while known in self._moved:
                known = self._moved[known][0]
            self._same[value] = known
        return known

    def back(self, value: int) -> tuple[int, str] | None:
        """Return what a value was made of by movement or as a part, and the word for it."""
        return self._moved.get(value) or self._part.get(value)

    def whole(self, value: int) -> int:
        """Return the value that a value is a part of, or the same numbers as; itself if none."""
        while (step := self.back(value)) is not None:
            value = step[0]
        return value

    def is_moving(self, operation: int) -> bool:
        """Tell whether an operation just moves what it takes, or takes a part of it."""
        made = self.trace.operations[operation].results
        return bool(made) and all(self.back(value) is not None for value in made)

    def maker(self, value: int) -> int | None:
        """Return the operation that made a value's numbers, parts seen through."""
        return self.trace.maker.get(self.whole(value))

    @cached_property
    def readings(self) -> Sequence[tuple[Reading, ...]]:
        """What each operation takes, in order."""
        return tuple(
            tuple(
                Reading(value, self.same(value), self.maker(value), self.level[value])
                for value in operation.reads
            )
            for operation in self.trace.operations
        )

    @cached_property
    def users(self) -> Mapping[int, tuple[int, ...]]:
        """The operations that read what an operation made, movement and parts seen through."""
        found: dict[int, dict[int, None]] = {}
        for number, readings in enumerate(self.readings):
            if self.is_moving(number):
                continue
            for reading in readings:
                if reading.maker is not None:
                    found.setdefault(reading.maker, {})[number] = None
        return {maker: tuple(users) for maker, users in found.items()}

    @cached_property
    def given(self) -> frozenset[int]:
        """The operations whose numbers a call of a module gives as they are."""
        return frozenset(
            maker
            for call in self.trace.calls
            for _, value in call.outputs
            if (maker := self.maker(value)) is not None
        )

    def data(self, operation: int) -> tuple[Reading, ...]:
        """Return what an operation takes that hangs on the model's text."""
        return tuple(each for each in self.readings[operation] if each.level == DATA)

    def numbers(self, operation: int) -> tuple[float, ...]:
        """Return the plain numbers among an operation's operands by place."""
        args = self.trace.operations[operation].args
        return tuple(
            arg for arg in args if isinstance(arg, int | float) and not isinstance(arg, bool)
        )

    def made(self, operation: int) -> int:
        """Return the first value that an operation made."""
        return self.trace.operations[operation].makes[0]

    def level_of(self, operation: int) -> int:
        """Return the highest level of what an operation makes."""
        return max(self.level[value] for value in self.trace.operations[operation].makes)

    def parameter(self, value: int) -> str:
        """Return the name of the parameter that a value is, moved or not; "" if it is none."""
        whole = self.trace.values[self.whole(value)]
        return whole.name if whole.kind == "parameter" else ""

    def _note_movement(self, number: int, operation: Operation) -> None:
        word = self.words[number]
        first = operation.args[0] if operation.args else _first_of(operation.kwargs)
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
        if word in MOVEMENT:
            if "dropout" in word and _is_training(operation):
                return
            self._moved[operation.results[0]] = (
                taken,
                _movement(word, before, operation, self.trace),
            )
        elif word in SELECTION:
            if word == "__getitem__" and not self._is_basic(operation.args[1]):
                return
            for place, value in enumerate(operation.results):
                if _size(self.shape(value)) == _size(before.shape):
                    self._moved[value] = taken, "view"
                elif word == "__getitem__":
                    self._part[value] = taken, f"part {_index_text(operation.args[1])}"
                else:
                    self._part[value] = taken, f"{word} {place} of {len(operation.results)}"

    def _numbers_of(self, number: int) -> tuple[int, ...]:
        """Return the values that an operation takes numbers of, and not the form alone."""
        operation = self.trace.operations[number]
        if self.words[number] in SIZED_LIKE:
            return ()
        moved = [self._moved[made][0] for made in operation.results if made in self._moved]
        return tuple(moved) if moved else operation.reads

    def _is_basic(self, index: Argument) -> bool:
        """Tell whether an index takes a part as it stands, and looks nothing up."""
        if isinstance(index, tuple):
            return all(map(self._is_basic, index))
        if isinstance(index, Slice):
            return all(
                part is None or isinstance(part, int) or self._is_number(part)
                for part in _parts(index)
            )
        is_place = isinstance(index, int) and not isinstance(index, bool)
        return index is None or is_place or _is_ellipsis(index)

    def _is_number(self, operand: Argument) -> bool:
        return isinstance(operand, Ref) and self.shape(operand.value) == ()

    def _levels(self) -> Mapping[int, int]:
        """Return every value's level, found once from the root on."""
        has_text: dict[int, bool] = {}
        has_weight: dict[int, bool] = {}
        level: dict[int, int] = {}
        for number, value in enumerate(self.trace.values):
            is_number = value.dtype.startswith(("float", "bfloat", "complex"))
            is_text = value.kind == "input" and not any(w in value.name for w in _ASIDE_INPUTS)
            has_text[number] = is_text
            has_weight[number] = value.kind == "parameter" or (is_text and is_number)
        for number, operation in enumerate(self.trace.operations):
            reads = self._numbers_of(number)
            text = any(has_text[value] for value in reads)
            weight = any(has_weight[value] for value in reads)
            for made in operation.makes:
                is_whole = self.trace.values[made].dtype.startswith(("int", "uint", "bool"))
                has_text[made] = text
                # Indices that were chosen by numbers of the text are numbers of the text.
                has_weight[made] = weight and not (is_whole and not text)
        for number, text in has_text.items():
            level[number] = (
                DATA if text and has_weight[number] else
                LEARNT if has_weight[number] else ASIDE
            )  # fmt: skip
        return level


def _first_of(kwargs: tuple[tuple[str, Argument], ...]) -> Argument:
    return next((item for name, item in kwargs if name in ("input", "self", "tensor")), None)


def _is_training(operation: Operation) -> bool:
    named = dict(operation.kwargs)
    if operation.function.startswith("torch.nn.functional"):
        return bool(named.get("training", operation.args[2] if len(operation.args) > 2 else True))
    return bool(named.get("train", operation.args[2] if len(operation.args) > 2 else False))


def _is_ellipsis(index: Argument) -> bool:
    return isinstance(index, Word) and index.kind == "ellipsis"


def _parts(index: Slice) -> tuple[Argument, Argument, Argument]:
    return index.start, index.stop, index.step


def _index_text(index: Argument) -> str:
    if isinstance(index, tuple):
        return f"[{', '.join(map(_one_index, index))}]"
    return f"[{_one_index(index)}]"


def _one_index(index: Argument) -> str:
    if isinstance(index, Slice):
        start, stop, step = ("" if part is None else str(part) for part in _parts(index))
        return f"{start}:{stop}" + (f":{step}" if step else "")
    return "…" if _is_ellipsis(index) else str(index)


def _movement(word: str, before: Value, operation: Operation, trace: Trace) -> str:
    """Return what was done to a tensor, in people's words."""
    after = trace.values[operation.results[0]]
    if before.dtype != after.dtype:
        return f"to {after.dtype}"
    if word in ("to", "float", "half", "bfloat16", "double", "type", "type_as", "view_as"):
        return "view" if before.shape != after.shape else "unchanged"
    return word


def _size(shape: Shape) -> int:
    size = 1
    for each in shape:
        size *= each
    return size


def moves(graph: Graph, value: int) -> Iterator[tuple[int, str]]:
    """Yield the steps back from a value through movement and parts: what it was, and the word."""
    while (step := graph.back(value)) is not None:
        yield step
        value = step[0]
