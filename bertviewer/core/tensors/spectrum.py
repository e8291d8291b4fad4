"""Singular values as plain data, and what they tell of a rank."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

SHARE = 0.9


@dataclass(frozen=True, slots=True, eq=False)
class Spectrum:
    """Singular values in descending order, and figures of them; ``None`` where all are 0.

    Attributes:
        values: as many as the smaller side of the matrix has rows.
    """

    values: NDArray[np.float64]

    @property
    def largest(self) -> float:
        """The spectral norm."""
        return float(self.values[0])

    @property
    def norm(self) -> float:
        """The Frobenius norm: the root of the sum of all squares."""
        return float(np.sqrt(np.square(self.values).sum()))

    @property
    def effective_rank(self) -> float | None:
        """Exp of the entropy of the values' shares of their sum (Roy & Vetterli 2007)."""
        total = self.values.sum()
        if not total:
            return None
        shares = self.values[self.values > 0] / total
        return float(np.exp(-(shares * np.log(shares)).sum()))

    @property
    def stable_rank(self) -> float | None:
        """The sum of all squares by the largest of them."""
        return float(np.square(self.values / self.largest).sum()) if self.largest else None

    @property
    def condition(self) -> float | None:
        """The largest by the smallest value; ``None`` if that is 0."""
        return self.largest / float(self.values[-1]) if self.values[-1] else None

    def needed(self, share: float = SHARE) -> int | None:
        """Return how many values hold this share of the sum of all squares."""
        squares = np.square(self.values).cumsum()
        if not squares[-1]:
            return None
        return int(np.searchsorted(squares, share * squares[-1])) + 1


def cost(shape: tuple[int, int]) -> int:
    """Return about how many multiplications the singular values of a matrix take."""
    rows, columns = shape
    return 4 * rows * columns * min(rows, columns)
