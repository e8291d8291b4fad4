"""The arguments of one call of a model, and the same without numbers for the meta device."""

from collections.abc import Mapping
from typing import Any

from torch import Tensor
from torch.utils._pytree import tree_leaves, tree_map_only

from bertviewer.core.frozen import frozen


@frozen
class MetaInputs:
    """The arguments of a model's forward, and the value of each tensor among them."""

    arguments: Mapping[str, Any]
    known: tuple[tuple[Tensor, Tensor], ...]


@frozen
class ModelInputs:
    """Arguments of a model's forward on the CPU; ``kinds`` are ``text``, ``image`` and so on."""

    arguments: Mapping[str, Any]
    kinds: tuple[str, ...]

    def on_meta(self) -> MetaInputs:
        """Return the same on the meta device, with the values beside it."""
        moved = tree_map_only(Tensor, lambda tensor: tensor.to("meta"), dict(self.arguments))
        pairs = zip(tree_leaves(moved), tree_leaves(dict(self.arguments)), strict=True)
        return MetaInputs(moved, tuple(pair for pair in pairs if isinstance(pair[0], Tensor)))
