"""What of a tensor is looked at, and what its rows and columns are called."""

from collections.abc import Mapping

import numpy as np
from msgspec import Struct, field

from bertviewer.core.checkpoints.decoding import Values
from bertviewer.core.checkpoints.reading import Span
from bertviewer.core.tensors.matrix import Matrix
from bertviewer.core.tensors.named_values import Axis
from bertviewer.core.tensors.token_index import TokenIndex


class TensorPart(Struct, frozen=True, eq=False):
    """A tensor or a slice of it, as it is read: a single row is read downwards, as a column.

    Attributes:
        matrix: what all views show.
        rows: what the tensor's rows count.
        columns: what its columns count.
        beside: slices of the same size by title, read element by element in place of the matrix.
        metadata: what a file says of it.
    """

    matrix: Matrix
    rows: Axis = field(default_factory=Axis)
    columns: Axis = field(default_factory=Axis)
    beside: Mapping[str, Matrix] = field(default_factory=dict)
    metadata: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_vector(self) -> bool:
        """Whether it has just one column or one row."""
        return min(self.matrix.shape) <= 1

    @property
    def is_turned(self) -> bool:
        """Whether its one row is read as a column."""
        rows, columns = self.matrix.shape
        return rows == 1 < columns

    @property
    def down(self) -> Axis:
        """What is counted from line to line."""
        return self.columns if self.is_turned else self.rows

    @property
    def across(self) -> Axis:
        """What is counted from column to column."""
        return self.rows if self.is_turned else self.columns

    @property
    def shape(self) -> tuple[int, int]:
        """Lines and columns as they are read."""
        rows, columns = self.matrix.shape
        each = len(self.beside) or 1
        return (columns, each) if self.is_turned else (rows, columns * each)

    @property
    def first_line(self) -> int:
        """The index in the tensor of the first line."""
        return (self.matrix.column_span if self.is_turned else self.matrix.row_span)[0]

    def cell(self, line: int, column: int) -> tuple[int, int]:
        """Return the row and the column of the matrix that are read at a place."""
        across = column // (len(self.beside) or 1)
        return (across, line) if self.is_turned else (line, across)

    def place(self, row: int, column: int) -> tuple[int, int]:
        """Return the line and the column at which a cell of the matrix is read first."""
        line, across = (column, row) if self.is_turned else (row, column)
        return line, across * (len(self.beside) or 1)

    def block(self, lines: Span, columns: Span) -> Values:
        """Return a part as it is read.

        Raises:
            UserError: the file cannot be read any more.
        """
        each = len(self.beside) or 1
        across = columns[0] // each, -(-columns[1] // each)
        blocks = [
            matrix.block(across, lines).T if self.is_turned else matrix.block(lines, across)
            for matrix in self.beside.values() or (self.matrix,)
        ]
        if each == 1:
            return blocks[0]
        # Those of one element side by side.
        found: Values = np.stack(blocks, axis=-1).reshape(lines[1] - lines[0], -1)
        first = columns[0] - across[0] * each
        return found[:, first : first + columns[1] - columns[0]]

    def row_name(self, row: int) -> str:
        """Return the token that a row of the matrix stands for, "" if it stands for none."""
        return _name(self.rows.names, self.matrix.row_span[0] + row)

    def line_name(self, line: int) -> str:
        """Return what a line stands for, as a token; "" if that is not known."""
        return _name(self.down.names, self.first_line + line)

    def column_name(self, column: int) -> str:
        """Return what the element of a column stands for across, likewise."""
        span = self.matrix.row_span if self.is_turned else self.matrix.column_span
        return _name(self.across.names, span[0] + column // (len(self.beside) or 1))

    def column_title(self, column: int) -> str:
        """Return what stands above a column: its index and its token, or what of several it is."""
        each = len(self.beside) or 1
        span = self.matrix.row_span if self.is_turned else self.matrix.column_span
        index = str(span[0] + column // each)
        if not self.beside:
            return " ".join(filter(None, (index, self.column_name(column))))
        title = list(self.beside)[column % each]
        return title if self.is_turned else f"{index} {title}"


def _name(names: TokenIndex, index: int) -> str:
    return names.names[index] if index < len(names) else ""
