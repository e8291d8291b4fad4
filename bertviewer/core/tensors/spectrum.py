"""Singular values of a matrix, its norms and ranks."""

import math

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from bertviewer.core.checkpoints.reading import Span
from bertviewer.core.tensors.matrix import TILE, Matrix
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.progress import Progress, no_progress

SHARE = 0.9
"""Default share of the sum of squares for ``rank_for_share``."""
MAX_SIDE = 8192
"""Maximum length of the smaller side: its square has to fit into memory."""

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
"""Machine epsilons; other types are not rounded."""


class Spectrum(Struct, frozen=True, eq=False):
    """Singular values in descending order, and quantities derived from them.

    These are ``None`` if all values are 0.

    Attributes:
        values: as many as the smaller side of the matrix.
        longer: the length of the longer side.
        dtype: the type of the matrix's elements by torch's name, which determines their rounding.
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
        """The Frobenius norm: the square root of the sum of all squares."""
        # Relative to the largest, whose own square may overflow or vanish.
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
        """The sum of all squares divided by the largest square."""
        return float(np.square(self.values / self.largest).sum()) if self.largest else None

    @property
    def rank(self) -> int:
        """The number of values larger than rounding can make of a 0.

        The bound is numpy's: largest value × epsilon × longer side, with float32's epsilon for
        elements of 32 bits or fewer. Shorter floats are computed in float32 and then rounded, each
        by at most half an epsilon, which changes a singular value by at most that fraction of the
        Frobenius norm.
        """
        epsilon = _EPSILONS.get(self.dtype, _FLOAT64)
        bound = self.largest * self.longer * min(epsilon, _FLOAT32)
        if epsilon > _FLOAT32:
            bound = max(bound, self.norm * epsilon / 2)
        return int(np.count_nonzero(self.values > bound))

    @property
    def condition(self) -> float | None:
        """The largest divided by the smallest value; ``None`` if the rank is not full."""
        return self.largest / float(self.values[-1]) if self.rank == len(self.values) else None

    def rank_for_share(self, share: float = SHARE) -> int | None:
        """Return how many values have this share of the sum of all squares."""
        if not self.largest:
            return None
        squares = np.square(self.values / self.largest).cumsum()
        return int(np.searchsorted(squares, share * squares[-1])) + 1


def singular_values(matrix: Matrix, progress: Progress = no_progress, label: str = "") -> Spectrum:
    """Compute the singular values in float64.

    A long matrix is first reduced, block by block, to the triangular factor of its QR
    decomposition, which has the same singular values.

    Raises:
        UserError: there are NaN, Inf or no elements, the values exceed float64, or the file is no
            longer readable.
        Cancelled: by ``progress``.
    """
    height, width = matrix.shape
    name = matrix.values.name
    if not height or not width:
        raise UserError(f"{name} has no elements and therefore no singular values")
    if min(height, width) > MAX_SIDE:
        raise UserError(
            f"{name} is too large for singular values: {height:,} × {width:,}; its "
            f"shorter side may have at most {MAX_SIDE:,} elements"
        )
    short, long = sorted((height, width))
    step = long if long <= 2 * short else max(short, TILE // short)
    starts = range(0, long, step)
    factor = np.zeros((0, short))
    for number, start in enumerate(starts):
        progress(number, len(starts) + 1, label)
        factor = np.concatenate((factor, _float64(matrix, (start, min(start + step, long)))))
        if len(starts) > 1:
            factor = np.asarray(np.linalg.qr(factor, mode="r"))
    progress(len(starts), len(starts) + 1, label)
    found = np.full(short, np.nan)
    if np.isfinite(factor).all():
        found = np.linalg.svd(factor, compute_uv=False)
    if not np.isfinite(found).all():
        raise UserError(f"{name} has singular values that are too large for float64")
    return Spectrum(found, long, matrix.values.dtype)


def svd_cost(shape: tuple[int, int]) -> int:
    """Return the approximate multiplications that the singular values of a matrix take."""
    rows, columns = shape
    return 4 * rows * columns * min(rows, columns)


def _float64(matrix: Matrix, span: Span) -> NDArray[np.float64]:
    """Return rows of the longer side, transposed if that is the columns: [span, shorter side]."""
    height, width = matrix.shape
    values = matrix.block(span) if height >= width else matrix.block((0, height), span).T
    values = values.astype(np.float64, order="C")
    if not np.isfinite(values).all():
        raise UserError(
            f"{matrix.values.name} contains NaN or Inf and therefore has no singular values"
        )
    return values
