"""The part of a tensor that is looked at, as rows and columns."""

from collections.abc import Iterator
from math import prod

import numpy as np
from msgspec import Struct

from bertviewer.core.checkpoints.decoding import Values
from bertviewer.core.checkpoints.reading import Span
from bertviewer.core.tensors.values import TensorValues

TILE = 1 << 20
"""The most elements that work on a whole tensor has in memory at once."""


class Matrix(Struct, frozen=True):
    """A slice of a tensor along its last two dimensions.

    A vector is one column; a scalar one cell.

    Attributes:
        values: the tensor.
        leading: the indices in all dimensions before the last two.
        rows: which of the rows, ``None`` for all.
        columns: which of the columns, ``None`` for all.
    """

    values: TensorValues
    leading: tuple[int, ...] = ()
    rows: Span | None = None
    columns: Span | None = None

    def __post_init__(self) -> None:
        if len(self.leading) != max(0, len(self.values.shape) - 2):
            raise ValueError(f"{self.leading} leads to no matrix of {self.values.shape}")
        whole = self._whole
        for span, size in zip((self.rows, self.columns), whole, strict=True):
            if span is not None and not 0 <= span[0] <= span[1] <= size:
                raise ValueError(f"there are no {span} of {size}")

    @property
    def row_span(self) -> Span:
        """The rows of the tensor's that these are."""
        return self.rows or (0, self._whole[0])

    @property
    def column_span(self) -> Span:
        """The columns of the tensor's that these are."""
        return self.columns or (0, self._whole[1])

    @property
    def _whole(self) -> tuple[int, int]:
        """Rows and columns that there are."""
        shape = self.values.shape
        if 0 in shape[:-2]:
            return 0, shape[-1]  # nothing leads to a matrix
        return (shape[-2], shape[-1]) if len(shape) > 1 else (prod(shape), 1)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        rows, columns = self.row_span, self.column_span
        return rows[1] - rows[0], columns[1] - columns[0]

    @property
    def is_whole(self) -> bool:
        """Whether this is all of the tensor."""
        return prod(self.shape) == prod(self.values.shape)

    def block(self, rows: Span, columns: Span | None = None) -> Values:
        """Return a part, its rows and columns counted from the first one of this slice.

        Raises:
            UserError: the file cannot be read any more.
        """
        columns = columns or (0, self.shape[1])
        shape = self.values.shape
        before = 0
        if self.leading and 0 not in shape:
            before = int(np.ravel_multi_index(self.leading, shape[:-2])) * shape[-2]
        down, right = before + self.row_span[0], self.column_span[0]
        return self.values.block(
            (down + rows[0], down + rows[1]), (right + columns[0], right + columns[1])
        )

    def index(self, row: int, column: int) -> tuple[int, ...]:
        """Return a cell's index in the tensor."""
        own = (self.row_span[0] + row, self.column_span[0] + column)
        return (*self.leading, *own)[: len(self.values.shape)]

    def tiles(
        self, rows: Span | None = None, columns: Span | None = None
    ) -> Iterator[tuple[Span, Span]]:
        """Yield parts of a region, of this whole slice at first, with at most ``TILE`` elements."""
        top, bottom = rows or (0, self.shape[0])
        left, right = columns or (0, self.shape[1])
        if top == bottom or left == right:
            return
        wide = min(right - left, TILE)
        tall = max(1, TILE // wide)
        for row in range(top, bottom, tall):
            for column in range(left, right, wide):
                yield (row, min(row + tall, bottom)), (column, min(column + wide, right))
