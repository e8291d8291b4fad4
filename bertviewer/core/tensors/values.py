"""Values of a tensor: in a file or in memory, read block by block, and with named axes.

Blocks are [rows, columns]: the last dimension is the columns, all others together are the rows; a
vector is one column (``matrix_shape``).
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Literal, Protocol

import numpy as np
from msgspec import Struct, field

from bertviewer.core.checkpoints.decoding import Values, decode
from bertviewer.core.checkpoints.reading import Span, matrix_shape, read_block
from bertviewer.core.checkpoints.stored import TORCH_NAMES, StoredTensor
from bertviewer.core.tensors.axes import Axis


class Origin(Struct, frozen=True):
    """The origin of values.

    Attributes:
        kind: "file" for a checkpoint, "drawn" for random initialisation, "run" for an input or
            output of a module, "check" for a recomputed one.
        file: the file, ``None`` for values in memory.
        key: the tensor's name in the file; the module in a run.
        of_random: whether random weights were involved.
    """

    kind: Literal["file", "drawn", "run", "check"]
    file: Path | None = None
    key: str = ""
    of_random: bool = False

    @property
    def is_random(self) -> bool:
        """Whether the values depend on random weights."""
        return self.kind == "drawn" or self.of_random


class TensorValues(Protocol):
    """A tensor whose values are read block by block."""

    @property
    def name(self) -> str:
        """The parameter's name."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Its dimensions."""

    @property
    def dtype(self) -> str:
        """The stored type of its elements, by torch's name."""

    @property
    def origin(self) -> Origin:
        """The origin of the values."""

    def block(self, rows: Span, columns: Span) -> Values:
        """Return a block [rows, columns]; floats of 16 and 8 bits as float32.

        Raises:
            UserError: the file is no longer readable.
        """


class FileValues(Struct, frozen=True):
    """A tensor in a checkpoint file, which is read for every block."""

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
        """Read a block; see ``TensorValues``."""
        return read_block(self.stored, rows, columns)


class MemoryValues(Struct, frozen=True, eq=False):
    """A tensor in memory.

    Attributes:
        name: the parameter's name.
        shape: its dimensions.
        dtype: the type of its elements, by torch's name.
        origin: the origin of the values.
        elements: [rows, columns], shared with the model; bfloat16 as integers of 16 bits.
        code: safetensors' name of the dtype if the elements are its bits, else "".
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
        """Return a copy of a block."""
        part = self.elements[rows[0] : rows[1], columns[0] : columns[1]]
        if self.code:
            return decode(part.tobytes(), self.code).reshape(part.shape)
        return part.copy()


class Difference(Struct, frozen=True, eq=False):
    """The given values minus the recomputed ones in float64, computed block by block."""

    name: str
    given: TensorValues
    recomputed: TensorValues
    dtype: str = "float64"

    @property
    def shape(self) -> tuple[int, ...]:
        """The dimensions of both."""
        return self.given.shape

    @property
    def origin(self) -> Origin:
        """The origin of the recomputed values."""
        return self.recomputed.origin

    def block(self, rows: Span, columns: Span) -> Values:
        """Return a block; 0 where both are NaN or the same infinity."""
        given, found = (
            each.block(rows, columns).astype(np.float64) for each in (self.given, self.recomputed)
        )
        with np.errstate(invalid="ignore"):
            difference: Values = given - found
        difference[(given == found) | (np.isnan(given) & np.isnan(found))] = 0.0
        return difference


class Worst(Struct, frozen=True):
    """The element that decides a check.

    Attributes:
        index: its index in the tensor.
        difference: given minus recomputed; NaN if only one of them is a number.
        tolerance: the allowed difference.
    """

    index: tuple[int, ...]
    difference: float
    tolerance: float


class NamedValues(Struct, frozen=True, eq=False):
    """A tensor's values with axes and metadata.

    Attributes:
        values: the values.
        axes: the second last and the last dimension; a vector's axis comes first.
        metadata: written to a safetensors file.
        beside: tensors of the same shape by name, shown element by element in place of ``values``.
        worst: the element that decides a check, if these values are from one.
    """

    values: TensorValues
    axes: tuple[Axis, Axis] = (Axis(), Axis())
    metadata: Mapping[str, str] = field(default_factory=dict)
    beside: Mapping[str, TensorValues] = field(default_factory=dict)
    worst: Worst | None = None
