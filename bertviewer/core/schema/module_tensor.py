"""A tensor that a module took or gave in a run, as plain data: what it is, without its values."""

from math import prod
from typing import Literal

from msgspec import Struct

Side = Literal["input", "output"]


class TensorKey(Struct, frozen=True):
    """Which tensor of a module's call is meant.

    Attributes:
        side: whether the module took or gave it.
        name: the argument's name, or that in the output: ``hidden_states``, ``past.0.1``.
    """

    side: Side
    name: str


class ModuleTensor(Struct, frozen=True):
    """What a module took or gave in one call.

    Attributes:
        key: which tensor it is.
        shape: its dimensions; none where its rows differ.
        dtype: the type of its elements, by torch's name.
        symbolic_shape: the dimensions in letters as far as they are known, else as numbers;
            ``None`` where no letter is known.
        left_out: what it is, in one word, where its values cannot be shown, as "complex64".
    """

    key: TensorKey
    shape: tuple[int, ...]
    dtype: str
    symbolic_shape: tuple[str, ...] | None = None
    left_out: str = ""

    @property
    def numel(self) -> int:
        """How many elements it has."""
        return prod(self.shape)
