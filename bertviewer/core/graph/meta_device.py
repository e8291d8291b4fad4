"""A forward pass on the meta device, as if it had values where these follow from the inputs."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_map_only

from bertviewer.core import budget
from bertviewer.core.building.allocations import reserve_for
from bertviewer.core.graph.known_values import KnownValues
from bertviewer.core.graph.meta_results import carry_out
from bertviewer.core.graph.nested_tensors import tensors_in
from bertviewer.core.graph.product_mode import ProductMode
from bertviewer.core.graph.products import Dimensions
from bertviewer.core.graph.shared_weights import new_modules_on_meta

_FROM_NUMBERS = (torch.tensor, torch.as_tensor, torch.asarray, Tensor.new_tensor)


class MetaDevice(ProductMode):  # type: ignore[no-untyped-call]
    """Carries out the ATen operations of a forward pass, and reports matrix products.

    Args:
        known: pairs of a tensor on the meta device and its values.
        on_product: takes the dimensions of each product.
        on_output: takes the result of each operation.
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
        """Carry out an operation; raises what ``ProductMode`` raises."""
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


class Literals(TorchFunctionMode):
    """Makes tensors of plain numbers, ``torch.tensor([2, 3], device=…)``, on the CPU first.

    On the meta device torch drops the numbers before any mode for its operations sees them.
    ``KnownValues`` can follow a copy from the CPU.
    """

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Carry out a function."""
        kwargs = kwargs or {}
        if func not in _FROM_NUMBERS:
            return func(*args, **kwargs)
        before, rest = args[: func is Tensor.new_tensor], args[func is Tensor.new_tensor :]
        data = rest[0] if rest else kwargs.get("data", kwargs.get("obj"))
        device = kwargs.get("device")
        if device is None:
            is_meta = any(tensor.is_meta for tensor in before)
        else:
            is_meta = torch.device(device).type == "meta"
        if len(rest) > 1 or isinstance(data, Tensor) or not is_meta:
            return func(*args, **kwargs)
        # Tensors among the numbers are read with all modes off.
        plain = tree_map_only(Tensor, lambda tensor: tensor.item(), data)
        words = {name: kwargs[name] for name in ("dtype",) if name in kwargs}
        if before:
            words.setdefault("dtype", before[0].dtype)
        return torch.tensor(plain, **words).to("meta")


@contextmanager
def known_on_meta(
    known: tuple[tuple[Tensor, Tensor], ...], on_product: Callable[[Dimensions], None]
) -> Iterator[MetaDevice]:
    """Run a model on the meta device inside the ``with``; see ``MetaDevice``."""
    device = MetaDevice(known, on_product, is_limited=False)
    with torch.no_grad(), device, Literals(), new_modules_on_meta():
        yield device
