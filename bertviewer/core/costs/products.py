"""The matrix products among torch's operations, and the dimensions that each multiplies over.

The same operations count as in ``torch.utils.flop_counter``.
"""

from typing import Any

from torch import Tensor
from torch.utils.flop_counter import flop_registry

Dimensions = tuple[int, ...]


def product_dimensions(operation: Any, args: tuple[Any, ...], output: Any) -> Dimensions | None:
    """Return the dimensions whose product is the operation's multiply-adds.

    Args:
        operation: as a dispatch mode is given it, ``aten.mm.default``.
        args: what it was called with, in the order of torch's native functions.
        output: what it gave.

    Returns:
        ``(m, k, n)`` for [m, k] × [k, n], with the batch in front where there is one; a
        convolution's output positions, channels and kernel. ``None`` for all that is no product.

    Raises:
        NotImplementedError: torch counts the operation, and it is not known here.
    """
    packet = operation.overloadpacket
    if packet not in flop_registry:
        return None
    match packet.__name__:
        case "mm" | "bmm":
            return _matrices(args[0], args[1])
        case "addmm" | "baddbmm":
            return _matrices(args[1], args[2])
        case "convolution":
            return _convolution(args, output)
        case name:
            raise NotImplementedError(f"the products of torch's {name} are not known")


def _matrices(left: Tensor, right: Tensor) -> Dimensions:
    return (*left.shape, right.shape[-1])


def _convolution(args: tuple[Any, ...], output: Tensor) -> Dimensions:
    """Each output element sums over a kernel's weights; transposed, each input element is spread.

    A weight is [C_out, C_in / groups, kernel], transposed [C_in, C_out / groups, kernel].
    """
    image, weight, transposed = args[0], args[1], args[6]
    return (*(image if transposed else output).shape, *weight.shape[1:])
