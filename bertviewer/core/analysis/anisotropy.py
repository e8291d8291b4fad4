"""How alike all vectors of a hidden state are, and which features make them so.

The mean cosine of two different tokens is a sum over the features: with u the vectors at length 1,
it is the sum over d of the mean of u_i[d] u_j[d] over all pairs i ≠ j. So each feature has a part
of it (Timkey and van Schijndel 2021, "All Bark and No Bite", section 3.1).
"""

from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from bertviewer.core.analysis.similarity import unit_vectors


class Anisotropy(Struct, frozen=True, eq=False):
    """How alike the tokens of a hidden state are.

    Attributes:
        mean: the mean cosine of two different tokens.
        parts: what each feature adds to it: [D], with the sum ``mean``.
    """

    mean: float
    parts: NDArray[np.float64]

    def largest(self, count: int) -> tuple[int, ...]:
        """Return the features that add most, the first of equal ones first."""
        return tuple(np.argsort(-self.parts, kind="stable")[:count].tolist())

    def share(self, features: tuple[int, ...]) -> float:
        """Return what part of the mean some features make; more than 1 where others lower it."""
        return float(self.parts[list(features)].sum()) / self.mean


def anisotropy(state: NDArray[np.floating[Any]]) -> Anisotropy | None:
    """Return how alike the vectors [S, D] are; ``None`` with fewer than two that have a direction.

    No pair is formed: it takes as long as reading the state.
    """
    units, is_defined = unit_vectors(state)
    count = int(is_defined.sum())
    if count < 2:
        return None
    # Those without a direction are 0, and add nothing.
    parts = (units.sum(axis=0) ** 2 - np.square(units).sum(axis=0)) / (count * (count - 1))
    return Anisotropy(float(parts.sum()), parts)
