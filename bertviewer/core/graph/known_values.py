"""Values on the meta device: what follows from the inputs alone is computed on the CPU as well.

Models look at their masks before they run ("is nothing padded?"), which a tensor without values
cannot answer. Token ids, masks, positions and what follows from them are small, so that their
values are kept on the CPU; weights and activations have none.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves, tree_map
from torch.utils.weak import WeakTensorKeyDictionary

from bertviewer.core.graph.nested_tensors import tensors_in

MOST_ELEMENTS = 2**21
"""Larger tensors are not computed: a mask of 1,448 by 1,448 tokens still is."""

aten = torch.ops.aten

_ASKING = {torch.Tag.data_dependent_output, torch.Tag.dynamic_output_shape}


class KnownValues:
    """Remembers the value of each meta tensor that has one."""

    def __init__(self) -> None:
        self._values = WeakTensorKeyDictionary()

    def learn(self, tensor: Tensor, value: Tensor) -> None:
        """Store the value of an input: a CPU tensor of the same shape."""
        self._values[tensor] = value

    def value(self, tensor: Tensor) -> Tensor | None:
        """Return the numbers of a tensor, ``None`` if they are not known."""
        return self._values.get(tensor) if tensor.is_meta else tensor  # type: ignore[no-untyped-call]

    def answer(self, operation: Any, args: Any, kwargs: Any) -> Any:
        """Return the result of an operation that needs values, ``None`` for others or without.

        These are plain numbers, results as long as the values say (``nonzero``), and copies for
        the CPU, where Python looks at them.
        """
        device = kwargs.get("device") if operation is aten._to_copy.default else None
        to_cpu = device is not None and torch.device(device).type == "cpu"
        if not to_cpu and not _needs_values(operation):
            return None
        tensors = tensors_in((args, kwargs))
        if not tensors or any(self.value(tensor) is None for tensor in tensors):
            return None
        args, kwargs = tree_map(self._on_cpu, (args, kwargs))
        answer = operation(*args, **kwargs)
        return answer if to_cpu else tree_map(self._learned, answer)

    def together(self, arguments: Any, tensors: Sequence[Tensor]) -> Any:
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

    def follow(
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


@cache
def _needs_values(operation: Any) -> bool:
    """Tell whether an operation's result is as long as values say, or is no tensor."""
    return bool(_ASKING & set(operation.tags))


def _is_mask(item: Any) -> bool:
    return isinstance(item, Tensor) and item.is_meta and item.dtype is torch.bool


@cache
def _is_repeatable(operation: Any) -> bool:
    """Tell whether the same operands always give the same: nothing random or uninitialized."""
    is_random = torch.Tag.nondeterministic_seeded in operation.tags
    return not is_random and "empty" not in operation.overloadpacket.__name__
