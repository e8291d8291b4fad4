"""One learnable tensor of a model, without its values."""

from bertviewer.core.util.serialization import Document


class TensorInfo(Document, frozen=True):
    """One learnable tensor under one name; a tied tensor has one entry for each of its names.

    ``symbolic_shape`` writes each dimension in the configuration's symbols where it is known.
    ``tied_to`` is the first name of the same tensor, ``None`` for the first name itself.
    """

    JSON = "name shape symbolic_shape numel dtype trainable tied_to"

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
