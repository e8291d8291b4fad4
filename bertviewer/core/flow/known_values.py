"""Values on the meta device: what follows from the inputs alone is computed along with it.

Models look at their masks before they run ("is nothing padded?"), which a tensor without values
cannot answer. Token ids, masks, positions and what is made of them are small, so their values are
kept on the CPU beside them; weights and activations stay without.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves, tree_map
from torch.utils.weak import WeakTensorKeyDictionary

MOST_ELEMENTS = 2**21
"""Larger tensors are not computed: a mask of 1,448 tokens by as many still is."""

aten = torch.ops.aten


class KnownValues:
    """Remembers the value of each meta tensor that has one."""

    def __init__(self) -> None:
        self._values = WeakTensorKeyDictionary()

    def learn(self, tensor: Tensor, value: Tensor) -> None:
        """Note the value of an input: a CPU tensor of the same shape."""
        self._values[tensor] = value

    def scalar(self, operation: Any, args: Sequence[Any]) -> Any:
        """Return the plain number that an operation asks a tensor for, ``None`` if not known."""
        if operation is not aten._local_scalar_dense.default:
            return None
        value = self._value(args[0])
        return None if value is None else value.item()

    def together(self, arguments: Any, tensors: Sequence[Tensor]) -> Any:
        """Move what a model made on the CPU beside the meta tensors that it is to meet.

        Args:
            arguments: an operation's, nested in any way.
            tensors: those among them.
        """
        if len({tensor.is_meta for tensor in tensors}) < 2:
            return arguments
        return tree_map(self._on_meta, arguments)

    def follow(
        self, operation: Any, args: Any, kwargs: Any, tensors: Sequence[Tensor], output: Any
    ) -> None:
        """Compute what an operation gave, if all the tensors that it took are known."""
        if all(self._value(tensor) is not None for tensor in tensors):
            if _is_repeatable(operation) and _is_small(output):
                args, kwargs = tree_map(self._on_cpu, (args, kwargs))
                self._note(output, operation(*args, **kwargs))
        elif operation._schema.is_mutable:
            for tensor in tensors:
                self._forget(tensor)

    def _note(self, output: Any, values: Any) -> None:
        for tensor, value in zip(tree_leaves(output), tree_leaves(values), strict=True):
            if isinstance(tensor, Tensor) and tensor.is_meta:
                self._values[tensor] = value

    def _value(self, tensor: Tensor) -> Tensor | None:
        return self._values.get(tensor) if tensor.is_meta else tensor  # type: ignore[no-untyped-call]

    def _on_cpu(self, leaf: Any) -> Any:
        if isinstance(leaf, Tensor):
            return self._value(leaf)
        if isinstance(leaf, torch.device):
            return torch.device("cpu")
        return leaf

    def _on_meta(self, leaf: Any) -> Any:
        # Numbers as tensors may stay: torch takes them with those of any device.
        if not isinstance(leaf, Tensor) or leaf.is_meta or not leaf.dim():
            return leaf
        moved = leaf.to("meta")
        self.learn(moved, leaf)
        return moved

    def _forget(self, tensor: Tensor) -> None:
        """Forget a value that something unknown was written into, and all views of it."""
        value = self._value(tensor)
        if value is None:
            return
        memory = value.untyped_storage().data_ptr()
        for other, known in list(self._values.items()):  # type: ignore[no-untyped-call]
            if known.untyped_storage().data_ptr() == memory:
                del self._values[other]


def tensors_in(value: Any) -> list[Tensor]:
    """Return the tensors in arguments or results; faster than torch's general search."""
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, tuple | list):
        return []
    return [tensor for item in value for tensor in tensors_in(item)]


def _is_small(output: Any) -> bool:
    return all(tensor.numel() <= MOST_ELEMENTS for tensor in tensors_in(output))


def _is_repeatable(operation: Any) -> bool:
    """Tell whether the same inputs always give the same: nothing is drawn or left as it was."""
    if torch.Tag.nondeterministic_seeded in operation.tags:
        return False
    return "empty" not in operation.overloadpacket.__name__
