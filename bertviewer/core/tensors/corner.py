"""The first and the last rows and columns of a tensor: as much of it as a page has room for."""

from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from bertviewer.core.tensors.matrix import Matrix
from bertviewer.core.tensors.named_values import NamedValues

ENDS = 4, 2
"""So many rows, and as many columns, at the beginning and at the end."""


class Corner(Struct, frozen=True, eq=False):
    """Numbers of a tensor, of its first matrix where it is one of several.

    Attributes:
        name: what the tensor is called.
        shape: all of its dimensions.
        dtype: the type of its elements.
        rows, columns: which of the matrix's these are.
        tokens: the run's tokens that the rows are, "" for each where they are none.
        values: [rows, columns].
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    rows: tuple[int, ...]
    columns: tuple[int, ...]
    tokens: tuple[str, ...]
    values: NDArray[np.floating[Any]]


def corner_of(named: NamedValues, ends: tuple[int, int] = ENDS) -> Corner:
    """Return the beginning and the end of a tensor's rows and columns.

    Of a vector, and of a batch of them, the elements are columns of one row.
    """
    values = named.values
    matrix = Matrix(values, (0,) * max(0, len(values.shape) - 2))
    is_vector = len(values.shape) < 2
    height, width = matrix.shape[::-1] if is_vector else matrix.shape
    rows, columns = ends_of(height, ends), ends_of(width, ends)
    axis = named.axes[0]
    has_tokens = axis.kind == "token" and not is_vector
    found = np.array(
        [
            [
                matrix.block(*(((c, c + 1), (r, r + 1)) if is_vector else ((r, r + 1), (c, c + 1))))
                for c in columns
            ]
            for r in rows
        ],
        dtype=np.float64,
    ).reshape(len(rows), len(columns))
    return Corner(
        values.name,
        values.shape,
        values.dtype,
        rows,
        columns,
        tuple(axis.names.names[row] if has_tokens else "" for row in rows),
        found,
    )


def ends_of(size: int, ends: tuple[int, int] = ENDS) -> tuple[int, ...]:
    """Return which of so many are shown."""
    first, last = ends
    # One that is left out would take no more room than the dots.
    if size <= first + last + 1:
        return tuple(range(size))
    return (*range(first), *range(size - last, size))
