"""A forward pass on the meta device, as if it had values where these follow from the inputs."""

from collections.abc import Callable, Mapping
from typing import Any

from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from bertviewer.core.flow.known_values import KnownValues, tensors_in
from bertviewer.core.flow.meta_results import carry_out
from bertviewer.core.flow.products import Dimensions, product_dimensions

MOST_STEPS = 10_000
"""A model of a hundred layers takes fewer; longer passes would take minutes, all in all."""


class MetaDevice(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Carries out what torch's functions are made of, and tells of matrix products.

    Args:
        known: pairs of a tensor on the meta device and its values.
        on_product: takes the dimensions of each product.
        on_output: takes what each operation gave.
    """

    def __init__(
        self,
        known: tuple[tuple[Tensor, Tensor], ...],
        on_product: Callable[[Dimensions], None],
        on_output: Callable[[Any], None] | None = None,
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._known = KnownValues()
        for tensor, value in known:
            self._known.learn(tensor, value)
        self._on_product = on_product
        self._on_output = on_output
        self._steps = 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Carry out an operation.

        Raises:
            RuntimeError: the model takes too many.
        """
        del types
        kwargs = kwargs or {}
        scalar = self._known.scalar(func, args)
        if scalar is not None:
            return scalar
        self._steps += 1
        if self._steps > MOST_STEPS:
            raise RuntimeError(
                "the model takes too many steps, it may go through it token by token"
            )
        tensors = tensors_in((args, kwargs))
        args, kwargs = self._known.together((args, kwargs), tensors)
        output = carry_out(func, args, kwargs, tensors)
        self._known.follow(func, args, kwargs, tensors, output)
        if self._on_output is not None:
            self._on_output(output)
        dimensions = product_dimensions(func, args, output)
        if dimensions is not None:
            self._on_product(dimensions)
        return output
