"""What the reference instance did in each call of a module: operations, calls and comparisons."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from bertviewer.core.checks.comparison import Deviation
from bertviewer.core.checks.float64_mode import Frame
from bertviewer.core.frozen import frozen
from bertviewer.core.graph.nested_tensors import mapped_in, tensors_in

ATTENTION, PRODUCT, NORM, ACTIVATION, ADDITION = "a", "P", "N", "F", "+"
"""Kinds of operations in ``Call.events``."""

_FUSED, _KEEPS_FORM, _MOVES, _SORTS = "fused", "form", "moves", "sorts"
_NAMES = {
    PRODUCT: "linear matmul __matmul__ bmm mm addmm baddbmm einsum conv1d conv2d",
    NORM: "layer_norm rms_norm group_norm batch_norm rsqrt sqrt",
    ACTIVATION: "gelu relu silu tanh sigmoid erf mish hardtanh leaky_relu elu softplus relu6 "
    "hardswish",
    ADDITION: "add __add__ __radd__ add_ __iadd__",
    _FUSED: "scaled_dot_product_attention multi_head_attention_forward",
    _KEEPS_FORM: "dropout to type_as float half bfloat16 double contiguous clone mul __mul__ "
    "__rmul__ masked_fill nan_to_num where",
    _MOVES: "view reshape transpose permute flatten unflatten squeeze unsqueeze __getitem__ "
    "swapaxes movedim T mT cat stack",
    _SORTS: "sort argsort topk",
}
_KINDS = {name: kind for kind, names in _NAMES.items() for name in names.split()}
_MARK = "_reference_mark"


@dataclass(slots=True)
class Comparison:
    """A step of a call: what was recorded, against each of the call's evaluations.

    ``found`` is ``None`` for an evaluation in which nothing can be compared.
    """

    name: str
    found: Sequence[Deviation | None]

    @property
    def is_head(self) -> bool:
        """Whether it is that of a single head."""
        return self.name.startswith("head ")


@dataclass(slots=True, eq=False)
class Call:
    """One call of a module that is compared.

    Attributes:
        path: the module.
        number: how many calls of it went before.
        above: the call that it is part of, of those that are compared.
        taken: the recorded tensors among its arguments.
        frames: the evaluation from its inputs alone and, of a module that holds others, the one in
            which the results of those are the recorded ones.
        events: its operations, comparisons of what it passes on, and calls below, in order.
        output: the comparison of what it returns, and of attention weights and single heads.
        is_attention: whether a softmax's weights are multiplied with values in it or below.
        has_sorted: whether integers were sorted in it: the order of equal ones, and of what is
            sorted by them, depends on the device.
    """

    path: str
    number: int
    above: "Call | None"
    taken: Sequence[Tensor]
    frames: tuple[Frame, ...]
    events: "list[str | Comparison | Call]" = field(default_factory=list)
    output: list[Comparison] = field(default_factory=list)
    is_attention: bool = False
    has_sorted: bool = False

    def fail(self, problem: str) -> None:
        """Note why the call cannot be checked."""
        for frame in self.frames:
            frame.fail(problem)

    @property
    def problem(self) -> str:
        """Why the call cannot be checked, "" if it can."""
        return self.frames[-1].problem

    @property
    def around(self) -> Iterator["Call"]:
        """This call and those that it is part of, from the inside out."""
        call: Call | None = self
        while call is not None:
            yield call
            call = call.above

    @property
    def calls(self) -> Iterator["Call"]:
        """This call and all below, in order."""
        yield self
        for event in self.events:
            if isinstance(event, Call):
                yield from event.calls

    @property
    def comparisons(self) -> list[Comparison]:
        """What was compared of what it passes on, and of what it returns."""
        return [*(event for event in self.events if isinstance(event, Comparison)), *self.output]

    @property
    def is_sound(self) -> bool:
        """Whether everything in it is right, or unknown, when compared piece by piece."""
        pieces = [step.found[-1] for call in self.calls for step in call.comparisons]
        return all(found is None or found.ok for found in pieces)

    def chosen(self, steps: Sequence[Comparison]) -> Iterator[tuple[str, Deviation]]:
        """Yield what comparisons come to, with their names.

        Rounding errors may add up, and choices of nearly equal numbers may differ, on the long way
        from the inputs to the outputs. If every piece of the way is right, so is the whole.
        """
        for step in steps:
            found = None if self.frames[0].problem else step.found[0]
            if found is None or (not found.ok and self.is_sound):
                found = None if self.problem else step.found[-1]
            if found is not None:
                yield step.name, found

    def operation(self, short: str, function: Any, args: Any, kwargs: Any, results: Any) -> None:
        """Note an operation, and follow heads and attention weights through it.

        ``short`` is the last part of the name of torch's function.
        """
        found, taken = tensors_in(results), tensors_in((args, kwargs))
        kind = _KINDS.get(short, "")
        if kind == _SORTS and taken[0].dim() == 1 and not taken[0].is_floating_point():
            self.has_sorted = True
        if not found or not found[0].is_floating_point():
            return
        if short.endswith("_") and _KINDS.get(short[:-1]) == _MOVES:
            kind, short, function = _MOVES, short[:-1], getattr(Tensor, short[:-1])
        marks = [mark_of(tensor) for tensor in taken]
        weights = next((mark for mark in marks if mark and mark.columns is None), None)
        if kind == _FUSED or (weights is not None and kind == PRODUCT):
            self._attend(short, args, found[0], weights)
            for averaged in found[1:]:
                put_mark(averaged, Mark(self, 1))
        elif short == "softmax" and found[0].dim() > 2:
            put_mark(found[0], Mark(self, _heads_in(found[0])))
        elif any(marks) and kind in (ADDITION, _KEEPS_FORM, _MOVES):
            # The numbers of heads are expanded, which a view does not allow.
            move = Tensor.reshape if short == "view" else function
            moved = weights or _moved(move if kind == _MOVES else None, args, kwargs, found[0])
            put_mark(found[0], moved)
        if _is_event(kind, taken, found[0]):
            self.events.append(kind)

    def _attend(self, short: str, args: Any, mixed: Tensor, weights: "Mark | None") -> None:
        scope, count = self, _heads_in(mixed)
        if weights is not None:
            around, count = list(weights.scope.around), weights.heads
            scope = next((call for call in self.around if call in around), self)
        scope.is_attention = True
        self.events.append(ATTENTION)
        if short != "multi_head_attention_forward" and mixed.dim() > 2:
            equation = args[0] if short == "einsum" and isinstance(args[0], str) else ""
            columns = _columns_of(mixed, count, equation)
            put_mark(mixed, None if columns is None else Mark(scope, count, columns))


@frozen(eq=False)
class Mark:
    """What a tensor has of an attention: its weights, or what its heads compute.

    Attributes:
        scope: the call that is the attention; of weights the one with the softmax.
        heads: the number of heads.
        columns: the head that each element is from, in the tensor's shape; ``None`` for weights.
    """

    scope: Call
    heads: int
    columns: Tensor | None = None

    def split(self) -> Iterator[tuple[int, int, Tensor]]:
        """Yield each head's number, the axis along which heads lie, and its places on it.

        Nothing where several axes are needed to tell the heads apart.
        """
        if self.columns is None:
            return
        for axis in reversed(range(self.columns.dim())):
            lines = self.columns.movedim(axis, -1)
            line = lines.flatten(0, -2)[0]
            if bool((lines == line).all()):
                for head in dict.fromkeys(line.tolist()):
                    yield head, axis, (line == head).nonzero()[:, 0]
                return


def mark_of(tensor: Tensor) -> Mark | None:
    """Return what a tensor has of an attention, ``None`` if nothing."""
    found: Mark | None = vars(tensor).get(_MARK)
    return found


def put_mark(tensor: Tensor, mark: Mark | None) -> None:
    """Note what a tensor has of an attention."""
    if mark is not None:
        vars(tensor)[_MARK] = mark


def _heads_in(tensor: Tensor) -> int:
    """Return the number of heads in [B, A, ...] or [A, S, ...]; [A, ...] of one sentence."""
    return tensor.shape[1] if tensor.dim() > 3 else tensor.shape[0]


def _columns_of(mixed: Tensor, count: int, equation: str) -> Tensor | None:
    """Number the heads in weights · values.

    Args:
        mixed: [B, A, S, d]; of one sentence also [A, S, d], or [A·n, S, d] and [A, n, S, d] for n
            blocks of tokens.
        count: the number of heads.
        equation: that of an ``einsum``, with any layout.
    """
    if equation:
        # The axis that both operands and the result share.
        operands, _, result = equation.replace(" ", "").partition("->")
        shared = set(result).intersection(*operands.split(","))
        axes = [place for place, name in enumerate(result) if name in shared]
        if not axes:
            return None
        axis = max(axes, key=lambda axis: mixed.shape[axis])
        return (
            torch.arange(mixed.shape[axis]).expand(mixed.movedim(axis, -1).shape).movedim(-1, axis)
        )
    outer = mixed.shape[:-2]
    if mixed.dim() == 4 and outer[1] == count:
        numbers = torch.arange(count).expand(outer)
    elif outer.numel() % count == 0:
        numbers = (torch.arange(outer.numel()) // (outer.numel() // count)).reshape(outer)
    else:
        return None
    return numbers[..., None, None].expand(mixed.shape)


def _moved(move: Any, args: Any, kwargs: Any, result: Tensor) -> Mark | None:
    """Return the mark of heads after they are moved or, if ``move`` is ``None``, scaled."""
    taken = tensors_in((args, kwargs))
    marks = [mark for mark in map(mark_of, taken) if mark]
    columns: Any = marks[0].columns
    if move is not None:
        if len(marks) < len(taken):
            return None

        def numbers(tensor: Tensor) -> Any:
            mark = mark_of(tensor)
            return None if mark is None else mark.columns

        columns = move(*mapped_in(tuple(args), numbers), **kwargs)
    is_same = isinstance(columns, Tensor) and columns.shape == result.shape
    return Mark(marks[0].scope, marks[0].heads, columns) if is_same else None


def _is_event(kind: str, taken: Sequence[Tensor], result: Tensor) -> bool:
    """Return whether an operation is one of a layer's steps."""
    has_weights = any(isinstance(tensor, nn.Parameter) for tensor in taken)
    if kind == ADDITION:
        is_sum = len(taken) == 2 and taken[0].shape == taken[1].shape and not has_weights
        return is_sum and result.dim() > 1
    return result.dim() > 1 and (kind in {NORM, ACTIVATION} or (kind == PRODUCT and has_weights))
