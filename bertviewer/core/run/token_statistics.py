"""Statistics of a module's output token by token: sums of each row, which any choice merges."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bertviewer.core.run.statistics import Statistics


@dataclass(frozen=True, slots=True, eq=False)
class TokenStatistics:
    """The sums of each token's vector in float64, as in ``Statistics``: arrays [S].

    Attributes:
        width: elements of one vector.
        nan_counts: elements that are NaN.
        inf_counts: elements that are infinite.
        zero_counts: elements that are exactly zero.
        totals: sums of the finite elements.
        deviations: sums of their squared distances to their mean.
        mins: smallest finite elements, Inf where there is none.
        maxs: largest ones, -Inf where there is none.
    """

    width: int
    nan_counts: NDArray[Any]
    inf_counts: NDArray[Any]
    zero_counts: NDArray[Any]
    totals: NDArray[Any]
    deviations: NDArray[Any]
    mins: NDArray[Any]
    maxs: NDArray[Any]

    @property
    def norms(self) -> NDArray[np.float64]:
        """The Euclidean norms of the finite elements."""
        norms: NDArray[np.float64] = np.sqrt(self.deviations + self._finite * self._means**2)
        return norms

    @property
    def _finite(self) -> NDArray[Any]:
        finite: NDArray[Any] = self.width - self.nan_counts - self.inf_counts
        return finite

    @property
    def _means(self) -> NDArray[np.float64]:
        means: NDArray[np.float64] = self.totals / np.maximum(1, self._finite)
        return means

    def __len__(self) -> int:
        """Return the number of tokens."""
        return len(self.totals)

    def of(self, tokens: Sequence[int]) -> Statistics:
        """Return the statistics of these tokens' vectors taken together."""
        chosen = np.asarray(tokens, dtype=np.intp)
        finite, total = self._finite[chosen], float(self.totals[chosen].sum())
        # Each vector spreads about its own mean, and these about the mean of all.
        apart = self._means[chosen] - total / max(1, finite.sum())
        low = float(self.mins[chosen].min(initial=np.inf))
        high = float(self.maxs[chosen].max(initial=-np.inf))
        return Statistics(
            count=self.width * len(chosen),
            nan_count=int(self.nan_counts[chosen].sum()),
            inf_count=int(self.inf_counts[chosen].sum()),
            zero_count=int(self.zero_counts[chosen].sum()),
            total=total,
            deviations=float((self.deviations[chosen] + finite * apart**2).sum()),
            min=low if low < np.inf else None,
            max=high if high > -np.inf else None,
        )
