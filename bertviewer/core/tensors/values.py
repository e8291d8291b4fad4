"""Where a tensor's values are: in a file, or in memory."""

from pathlib import Path
from typing import Literal, Protocol

from msgspec import Struct

from bertviewer.core.checkpoints.decoding import Values, decode
from bertviewer.core.checkpoints.reading import Span, matrix_shape, read_block
from bertviewer.core.checkpoints.stored import TORCH_NAMES, StoredTensor


class Origin(Struct, frozen=True):
    """Where values come from.

    Attributes:
        kind: "file" for what is stored, "drawn" for what was drawn at random, "run" for what a
            module took or gave, "check" for what was recomputed of it.
        file: the file, ``None`` for what is in none.
        key: the tensor's name in the file; the module in a run.
        of_random: whether it was computed with weights that were drawn at random.
    """

    kind: Literal["file", "drawn", "run", "check"]
    file: Path | None = None
    key: str = ""
    of_random: bool = False

    @property
    def is_random(self) -> bool:
        """Whether chance made the values, and no training."""
        return self.kind == "drawn" or self.of_random


class TensorValues(Protocol):
    """A tensor that gives the part of its values that is asked for, as a matrix.

    Its last dimension is the columns, all others together are the rows; see ``matrix_shape``.
    """

    @property
    def name(self) -> str:
        """The parameter's name."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Its dimensions."""

    @property
    def dtype(self) -> str:
        """The type of its elements where they are, by torch's name."""

    @property
    def origin(self) -> Origin:
        """Where they are."""

    def block(self, rows: Span, columns: Span) -> Values:
        """Return a part as [rows, columns]; floats of 16 and 8 bits as float32.

        Raises:
            UserError: the file cannot be read any more.
        """


class FileValues(Struct, frozen=True):
    """The values of a tensor in a file, read whenever they are asked for."""

    name: str
    stored: StoredTensor

    @property
    def shape(self) -> tuple[int, ...]:
        """Its dimensions."""
        return self.stored.shape

    @property
    def dtype(self) -> str:
        """The type of its elements in the file."""
        return TORCH_NAMES[self.stored.dtype]

    @property
    def origin(self) -> Origin:
        """The file."""
        return Origin("file", self.stored.file, self.stored.name)

    def block(self, rows: Span, columns: Span) -> Values:
        """Read a part.

        Raises:
            UserError: the file cannot be read any more.
        """
        return read_block(self.stored, rows, columns)


class MemoryValues(Struct, frozen=True, eq=False):
    """The values of a tensor that lies in memory.

    Attributes:
        name: the parameter's name.
        shape: its dimensions.
        dtype: the type of its elements, by torch's name.
        origin: where they come from.
        elements: [rows, columns], shared with the model; two bytes of bfloat16 are one integer.
        code: safetensors' name of a dtype whose bits the elements are, "" for plain numbers.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    origin: Origin
    elements: Values
    code: str = ""

    def __post_init__(self) -> None:
        if self.elements.shape != matrix_shape(self.shape):
            raise ValueError(f"{self.elements.shape} elements for {self.shape}")

    def block(self, rows: Span, columns: Span) -> Values:
        """Return a copy of a part."""
        part = self.elements[rows[0] : rows[1], columns[0] : columns[1]]
        if self.code:
            return decode(part.tobytes(), self.code).reshape(part.shape)
        return part.copy()
