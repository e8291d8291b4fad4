"""Values of a tensor: in a file or in memory, read block by block, and with named axes.

Blocks are [rows, columns]: the last dimension is the columns, all others together are the rows; a
vector is one column (``matrix_shape``).
"""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np
from msgspec import Struct, field

from bertviewer.core.checkpoints.reading import (
    Span,
    Values,
    decode_values,
    matrix_shape,
    read_block,
)
from bertviewer.core.checkpoints.stored import TORCH_NAMES, StoredTensor
from bertviewer.core.tensors.axes import Axis


class Origin(Struct, frozen=True):
    """The origin of values.

    Attributes:
        kind: "file" for a checkpoint, "drawn" for random weights, "run" for an input or
            output of a module, "check" for a recomputed one.
        file: the file, ``None`` for values in memory.
        key: the tensor's name in the file; the module in a run.
        has_random_weights: whether random weights were involved.
    """

    kind: Literal["file", "drawn", "run", "check"]
    file: Path | None = None
    key: str = ""
    has_random_weights: bool = False

    @property
    def is_random(self) -> bool:
        """Whether the values depend on random weights."""
        return self.kind == "drawn" or self.has_random_weights


class TensorValues(Struct, frozen=True, eq=False):
    """A tensor whose values are read block by block.

    Attributes:
        name: the parameter's name.
        shape: its dimensions.
        dtype: the stored type of its elements, by torch's name.
        origin: the origin of the values.
        block: returns the values of a range of rows and columns, with floats of 16 and 8 bits as
            float32; raises ``UserError`` if the file is no longer readable.
        elements: [rows, columns], the memory that is read; ``None`` for a file.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    origin: Origin
    block: Callable[[Span, Span], Values]
    elements: Values | None = None

    def __eq__(self, other: object) -> bool:
        """Return whether both are one object, or read the same tensor of the same file."""
        if not isinstance(other, TensorValues):
            return NotImplemented
        own, theirs = ((it.name, it.shape, it.dtype, it.origin) for it in (self, other))
        return self is other or (self.origin.kind == "file" and own == theirs)

    __hash__ = object.__hash__


def file_values(name: str, stored: StoredTensor) -> TensorValues:
    """Return a tensor in a checkpoint file, which is read for every block."""
    origin = Origin("file", stored.file, stored.name)
    dtype = TORCH_NAMES[stored.dtype]
    return TensorValues(name, stored.shape, dtype, origin, partial(read_block, stored))


def memory_values(  # noqa: PLR0917
    name: str,
    shape: tuple[int, ...],
    dtype: str,
    origin: Origin,
    elements: Values,
    code: str = "",
) -> TensorValues:
    """Return a tensor in memory; its blocks are copies.

    Args:
        name: the parameter's name.
        shape: its dimensions.
        dtype: the type of its elements, by torch's name.
        origin: the origin of the values.
        elements: [rows, columns], shared with the model; bfloat16 as integers of 16 bits.
        code: safetensors' name of the dtype if the elements are its bits, else "".
    """
    if elements.shape != matrix_shape(shape):
        raise ValueError(f"{elements.shape} elements for {shape}")

    def block(rows: Span, columns: Span) -> Values:
        part = elements[slice(*rows), slice(*columns)]
        return decode_values(part.tobytes(), code).reshape(part.shape) if code else part.copy()

    return TensorValues(name, shape, dtype, origin, block, elements)


def difference(given: TensorValues, recomputed: TensorValues) -> TensorValues:
    """Return given minus recomputed values in float64, computed block by block.

    It is 0 where both are NaN or the same infinity.
    """

    def block(rows: Span, columns: Span) -> Values:
        one, other = (it.block(rows, columns).astype(np.float64) for it in (given, recomputed))
        with np.errstate(invalid="ignore"):
            found: Values = one - other
        found[(one == other) | (np.isnan(one) & np.isnan(other))] = 0.0
        return found

    return TensorValues(given.name, given.shape, "float64", recomputed.origin, block)


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
        interleaved: tensors of the same shape by name, shown in place of ``values``.
        worst: the element that decides a check, if these values are from one.
    """

    values: TensorValues
    axes: tuple[Axis, Axis] = (Axis(), Axis())
    metadata: Mapping[str, str] = field(default_factory=dict)
    interleaved: Mapping[str, TensorValues] = field(default_factory=dict)
    worst: Worst | None = None
