"""A forward pass on the meta device, as if it had values where these follow from the inputs."""

from collections.abc import Callable, Mapping
from typing import Any

from torch import Tensor

from bertviewer.core import budget
from bertviewer.core.building.allocations import reserve_for
from bertviewer.core.flow.known_values import KnownValues
from bertviewer.core.flow.meta_results import carry_out
from bertviewer.core.flow.nested_tensors import tensors_in
from bertviewer.core.flow.product_mode import ProductMode
from bertviewer.core.flow.products import Dimensions


class MetaDevice(ProductMode):  # type: ignore[no-untyped-call]
    """Carries out what torch's functions are made of, and tells of matrix products.

    Args:
        known: pairs of a tensor on the meta device and its values.
        on_product: takes the dimensions of each product.
        on_output: takes what each operation gave.
        is_limited: as of ``ProductMode``.
    """

    def __init__(
        self,
        known: tuple[tuple[Tensor, Tensor], ...],
        on_product: Callable[[Dimensions], None],
        on_output: Callable[[Any], None] | None = None,
        *,
        is_limited: bool = True,
    ) -> None:
        super().__init__(on_product, is_limited=is_limited)
        self.known = KnownValues()
        for tensor, value in known:
            self.known.learn(tensor, value)
        self._on_output = on_output

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Carry out an operation.

        Raises:
            NotImplementedError: it multiplies matrices, and it is not known how.
            RuntimeError: the model takes too many.
        """
        kwargs = kwargs or {}
        budget.check()
        answer = self.known.answer(func, args, kwargs)
        if answer is not None:
            return answer
        tensors = tensors_in((args, kwargs))
        reserve_for(func, args, kwargs)
        args, kwargs = self.known.together((args, kwargs), tensors)
        output = carry_out(func, args, kwargs, tensors)
        self.known.follow(func, args, kwargs, tensors, output)
        if self._on_output is not None:
            self._on_output(output)
        self.tell(func, args, output)
        return output
