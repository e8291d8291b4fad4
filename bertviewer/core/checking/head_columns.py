"""Which attention head each element of a tensor is from."""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from bertviewer.core.frozen import frozen


@frozen(eq=False)
class HeadColumns:
    """The heads of a tensor, as its code lays them side by side.

    Attributes:
        scope: the call of the module that is the attention.
        numbers: each element's head, in the tensor's shape.
    """

    scope: Any
    numbers: Tensor

    @classmethod
    def of(cls, scope: Any, mixed: Tensor, count: int, equation: str = "") -> "HeadColumns | None":
        """Number the heads in weights · values.

        Args:
            scope: the call of the module that is the attention.
            mixed: [B, A, S, d]; of one sentence also [A, S, d], or [A·n, S, d] and [A, n, S, d] for
                n blocks of tokens.
            count: the number of heads.
            equation: that of an ``einsum``, with any layout.
        """
        if equation:
            axis = _axis_in(equation, mixed)
            if axis is None:
                return None
            shape = [-1 if place == axis else 1 for place in range(mixed.dim())]
            return cls(scope, torch.arange(mixed.shape[axis]).reshape(shape).expand(mixed.shape))
        outer = mixed.shape[:-2]
        if mixed.dim() == 4 and outer[1] == count:
            numbers = torch.arange(count).expand(outer)
        elif outer.numel() % count == 0:
            numbers = (torch.arange(outer.numel()) // (outer.numel() // count)).reshape(outer)
        else:
            return None
        return cls(scope, numbers[..., None, None].expand(mixed.shape))

    def split(self) -> Iterator[tuple[int, int, Tensor]]:
        """Yield each head's number, the axis along which heads lie, and its places on it.

        Nothing where several axes are needed to tell the heads apart.
        """
        for axis in reversed(range(self.numbers.dim())):
            lines = self.numbers.movedim(axis, -1)
            line = lines.flatten(0, -2)[0]
            if bool((lines == line).all()):
                for head in dict.fromkeys(line.tolist()):
                    yield head, axis, (line == head).nonzero()[:, 0]
                return


def _axis_in(equation: str, mixed: Tensor) -> int | None:
    """Return the axis of the heads: the one that both operands and the result share."""
    operands, _, result = equation.replace(" ", "").partition("->")
    shared = set(result).intersection(*operands.split(","))
    axes = [place for place, name in enumerate(result) if name in shared]
    return max(axes, key=lambda axis: mixed.shape[axis], default=None)
