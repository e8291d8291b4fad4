"""Tells of every matrix product while a model runs, by whatever function it is asked for."""

from collections.abc import Callable, Mapping
from math import inf
from types import FrameType
from typing import Any

from bertviewer.core.building.allocations import AllocationGuard
from bertviewer.core.flow.products import Dimensions, product_dimensions

MOST_STEPS = 10_000
"""A model of a hundred layers takes fewer; longer passes would take minutes, all in all."""


class ProductMode(AllocationGuard):  # type: ignore[no-untyped-call]
    """Sees the operations that torch's functions are made of, inside ``with``.

    To see each of them costs 2 % of bert-base's forward pass.

    Args:
        on_product: takes the dimensions of each product.
        on_unknown: takes why the products of an operation are not known; without it that is an
            error.
        is_limited: that more than ``MOST_STEPS`` operations are an error.
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
        """Carry out an operation and tell of its products.

        Raises:
            NotImplementedError: they are not known, and nobody listens to that.
            RuntimeError: the model takes too many.
        """
        output = super().__torch_dispatch__(func, types, args, kwargs)
        self.tell(func, args, output)
        return output

    def tell(self, operation: Any, args: Any, output: Any) -> None:
        """Tell of the products of an operation that is done."""
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
    """Tell whether a frame is just that of the mode, for anybody who looks at the stack."""
    modes = ProductMode, AllocationGuard
    return any(frame.f_code is mode.__torch_dispatch__.__code__ for mode in modes)
