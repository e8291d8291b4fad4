"""Statistics of a module's output token by token: sums of each row, which any choice merges."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bertviewer.core.activations.statistics import Statistics


@dataclass(frozen=True, slots=True, eq=False)
class TokenStatistics:
    """The sums of each token's vector, as in ``Statistics``.

    Attributes:
        width: elements of one vector.
        sums: [8, S]. Counts of NaN, of Inf and of zeros; the sum of the finite elements, and of
            their squared distances to their mean; the smallest of them, Inf where there is none,
            and the largest, or -Inf; their Euclidean norm.
        exponents: [S]: the sum and the norm of a row are in units of 2 to this power, its squares
            in those of twice that; ``None`` but for float64 of extreme sizes.
    """

    width: int
    sums: NDArray[np.float64]
    exponents: NDArray[np.intc] | None = None

    @property
    def norms(self) -> NDArray[np.float64]:
        """The Euclidean norms of the finite elements: [S]; Inf where no float is so large."""
        norms: NDArray[np.float64] = self.sums[-1]
        if self.exponents is None:
            return norms
        with np.errstate(over="ignore"):
            return np.ldexp(norms, self.exponents)

    def __len__(self) -> int:
        """Return the number of tokens."""
        return int(self.sums.shape[1])

    def of(self, tokens: Sequence[int]) -> Statistics:
        """Return the statistics of these tokens' vectors taken together."""
        places = np.asarray(tokens, dtype=np.intp)
        nan, inf, zeros, totals, deviations, mins, maxs, _ = self.sums[:, places]
        exponent = 0
        if self.exponents is not None and len(places):
            # The largest unit: what is too small for it is nothing beside the others.
            own = self.exponents[places]
            exponent = int(own.max())
            totals = np.ldexp(totals, own - exponent)
            deviations = np.ldexp(deviations, 2 * (own - exponent))
        finite, total = self.width - nan - inf, float(totals.sum())
        # Each vector spreads about its own mean, and these about the mean of all.
        apart = totals / np.maximum(1, finite) - total / max(1, finite.sum())
        low, high = float(mins.min(initial=np.inf)), float(maxs.max(initial=-np.inf))
        return Statistics(
            count=self.width * len(tokens),
            nan_count=int(nan.sum()),
            inf_count=int(inf.sum()),
            zero_count=int(zeros.sum()),
            total=total,
            deviations=float((deviations + finite * apart**2).sum()),
            min=low if low < np.inf else None,
            max=high if high > -np.inf else None,
            exponent=exponent,
        )
