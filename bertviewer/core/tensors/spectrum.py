"""Singular values as plain data, and what they tell of a rank."""

import math

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

SHARE = 0.9

_FLOAT64, _FLOAT32 = float(np.finfo(np.float64).eps), float(np.finfo(np.float32).eps)
_EPSILONS = {
    "float32": _FLOAT32,
    "float16": 2**-10,
    "bfloat16": 2**-7,
    "float8_e4m3fn": 2**-3,
    "float8_e4m3fnuz": 2**-3,
    "float8_e5m2": 2**-2,
    "float8_e5m2fnuz": 2**-2,
}
"""The distance from 1 to the next number; what is no float was not rounded."""


class Spectrum(Struct, frozen=True, eq=False):
    """Singular values in descending order, and figures of them; ``None`` where all are 0.

    Attributes:
        values: as many as the smaller side of the matrix has rows.
        longer: the length of the other side.
        dtype: the type of the matrix's elements, by torch's name: it says how they were rounded.
    """

    values: NDArray[np.float64]
    longer: int
    dtype: str = "float64"

    @property
    def largest(self) -> float:
        """The spectral norm."""
        return float(self.values[0])

    @property
    def norm(self) -> float:
        """The Frobenius norm: the root of the sum of all squares."""
        # By the largest, as its own square may be too large or too small for float64.
        return self.largest * math.sqrt(self.stable_rank or 0.0)

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
    def rank(self) -> int:
        """How many values are more than rounding can leave of a 0.

        The bound is numpy's: the largest by epsilon and by the longer side of the matrix, with
        float32's epsilon for elements of 32 bits or fewer. Shorter floats are computed in float32
        and then rounded: that moves each by half an epsilon, and so no singular value by more than
        that part of the Frobenius norm.
        """
        epsilon = _EPSILONS.get(self.dtype, _FLOAT64)
        bound = self.largest * self.longer * min(epsilon, _FLOAT32)
        if epsilon > _FLOAT32:
            bound = max(bound, self.norm * epsilon / 2)
        return int(np.count_nonzero(self.values > bound))

    @property
    def condition(self) -> float | None:
        """The largest by the smallest value; ``None`` if the rank is not full."""
        return self.largest / float(self.values[-1]) if self.rank == len(self.values) else None

    def needed(self, share: float = SHARE) -> int | None:
        """Return how many values hold this share of the sum of all squares."""
        if not self.largest:
            return None
        squares = np.square(self.values / self.largest).cumsum()
        return int(np.searchsorted(squares, share * squares[-1])) + 1


def cost(shape: tuple[int, int]) -> int:
    """Return about how many multiplications the singular values of a matrix take."""
    rows, columns = shape
    return 4 * rows * columns * min(rows, columns)
