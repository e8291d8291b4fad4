"""The dimensions of the matrix products among torch's operations.

The operations are those of ``torch.utils.flop_counter`` and a few that it lacks: fused attention on
the CPU, linear layers on some devices, and grouped products of experts.
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

MAX_STEPS = 10_000
"""Limit of operations, more than those of a hundred layers; longer passes would take minutes."""

_FUSED_ATTENTION = re.compile(
    r"_scaled_dot_product_(flash|efficient|cudnn|fused)_attention(_for_cpu|_overrideable)?"
)
_KNOWN_NAMESPACES = frozenset({"aten", "prim", "prims", "profiler"})
_PRODUCTS = re.compile(
    r"mm|matmul|conv|attention|attn|lstm|gru|rnn|linear|einsum|encoder_layer|tensordot"
)
"""Matches names of operations that multiply matrices, whether torch counts them or not."""
_NO_PRODUCTS = re.compile(
    r"cumm|gamma|hamming|upsample|convert|combination|backward|flatten|thnn_fused|nested"
    r"|fbgemm_pack|prepack$|reorder|quantize_weight|_search$"
)
"""Matches similar names of other operations."""


class ProductMode(AllocationGuard):  # type: ignore[no-untyped-call]
    """Reports every matrix product inside the ``with``.

    It costs 2% of bert-base's forward pass.

    Args:
        on_product: is called with the dimensions of each product.
        on_unknown: is called with a reason for operations whose products are not known; without
            it they are an error.
        is_limited: whether more than ``MAX_STEPS`` operations are an error.
    """

    def __init__(
        self,
        on_product: Callable[[Dimensions], None],
        on_unknown: Callable[[str], None] | None = None,
        *,
        is_limited: bool = True,
    ) -> None:
        super().__init__()
        self._steps_left = MAX_STEPS if is_limited else inf
        self._on_product = on_product
        self._on_unknown = on_unknown

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Carry out an operation and report its products.

        Raises:
            NotImplementedError: they are not known, and there is no ``on_unknown``.
            RuntimeError: too many operations.
        """
        output = super().__torch_dispatch__(func, types, args, kwargs)
        self.report(func, args, output)
        return output

    def report(self, operation: Any, args: Any, output: Any) -> None:
        """Report the products of an executed operation."""
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
    """Return whether a stack frame belongs to the mode."""
    modes = ProductMode, AllocationGuard
    return any(frame.f_code is mode.__torch_dispatch__.__code__ for mode in modes)


@cache
def is_product(operation: Any) -> bool:
    """Return whether an operation multiplies matrices, or may, as custom operations."""
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
        operation: an operation of a dispatch mode, such as ``aten.mm.default``.
        args: its arguments, in the order of torch's native functions.
        output: its result.

    Returns:
        ``(m, k, n)`` for [m, k] × [k, n], with the batch first if there is one; for a
        convolution output positions, channels and kernel; for fused attention queries, keys, and
        the features of a head in both products. ``None`` for other operations.

    Raises:
        NotImplementedError: it multiplies matrices, or may, in an unknown way.
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
