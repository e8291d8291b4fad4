"""Calls of the reference instance's modules: their operations, calls below and comparisons."""

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Any

import torch
from msgspec import Struct, field
from msgspec.structs import replace
from torch import Tensor, nn

from bertviewer.core.checks.comparison import Deviation
from bertviewer.core.checks.float64_mode import Frame
from bertviewer.core.graph.module_calls import map_tensors, tensors_in
from bertviewer.core.graph.operation_names import (
    ACTIVATIONS,
    ELEMENTWISE,
    LINEAR,
    SELECTIONS,
    VIEWS,
    word_of,
)
from bertviewer.core.graph.tracing import name_of

ATTENTION, PRODUCT, NORM, ACTIVATION, ADDITION = "a", "P", "N", "F", "+"
"""Kinds of operations in ``ObservedCall.events``."""

_KINDS = {
    **dict.fromkeys(LINEAR, PRODUCT),
    **dict.fromkeys(("layer_norm", "rms_norm", "group_norm", "batch_norm", "rsqrt", "sqrt"), NORM),
    **dict.fromkeys((*ACTIVATIONS, "erf"), ACTIVATION),
    "add": ADDITION,
}
_CASTS = {"to", "type_as", "float", "half", "bfloat16", "double"}
_KEEPS = ELEMENTWISE | _CASTS | {"dropout", "contiguous", "clone", "nan_to_num", "requires_grad"}
"""Functions that keep the position of all elements."""

_MOVES = (VIEWS | SELECTIONS | {"cat", "stack"}) - _KEEPS
_MARK = "_reference_mark"


class StepComparison(Struct):
    """A step of a call: a recorded tensor, compared with each of the call's evaluations.

    ``found`` is ``None`` for an evaluation that cannot be compared.
    """

    name: str
    found: Sequence[Deviation | None]

    @property
    def is_head(self) -> bool:
        """Whether the step is a single head."""
        return self.name.startswith("head ")


class ObservedCall(Struct, eq=False):
    """One compared call of a module.

    Attributes:
        path: of the module.
        number: of previous calls of the module.
        above: the enclosing compared call.
        inputs: the recorded tensors among its arguments.
        heads: the number of attention heads in the configuration, 0 if unknown.
        frames: the evaluation from its inputs only and, for a module with children, one in which
            the children's results are the recorded ones.
        events: its operations, comparisons of inputs of children, and calls below, in order.
        output: the comparisons of its outputs, attention weights and single heads.
        is_attention: whether softmax weights are multiplied with values in it or below.
        has_sorted: whether integers were sorted in it: the order of equal ones depends on the
            device.
    """

    path: str
    number: int
    above: "ObservedCall | None"
    inputs: Sequence[Tensor]
    heads: int
    frames: tuple[Frame, ...]
    events: "list[str | StepComparison | ObservedCall]" = field(default_factory=list)
    output: list[StepComparison] = field(default_factory=list)
    is_attention: bool = False
    has_sorted: bool = False

    def fail(self, problem: str) -> None:
        """Record why the call cannot be checked."""
        for frame in self.frames:
            frame.fail(problem)

    @property
    def problem(self) -> str:
        """Why the call cannot be checked, "" if it can."""
        return self.frames[-1].problem

    @property
    def around(self) -> Iterator["ObservedCall"]:
        """This call and the enclosing ones, from the inside out."""
        call: ObservedCall | None = self
        while call is not None:
            yield call
            call = call.above

    @property
    def calls(self) -> Iterator["ObservedCall"]:
        """This call and all below, in order."""
        yield self
        for event in self.events:
            if isinstance(event, ObservedCall):
                yield from event.calls

    @property
    def comparisons(self) -> list[StepComparison]:
        """The comparisons of inputs of children and of outputs."""
        inputs = (event for event in self.events if isinstance(event, StepComparison))
        return [*inputs, *self.output]

    @property
    def is_sound(self) -> bool:
        """Whether all comparisons in it and below, with recorded inputs, are within tolerance."""
        pieces = [step.found[-1] for call in self.calls for step in call.comparisons]
        return all(found is None or found.ok for found in pieces)

    def chosen(self, steps: Sequence[StepComparison]) -> Iterator[tuple[str, Deviation]]:
        """Yield the names and deviations of comparisons.

        From the inputs to the outputs rounding errors may accumulate, and choices among nearly
        equal numbers may differ. If all pieces are right, the last evaluation is used instead.
        """
        for step in steps:
            found = None if self.frames[0].problem else step.found[0]
            if found is None or (not found.ok and self.is_sound):
                found = None if self.problem else step.found[-1]
            if found is not None:
                yield step.name, found

    def operation(self, function: Any, args: Any, kwargs: Any, results: Any) -> None:
        """Record an operation, and propagate the marks of heads and attention weights."""
        word = word_of(name_of(function)[0])
        found, operands = tensors_in(results), tensors_in((args, kwargs))
        if word in ("sort", "argsort", "topk"):
            self.has_sorted |= operands[0].dim() == 1 and not operands[0].is_floating_point()
        if not found or not found[0].is_floating_point():
            return
        kind, marks = _KINDS.get(word, ""), list(filter(None, map(mark_of, operands)))
        weights = next((mark for mark in marks if mark.is_weights), None)
        if word == "softmax" and found[0].dim() > 2:
            put_mark(found[0], _mark(self, found[0], is_weights=True))
        elif word == "scaled_dot_product_attention":
            self._attend(found[0], _mark(self, found[0]))
        elif weights is not None and kind == PRODUCT:
            around = list(weights.scope.around)
            scope = next((call for call in self.around if call in around), self)
            self._attend(
                found[0], Mark(scope, weights.heads, _mixed(weights, function, args, kwargs))
            )
        elif marks and (word in _KEEPS or word in _MOVES):
            if word in _MOVES:
                columns = _moved(function, args, kwargs)
            else:
                known = [mark.columns for mark in marks if mark.columns is not None]
                columns = known[:1] if all(known[0].equal(each) for each in known) else []
            for tensor, moved in zip_longest(found, columns[: len(found)]):
                put_mark(tensor, replace(weights or marks[0], columns=moved))
        elif weights is not None and word == "mean":
            put_mark(found[0], replace(weights, columns=None))
        if _is_event(kind, operands, found[0]):
            self.events.append(kind)

    def _attend(self, mixed: Tensor, mark: "Mark") -> None:
        mark.scope.is_attention = True
        self.events.append(ATTENTION)
        put_mark(mixed, mark)


