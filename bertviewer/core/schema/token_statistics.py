"""Statistics of a module's output token by token: sums of each row, which any choice merges."""

from collections.abc import Sequence
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from bertviewer.core.schema.statistics import Statistics

_Of = TypeVar("_Of")


class Sums(NamedTuple, Generic[_Of]):
    """The sums of a vector, or of many, in the order in which ``_row_sums.c`` fills them.

    Attributes:
        nan_count: elements that are NaN.
        inf_count: elements that are infinite.
        zero_count: elements that are exactly zero.
        total: the sum of the finite elements.
        deviations: the sum of their squared distances to their mean.
        min: the smallest of them, Inf where there is none.
        max: the largest of them, -Inf where there is none.
        norm: their Euclidean norm.
    """

    nan_count: _Of
    inf_count: _Of
    zero_count: _Of
    total: _Of
    deviations: _Of
    min: _Of
    max: _Of
    norm: _Of


class TokenStatistics(Struct, frozen=True, eq=False):
    """The sums of each token's vector, as in ``Statistics``.

    Attributes:
        width: elements of one vector.
        sums: [8, S]: one row for each of ``Sums``.
        exponents: [S]: the sum and the norm of a row are in units of 2 to this power, its squares
            in those of twice that; ``None`` but for float64 of extreme sizes.
    """

    width: int
    sums: NDArray[np.float64]
    exponents: NDArray[np.intc] | None = None

    @property
    def by_name(self) -> Sums[NDArray[np.float64]]:
        """The sums of all tokens, each [S]."""
        return Sums(*self.sums)

    @property
    def norms(self) -> NDArray[np.float64]:
        """The Euclidean norms of the finite elements: [S]; Inf where no float is so large."""
        norms = self.by_name.norm
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
        own = Sums[NDArray[np.float64]](*self.sums[:, places])
        totals, deviations = own.total, own.deviations
        exponent = 0
        if self.exponents is not None and len(places):
            # The largest unit: what is too small for it is nothing beside the others.
            exponents = self.exponents[places]
            exponent = int(exponents.max())
            totals = np.ldexp(totals, exponents - exponent)
            deviations = np.ldexp(deviations, 2 * (exponents - exponent))
        finite, total = self.width - own.nan_count - own.inf_count, float(totals.sum())
        # Each vector spreads about its own mean, and these about the mean of all.
        apart = totals / np.maximum(1, finite) - total / max(1, finite.sum())
        low, high = float(own.min.min(initial=np.inf)), float(own.max.max(initial=-np.inf))
        return Statistics(
            count=self.width * len(tokens),
            nan_count=int(own.nan_count.sum()),
            inf_count=int(own.inf_count.sum()),
            zero_count=int(own.zero_count.sum()),
            total=total,
            deviations=float((deviations + finite * apart**2).sum()),
            min=low if low < np.inf else None,
            max=high if high > -np.inf else None,
            exponent=exponent,
        )
