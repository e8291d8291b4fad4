"""What of a tensor is looked at, and what its rows are called."""

from bertviewer.core.frozen import frozen
from bertviewer.core.tensors.matrix import Matrix
from bertviewer.core.tensors.token_index import TokenIndex


@frozen(eq=False)
class TensorPart:
    """A tensor or a slice of it; ``tokens`` has what the tensor's rows stand for, or nothing."""

    matrix: Matrix
    tokens: TokenIndex

    @property
    def is_vector(self) -> bool:
        """Whether it has just one column or one row."""
        return min(self.matrix.shape) <= 1

    def row_name(self, row: int) -> str:
        """Return the token that a row stands for, "" if it stands for none."""
        number = self.matrix.row_span[0] + row
        return self.tokens.names[number] if number < len(self.tokens) else ""
