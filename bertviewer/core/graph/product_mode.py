"""Reports every matrix product while a model runs, whichever function it is a part of."""

from collections.abc import Callable, Mapping
from math import inf
from types import FrameType
from typing import Any

from bertviewer.core.building.allocations import AllocationGuard
from bertviewer.core.graph.products import Dimensions, product_dimensions

MOST_STEPS = 10_000
"""A model of a hundred layers takes fewer; longer passes would take minutes."""


class ProductMode(AllocationGuard):  # type: ignore[no-untyped-call]
    """Observes the ATen operations inside ``with``, at a cost of 2% of bert-base's forward pass.

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
        self.tell(func, args, output)
        return output

    def tell(self, operation: Any, args: Any, output: Any) -> None:
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
    """Tell whether a stack frame is only that of the mode."""
    modes = ProductMode, AllocationGuard
    return any(frame.f_code is mode.__torch_dispatch__.__code__ for mode in modes)
