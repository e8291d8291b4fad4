"""One learnable tensor of a model, without its values."""

from collections.abc import Mapping
from typing import Any

from bertviewer.core.frozen import frozen


@frozen
class TensorInfo:
    """One learnable tensor under one name; a tied tensor has one entry for each of its names.

    ``symbolic_shape`` writes each dimension in the configuration's symbols where it is known.
    ``tied_to`` is the first name of the same tensor, ``None`` for the first name itself.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    trainable: bool
    tied_to: str | None = None
    symbolic_shape: tuple[str, ...] | None = None

    @property
    def numel(self) -> int:
        """The number of elements."""
        count = 1
        for size in self.shape:
            count *= size
        return count

    @property
    def owner(self) -> str:
        """The path of the module that holds it."""
        return self.name.rpartition(".")[0]

    def to_json(self) -> dict[str, Any]:
        """Return the tensor's entry in ``bertviewer.architecture/1``."""
        return {
            "name": self.name,
            "shape": list(self.shape),
            "symbolic_shape": None if self.symbolic_shape is None else list(self.symbolic_shape),
            "numel": self.numel,
            "dtype": self.dtype,
            "trainable": self.trainable,
            "tied_to": self.tied_to,
        }

    @classmethod
    def from_json(cls, entry: Mapping[str, Any]) -> "TensorInfo":
        """Read what ``to_json`` gave."""
        symbolic = entry["symbolic_shape"]
        return cls(
            name=entry["name"],
            shape=tuple(entry["shape"]),
            dtype=entry["dtype"],
            trainable=entry["trainable"],
            tied_to=entry["tied_to"],
            symbolic_shape=None if symbolic is None else tuple(symbolic),
        )
