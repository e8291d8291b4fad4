"""What the reference instance did in each call of a module: operations, calls and comparisons."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from bertviewer.core.checking.comparison import Deviation
from bertviewer.core.checking.float64_mode import Frame
from bertviewer.core.checking.head_columns import HeadColumns
from bertviewer.core.flow.nested_tensors import tensors_in

ATTENTION, PRODUCT, NORM, ACTIVATION, ADDITION = "a", "P", "N", "F", "+"
"""Kinds of operations in ``Call.events``."""

_PRODUCTS = frozenset(
    (
        "linear",
        "matmul",
        "__matmul__",
        "bmm",
        "mm",
        "addmm",
        "baddbmm",
        "einsum",
        "conv1d",
        "conv2d",
    )
)
_NORMS = frozenset(("layer_norm", "rms_norm", "group_norm", "batch_norm", "rsqrt", "sqrt"))
_ACTIVATIONS = frozenset(
    (
        *("gelu", "relu", "silu", "tanh", "sigmoid", "erf", "mish", "hardtanh", "leaky_relu"),
        *("elu", "softplus", "relu6", "hardswish"),
    )
)
_ADDITIONS = frozenset(("add", "__add__", "__radd__", "add_", "__iadd__"))
_FUSED = frozenset(("scaled_dot_product_attention", "multi_head_attention_forward"))
_KEEPS_FORM = frozenset(
    (
        *("dropout", "to", "type_as", "float", "half", "bfloat16", "double", "contiguous", "clone"),
        *("mul", "__mul__", "__rmul__", "masked_fill", "nan_to_num", "where", "add", "__add__"),
    )
)
_MOVES = frozenset(
    (
        *("view", "reshape", "transpose", "permute", "flatten", "unflatten", "squeeze"),
        *("unsqueeze", "__getitem__", "swapaxes", "movedim", "T", "mT", "cat", "stack"),
    )
)
_HEADS, _WEIGHTS = "_reference_heads", "_reference_weights"


@dataclass(slots=True)
class Comparison:
    """A step of a call: what was recorded against two evaluations of the reference instance.

    Attributes:
        name: the step.
        whole: against the evaluation from the call's inputs alone.
        local: against the evaluation in which the results of the modules below are the recorded
            ones; ``None`` for a module without any.
    """

    name: str
    whole: Deviation | None = None
    local: Deviation | None = None


@dataclass(slots=True, eq=False)
class Call:
    """One call of a module that is compared.

    Attributes:
        path: the module.
        number: how many calls of it went before.
        above: the call that it is part of, of those that are compared.
        whole: the evaluation from its inputs alone.
        local: the evaluation with recorded results of the modules below, ``None`` if there are
            none.
        taken: the recorded tensors among its arguments.
        events: its operations, comparisons of what it passes on, and calls below, in order.
        output: the comparison of what it returns, and of attention weights and single heads.
        is_attention: whether a softmax's weights are multiplied with values in it, or in several
            calls below.
        sorted: integers that were sorted in it, in their new order.
    """

    path: str
    number: int
    above: "Call | None"
    whole: Frame
    local: Frame | None
    taken: Sequence[Tensor]
    events: "list[str | Comparison | Call]" = field(default_factory=list)
    output: list[Comparison] = field(default_factory=list)
    is_attention: bool = False
    sorted: list[Tensor] = field(default_factory=list)

    @property
    def frames(self) -> tuple[Frame, ...]:
        """The evaluations of this call."""
        return (self.whole,) if self.local is None else (self.whole, self.local)

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
    def is_sound(self) -> bool:
        """Whether everything in it is right, or unknown, when compared piece by piece."""
        own = [event for event in self.events if isinstance(event, Comparison)]
        found = [it.whole if self.local is None else it.local for it in (*own, *self.output)]
        below = all(event.is_sound for event in self.events if isinstance(event, Call))
        return below and all(it is None or it.ok for it in found)

    def chosen(self, step: Comparison) -> Deviation | None:
        """Return what a comparison comes to.

        Rounding errors may add up, and choices of nearly equal numbers may differ, on the long way
        from the inputs to the outputs. If every piece of the way is right, so is the whole.
        """
        if step.whole is None or self.whole.problem:
            return step.local
        if step.whole.ok or step.local is None or not self.is_sound:
            return step.whole
        return step.local

    def operation(self, short: str, function: Any, args: Any, kwargs: Any, results: Any) -> None:
        """Note an operation, and follow heads and attention weights through it."""
        found, taken = tensors_in(results), tensors_in((args, kwargs))
        if not found or not found[0].is_floating_point():
            return
        weights = next(filter(None, map(weights_of, taken)), None)
        if short in _FUSED or (short in _PRODUCTS and weights is not None):
            self._attend(short, args, found[0], weights)
            for averaged in found[1:]:
                vars(averaged)[_WEIGHTS] = Weights(self, 1)
        elif short == "softmax" and found[0].dim() > 2:
            vars(found[0])[_WEIGHTS] = Weights(self, _heads_in(found[0]))
        elif weights is not None and (short in _KEEPS_FORM or short in _MOVES):
            vars(found[0])[_WEIGHTS] = weights
        heads = [heads_of(tensor) for tensor in taken]
        if any(heads) and short.endswith("_") and short[:-1] in _MOVES:
            short, function = short[:-1], getattr(torch.Tensor, short[:-1])
        if any(heads) and (short in _KEEPS_FORM or short in _MOVES):
            keep_heads(found[0], _moved(short, function, args, kwargs, heads, found[0]))
        kind = _kind_of(short, taken, found[0])
        if kind:
            self.events.append(kind)

    def _attend(self, short: str, args: Any, mixed: Tensor, weights: "Weights | None") -> None:
        scope, count = self, _heads_in(mixed)
        if weights is not None:
            others, count = set(map(id, weights.scope.around)), weights.heads
            scope = next((call for call in self.around if id(call) in others), self)
        scope.is_attention = True
        self.events.append(ATTENTION)
        if short != "multi_head_attention_forward" and mixed.dim() > 2:
            equation = args[0] if short == "einsum" and isinstance(args[0], str) else ""
            keep_heads(mixed, HeadColumns.of(scope, mixed, count, equation))


@dataclass(slots=True)
class Weights:
    """Attention weights: the call in which their softmax was computed, and the number of heads."""

    scope: Call
    heads: int


def weights_of(tensor: Tensor) -> Weights | None:
    """Return what is known of attention weights, ``None`` if the tensor is none."""
    found: Weights | None = vars(tensor).get(_WEIGHTS)
    return found


def _heads_in(tensor: Tensor) -> int:
    """Return the number of heads in [B, A, ...] or [A, S, ...]; [A, ...] of one sentence."""
    return tensor.shape[1] if tensor.dim() > 3 else tensor.shape[0]


def heads_of(tensor: Tensor) -> HeadColumns | None:
    """Return which head each element of a tensor is from, ``None`` if it is from none."""
    found: HeadColumns | None = vars(tensor).get(_HEADS)
    return found


def keep_heads(tensor: Tensor, heads: HeadColumns | None) -> None:
    """Note which head each element of a tensor is from."""
    if heads is not None:
        vars(tensor)[_HEADS] = heads


def hand_on(tensor: Tensor, other: Tensor) -> None:
    """Note the same of another tensor: attention weights, or heads side by side."""
    for key in (_HEADS, _WEIGHTS):
        if key in vars(tensor):
            vars(other)[key] = vars(tensor)[key]


def _moved(  # noqa: PLR0917
    short: str,
    function: Any,
    args: Any,
    kwargs: Any,
    heads: Sequence[HeadColumns | None],
    result: Tensor,
) -> HeadColumns | None:
    """Return the heads of the result of an operation that moves elements or scales them."""
    first = next(filter(None, heads))
    if short in _KEEPS_FORM:
        return first if first.numbers.shape == result.shape else None
    if not all(heads):
        return None

    def numbers(value: Any) -> Any:
        if isinstance(value, Tensor):
            return value if (own := heads_of(value)) is None else own.numbers
        return type(value)(map(numbers, value)) if isinstance(value, list | tuple) else value

    # The numbers are expanded, which a view does not allow.
    moves = torch.Tensor.reshape if short == "view" else function
    moved = moves(*numbers(tuple(args)), **kwargs)
    is_same = isinstance(moved, Tensor) and moved.shape == result.shape
    return HeadColumns(first.scope, moved) if is_same else None


def _kind_of(short: str, taken: Sequence[Tensor], result: Tensor) -> str:
    if short in _PRODUCTS:
        return PRODUCT if any(isinstance(tensor, nn.Parameter) for tensor in taken) else ""
    if short in _NORMS:
        return NORM if result.dim() > 1 else ""
    if short in _ACTIVATIONS:
        return ACTIVATION if result.dim() > 1 else ""
    if short in _ADDITIONS and len(taken) == 2 and result.dim() > 1:
        is_sum = not any(isinstance(tensor, nn.Parameter) for tensor in taken)
        return ADDITION if is_sum and taken[0].shape == taken[1].shape else ""
    return ""