class Mark(Struct, frozen=True, eq=False):
    """Marks a tensor as attention weights or as outputs of heads.

    Attributes:
        scope: the call of the attention; for weights the call with the softmax.
        heads: the number of heads.
        columns: the head of each element, counted from 1, in the tensor's shape; ``None`` if
            unknown.
        is_weights: whether the tensor is attention weights.
    """

    scope: ObservedCall
    heads: int
    columns: Tensor | None = None
    is_weights: bool = False

    def split(self) -> Iterator[tuple[int, int, Tensor]]:
        """Yield each head's number, the axis of heads, and the head's indices on it.

        None if several axes are needed to distinguish heads.
        """
        if self.columns is None:
            return
        for axis in reversed(range(self.columns.dim())):
            lines = self.columns.movedim(axis, -1)
            line = lines.flatten(0, -2)[0]
            if bool((lines == line).all()):
                for head in range(self.heads):
                    yield head, axis, (line == head + 1).nonzero()[:, 0]
                return


def mark_of(tensor: Tensor | None) -> Mark | None:
    """Return the mark of a tensor, ``None`` without one."""
    return None if tensor is None else vars(tensor).get(_MARK)


def put_mark(tensor: Tensor, mark: Mark | None) -> None:
    """Set the mark of a tensor; marks of unknown heads are dropped."""
    vars(tensor).pop(_MARK, None)
    if mark is not None and mark.columns is not None and mark.columns.shape != tensor.shape:
        mark = replace(mark, columns=None)
    if mark is not None and (mark.is_weights or mark.columns is not None):
        vars(tensor)[_MARK] = mark


def _mark(scope: ObservedCall, tensor: Tensor, *, is_weights: bool = False) -> Mark:
    """Number the heads in [B, A, S, ...], [B, blocks, A, ...], or [A, S, ...] of one sentence."""
    axes = range(1, tensor.dim() - 2) or [0]
    axis = next((axis for axis in axes if tensor.shape[axis] == scope.heads), axes[0])
    heads = tensor.shape[axis]
    numbers = torch.arange(1.0, heads + 1).reshape(-1, *[1] * (tensor.dim() - axis - 1))
    return Mark(scope, heads, numbers.expand(tensor.shape), is_weights)


def _mixed(weights: Mark, function: Any, args: Any, kwargs: Any) -> Tensor | None:
    """Number the heads in weights · values: by the product of their numbers and ones."""
    if weights.columns is None or not weights.columns.numel():
        return None

    def numbers(tensor: Tensor) -> Any:
        mark = mark_of(tensor)
        return weights.columns if mark and mark.is_weights else torch.ones(tensor.shape)

    # Every element is a sum over the keys of one head.
    sums: Tensor = function(*map_tensors(tuple(args), numbers), **map_tensors(kwargs, numbers))
    return (sums * (weights.heads / sums.max())).round()


def _moved(function: Any, args: Any, kwargs: Any) -> list[Tensor]:
    """Apply a view operation to the numbers of heads; none if some are unknown."""
    marks = list(map(mark_of, tensors_in((args, kwargs))))
    if not all(mark is not None and mark.columns is not None for mark in marks):
        return []

    def numbers(tensor: Tensor) -> Any:
        mark = mark_of(tensor)
        return None if mark is None else mark.columns

    name, is_in_place = name_of(function)
    if is_in_place:
        function = getattr(Tensor, word_of(name))
    # The numbers are expanded, which a view does not allow.
    move = Tensor.reshape if function is Tensor.view else function
    return tensors_in(move(*map_tensors(tuple(args), numbers), **map_tensors(kwargs, numbers)))


def _is_event(kind: str, operands: Sequence[Tensor], result: Tensor) -> bool:
    """Return whether an operation is one of a layer's steps."""
    has_weights = any(isinstance(tensor, nn.Parameter) for tensor in operands)
    if kind == ADDITION:
        is_sum = len(operands) == 2 and operands[0].shape == operands[1].shape and not has_weights
        return is_sum and result.dim() > 1
    return result.dim() > 1 and (kind in {NORM, ACTIVATION} or (kind == PRODUCT and has_weights))
