"""The matrix products among torch's operations, and the dimensions that each multiplies over.

The same operations count as in ``torch.utils.flop_counter``, and a few that do the same work in
one step: fused attention on the CPU, linear layers on some devices, and experts by groups.
"""

import re
from collections.abc import Callable, Mapping
from functools import cache
from math import inf
from types import FrameType
from typing import Any

from torch import Tensor
from torch.utils.flop_counter import flop_registry

from bertviewer.core.building.allocations import AllocationGuard

Dimensions = tuple[int, ...]

MOST_STEPS = 10_000
"""A model of a hundred layers takes fewer operations; longer passes would take minutes."""

_FUSED_ATTENTION = re.compile(
    r"_scaled_dot_product_(flash|efficient|cudnn|fused)_attention(_for_cpu|_overrideable)?"
)
_KNOWN_NAMESPACES = frozenset({"aten", "prim", "prims", "profiler"})
_PRODUCTS = re.compile(
    r"mm|matmul|conv|attention|attn|lstm|gru|rnn|linear|einsum|encoder_layer|tensordot"
)
"""In the names of operations that multiply matrices, whether torch counts them or not."""
_NO_PRODUCTS = re.compile(
    r"cumm|gamma|hamming|upsample|convert|combination|backward|flatten|thnn_fused|nested"
    r"|fbgemm_pack|prepack$|reorder|quantize_weight|_search$"
)
"""In the names of others that look like these."""


class ProductMode(AllocationGuard):  # type: ignore[no-untyped-call]
    """Reports every matrix product inside ``with``, whichever function it is a part of.

    It costs 2% of bert-base's forward pass.

    Args:
        on_product: takes the dimensions of each product.
        on_unknown: takes the reason why the products of an operation are not known; without it
            that is an error.
        is_limited: whether more than ``MOST_STEPS`` operations are an error.
    """

    def __init__(
        self,
        on_product: Callable[[Dimensions], None],
        on_unknown: Callable[[str], None] | None = None,
        *,
        is_limited: bool = True,
    ) -> None:
        super().__init__()
        self._steps_left = MOST_STEPS if is_limited else inf
        self._on_product = on_product
        self._on_unknown = on_unknown

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Carry out an operation and report its products.

        Raises:
            NotImplementedError: they are not known, and there is no ``on_unknown``.
            RuntimeError: there were too many operations.
        """
        output = super().__torch_dispatch__(func, types, args, kwargs)
        self.report(func, args, output)
        return output

    def report(self, operation: Any, args: Any, output: Any) -> None:
        """Report the products of an operation that is done."""
        self._steps_left -= 1
        if self._steps_left < 0:
            raise RuntimeError(
                "the model takes too many steps; it may process the text token by token"
            )
        try:
            dimensions = product_dimensions(operation, args, output)
        except NotImplementedError as error:
            if self._on_unknown is None:
                raise
            self._on_unknown(str(error))
        else:
            if dimensions is not None:
                self._on_product(dimensions)


def is_product_mode(frame: FrameType) -> bool:
    """Return whether a stack frame is only that of the mode."""
    modes = ProductMode, AllocationGuard
    return any(frame.f_code is mode.__torch_dispatch__.__code__ for mode in modes)


@cache
def is_product(operation: Any) -> bool:
    """Return whether an operation multiplies matrices, or may, as those that torch didn't write."""
    packet = operation.overloadpacket
    name = packet.__name__
    return (
        packet in flop_registry
        or operation.namespace not in _KNOWN_NAMESPACES
        or (_PRODUCTS.search(name) is not None and _NO_PRODUCTS.search(name) is None)
    )


def product_dimensions(operation: Any, args: tuple[Any, ...], output: Any) -> Dimensions | None:
    """Return the dimensions whose product is the operation's multiply-adds.

    Args:
        operation: as a dispatch mode gets it, ``aten.mm.default``.
        args: what it was called with, in the order of torch's native functions.
        output: what it returned.

    Returns:
        ``(m, k, n)`` for [m, k] × [k, n], with the batch in front if there is one; for a
        convolution output positions, channels and kernel; for fused attention queries, keys, and
        a head's features of both products together. ``None`` for all that is no product.

    Raises:
        NotImplementedError: it multiplies matrices, or may, and it is not known here how.
    """
    if not is_product(operation):
        return None
    name = operation.overloadpacket.__name__
    if any(isinstance(arg, Tensor) and arg.is_nested for arg in args):
        raise NotImplementedError("the rows of its tensors have different lengths")
    match name:
        case "mm" | "bmm" | "linear":
            # The weight of linear is [out, in].
            return (*args[0].shape, args[1].shape[0 if name == "linear" else -1])
        case "addmm" | "baddbmm":
            return (*args[1].shape, args[2].shape[-1])
        case "convolution":
            # Each output element sums over a kernel's weights, [C_out, C_in / groups, kernel];
            # transposed, each input element is spread by [C_in, C_out / groups, kernel].
            image, weight, transposed = args[0], args[1], args[6]
            return (*(image if transposed else output).shape, *weight.shape[1:])
        case "_grouped_mm" if (args[0].dim(), args[1].dim()) == (2, 3):
            # Each row is multiplied by its own group's matrix.
            return (*args[0].shape, args[1].shape[-1])
        case _ if _FUSED_ATTENTION.fullmatch(name):
            # Q·Kᵀ and the weights times V, [B, A, S, K] each (Vaswani et al. 2017, section 3.2.1).
            query, key, value = args[:3]
            return (*query.shape[:-1], key.shape[-2], query.shape[-1] + value.shape[-1])
        case _:
            raise NotImplementedError(
                f"the matrix products of {operation.namespace}::{name} are not known"
            )
