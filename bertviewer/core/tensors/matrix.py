"""Matrix views of a tensor: a slice along its last two dimensions, as stored and as displayed."""

from collections.abc import Iterator, Mapping
from math import prod

import numpy as np
from msgspec import Struct, field

from bertviewer.core.checkpoints.reading import Span, Values
from bertviewer.core.tensors.axes import Axis
from bertviewer.core.tensors.values import TensorValues

TILE = 1 << 20
"""Maximum elements in memory while a whole tensor is processed."""


class Matrix(Struct, frozen=True):
    """A slice of a tensor along its last two dimensions.

    A vector is one column, a scalar one cell.

    Attributes:
        values: the tensor.
        leading: the indices in all dimensions before the last two.
        rows: the range of rows, ``None`` for all.
        columns: the range of columns, ``None`` for all.
    """

    values: TensorValues
    leading: tuple[int, ...] = ()
    rows: Span | None = None
    columns: Span | None = None

    def __post_init__(self) -> None:
        if len(self.leading) != max(0, len(self.values.shape) - 2):
            raise ValueError(f"{self.leading} does not select a matrix of {self.values.shape}")
        for span, size in zip((self.rows, self.columns), self._whole, strict=True):
            if span is not None and not 0 <= span[0] <= span[1] <= size:
                raise ValueError(f"{span} is not within {size}")

    @property
    def row_span(self) -> Span:
        """The range of the tensor's rows."""
        return self.rows or (0, self._whole[0])

    @property
    def column_span(self) -> Span:
        """The range of the tensor's columns."""
        return self.columns or (0, self._whole[1])

    @property
    def _whole(self) -> tuple[int, int]:
        """Rows and columns of the tensor."""
        shape = self.values.shape
        if 0 in shape[:-2]:
            return 0, shape[-1]
        return (shape[-2], shape[-1]) if len(shape) > 1 else (prod(shape), 1)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the slice."""
        rows, columns = self.row_span, self.column_span
        return rows[1] - rows[0], columns[1] - columns[0]

    @property
    def is_whole(self) -> bool:
        """Whether the slice is the whole tensor."""
        return prod(self.shape) == prod(self.values.shape)

    def block(self, rows: Span, columns: Span | None = None) -> Values:
        """Return a block; rows and columns count from the start of this slice.

        Raises:
            UserError: the file is no longer readable.
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
        """Yield the tiles of a region, by default of the whole slice: at most ``TILE`` elements."""
        top, bottom = rows or (0, self.shape[0])
        left, right = columns or (0, self.shape[1])
        if top == bottom or left == right:
            return
        wide = min(right - left, TILE)
        tall = max(1, TILE // wide)
        for row in range(top, bottom, tall):
            for column in range(left, right, wide):
                yield (row, min(row + tall, bottom)), (column, min(column + wide, right))


class TensorPart(Struct, frozen=True, eq=False):
    """A matrix as it is displayed, in lines and columns: a single row becomes one column.

    Attributes:
        matrix: the displayed slice.
        rows: the axis of the tensor's rows.
        columns: the axis of the tensor's columns.
        interleaved: slices of the same size by title, shown in place of the matrix.
        metadata: written to a safetensors file.
    """

    matrix: Matrix
    rows: Axis = field(default_factory=Axis)
    columns: Axis = field(default_factory=Axis)
    interleaved: Mapping[str, Matrix] = field(default_factory=dict)
    metadata: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_vector(self) -> bool:
        """Whether there is only one row or one column."""
        return min(self.matrix.shape) <= 1

    @property
    def is_transposed(self) -> bool:
        """Whether the only row is displayed as a column."""
        rows, columns = self.matrix.shape
        return rows == 1 < columns

    @property
    def down(self) -> Axis:
        """The axis of lines."""
        return self.columns if self.is_transposed else self.rows

    @property
    def across(self) -> Axis:
        """The axis of columns."""
        return self.rows if self.is_transposed else self.columns

    @property
    def _each(self) -> int:
        """Displayed columns of each column of the matrix."""
        return len(self.interleaved) or 1

    @property
    def shape(self) -> tuple[int, int]:
        """Lines and columns."""
        rows, columns = self.matrix.shape
        return (columns, self._each) if self.is_transposed else (rows, columns * self._each)

    @property
    def first_line(self) -> int:
        """The first line's index in the tensor."""
        return (self.matrix.column_span if self.is_transposed else self.matrix.row_span)[0]

    def cell(self, line: int, column: int) -> tuple[int, int]:
        """Return the matrix's row and column that are displayed at a line and column."""
        across = column // self._each
        return (across, line) if self.is_transposed else (line, across)

    def position(self, row: int, column: int) -> tuple[int, int]:
        """Return the line and the first column that display a cell of the matrix."""
        line, across = (column, row) if self.is_transposed else (row, column)
        return line, across * self._each

    def block(self, lines: Span, columns: Span) -> Values:
        """Return a block as it is displayed.

        Raises:
            UserError: the file is no longer readable.
        """
        each = self._each
        across = columns[0] // each, -(-columns[1] // each)
        blocks = [
            matrix.block(across, lines).T if self.is_transposed else matrix.block(lines, across)
            for matrix in self.interleaved.values() or (self.matrix,)
        ]
        if each == 1:
            return blocks[0]
        # Interleaved by element.
        found: Values = np.stack(blocks, axis=-1).reshape(lines[1] - lines[0], -1)
        first = columns[0] - across[0] * each
        return found[:, first : first + columns[1] - columns[0]]

    def row_name(self, row: int) -> str:
        """Return the token of a row of the matrix, "" without one."""
        return self.rows.name(self.matrix.row_span[0] + row)

    def line_name(self, line: int) -> str:
        """Return the token of a line, "" without one."""
        return self.down.name(self.first_line + line)

    def column_title(self, column: int) -> str:
        """Return a column's header: index and token, or the title of an interleaved slice."""
        span = self.matrix.row_span if self.is_transposed else self.matrix.column_span
        index = span[0] + column // self._each
        if not self.interleaved:
            return " ".join(filter(None, (str(index), self.across.name(index))))
        title = list(self.interleaved)[column % self._each]
        return title if self.is_transposed else f"{index} {title}"
