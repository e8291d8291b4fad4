"""A forward pass on the meta device, as if it had values where these follow from the inputs.

Models look at their masks before they run ("is nothing padded?"), which a tensor without values
cannot answer. Token ids, masks, positions and what follows from them are small, so that these are
computed on the CPU as well; weights and activations have no values.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves, tree_map, tree_map_only
from torch.utils.weak import WeakTensorKeyDictionary

from bertviewer.core.building.allocations import reserve_for
from bertviewer.core.graph.meta_results import carry_out
from bertviewer.core.graph.nested_tensors import tensors_in
from bertviewer.core.graph.products import Dimensions, ProductMode
from bertviewer.core.graph.shared_weights import new_modules_on_meta
from bertviewer.core.util import budget

MOST_ELEMENTS = 2**21
"""The values of larger tensors are not computed: a mask of 1,448 by 1,448 tokens still is."""

_FROM_NUMBERS = (torch.tensor, torch.as_tensor, torch.asarray, Tensor.new_tensor)
_NEEDS_VALUES = {torch.Tag.data_dependent_output, torch.Tag.dynamic_output_shape}

aten = torch.ops.aten


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
        self._values = WeakTensorKeyDictionary()
        for tensor, value in known:
            self.learn(tensor, value)
        self._on_output = on_output

    def learn(self, tensor: Tensor, value: Tensor) -> None:
        """Store the value of an input: a CPU tensor of the same shape."""
        self._values[tensor] = value

    def value(self, tensor: Tensor) -> Tensor | None:
        """Return the numbers of a tensor, ``None`` if they are not known."""
        return self._values.get(tensor) if tensor.is_meta else tensor  # type: ignore[no-untyped-call]

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Carry out an operation; raises what ``ProductMode`` raises."""
        kwargs = kwargs or {}
        budget.check()
        tensors = tensors_in((args, kwargs))
        answer = self._answer(func, args, kwargs, tensors)
        if answer is not None:
            return answer
        reserve_for(func, args, kwargs)
        args, kwargs = self._on_one_device((args, kwargs), tensors)
        output = carry_out(func, args, kwargs, tensors)
        self._follow(func, args, kwargs, tensors, output)
        if self._on_output is not None:
            self._on_output(output)
        self.report(func, args, output)
        return output

    def _answer(self, operation: Any, args: Any, kwargs: Any, tensors: Sequence[Tensor]) -> Any:
        """Return the result of an operation that needs values, ``None`` for others or without.

        These are plain numbers, results as long as the values say (``nonzero``), and copies for
        the CPU, where Python looks at them.
        """
        device = kwargs.get("device") if operation is aten._to_copy.default else None
        to_cpu = device is not None and torch.device(device).type == "cpu"
        if not to_cpu and _NEEDS_VALUES.isdisjoint(operation.tags):
            return None
        if not tensors or any(self.value(tensor) is None for tensor in tensors):
            return None
        args, kwargs = tree_map(self._on_cpu, (args, kwargs))
        answer = operation(*args, **kwargs)
        return answer if to_cpu else tree_map(self._learned, answer)

    def _on_one_device(self, arguments: Any, tensors: Sequence[Tensor]) -> Any:
        """Move arguments that a model made on the CPU to the meta device if others are on it.

        A mask that an operation selects by becomes the places where it is true, so that the
        result's length is known. (Only operations that select have masks in a list as their second
        argument.)
        """
        if len({tensor.is_meta for tensor in tensors}) > 1:
            arguments = tree_map(
                lambda it: it if isinstance(it, Tensor) and it.is_meta else self._learned(it),
                arguments,
            )
        args, kwargs = arguments
        if len(args) > 1 and isinstance(args[1], list | tuple) and any(map(_is_mask, args[1])):
            places = [place for item in args[1] for place in self._places(item)]
            return (args[0], places, *args[2:]), kwargs
        return arguments

    def _follow(
        self, operation: Any, args: Any, kwargs: Any, tensors: Sequence[Tensor], output: Any
    ) -> None:
        """Compute the values of an operation's results, if those of its operands are known."""
        if all(self.value(tensor) is not None for tensor in tensors):
            is_small = all(each.numel() <= MOST_ELEMENTS for each in tensors_in(output))
            if is_small and _is_repeatable(operation):
                args, kwargs = tree_map(self._on_cpu, (args, kwargs))
                values = tree_leaves(operation(*args, **kwargs))
                for tensor, value in zip(tree_leaves(output), values, strict=True):
                    if isinstance(tensor, Tensor) and tensor.is_meta:
                        self._values[tensor] = value
        elif operation._schema.is_mutable:
            for tensor in tensors:
                self._forget(tensor)

    def _places(self, mask: Any) -> tuple[Any, ...]:
        value = self.value(mask) if _is_mask(mask) else None
        if value is None:
            return (mask,)
        return tuple(self._learned(place) for place in value.nonzero(as_tuple=True))

    def _learned(self, leaf: Any) -> Any:
        """Return a tensor on the meta device that has the value of one on the CPU."""
        if not isinstance(leaf, Tensor):
            return leaf
        made = torch.empty_like(leaf, device="meta")
        self.learn(made, leaf)
        return made

    def _on_cpu(self, leaf: Any) -> Any:
        if isinstance(leaf, Tensor):
            return self.value(leaf)
        return torch.device("cpu") if isinstance(leaf, torch.device) else leaf

    def _forget(self, tensor: Tensor) -> None:
        """Forget a value that something unknown was written into, and all views of it."""
        value = self.value(tensor)
        if value is None:
            return
        memory = value.untyped_storage().data_ptr()
        for other, known in list(self._values.items()):  # type: ignore[no-untyped-call]
            if known.untyped_storage().data_ptr() == memory:
                del self._values[other]


def _is_mask(item: Any) -> bool:
    return isinstance(item, Tensor) and item.is_meta and item.dtype is torch.bool


@cache
def _is_repeatable(operation: Any) -> bool:
    """Return whether the same operands always give the same: nothing random or uninitialized."""
    is_random = torch.Tag.nondeterministic_seeded in operation.tags
    return not is_random and "empty" not in operation.overloadpacket.__name__


class Literals(TorchFunctionMode):
    """Creates tensors of plain numbers, ``torch.tensor([2, 3], device=…)``, on the CPU first.

    On the meta device torch drops the numbers before any mode for its operations sees them.
    ``MetaDevice`` can follow a copy from the CPU.
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
        dtype = kwargs.get("dtype", before[0].dtype if before else None)
        return torch.tensor(plain, dtype=dtype).to("meta")


@contextmanager
def known_on_meta(
    known: tuple[tuple[Tensor, Tensor], ...], on_product: Callable[[Dimensions], None]
) -> Iterator[MetaDevice]:
    """Run a model on the meta device inside the ``with``; see ``MetaDevice``."""
    device = MetaDevice(known, on_product, is_limited=False)
    with torch.no_grad(), device, Literals(), new_modules_on_meta():
        yield device
