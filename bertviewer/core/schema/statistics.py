"""Statistics of a tensor as mergeable sums: counts, sums, squared deviations, extremes.

Sums exclude NaN and Inf, which ``nan_count`` and ``inf_count`` count. Squared deviations from the
mean, unlike plain squares, do not cancel for large and nearly equal elements (Chan, Golub & LeVeque
1983).
"""

import math
from typing import Annotated

from msgspec import Meta, Struct

from bertviewer.core.util.serialization import FiniteFloat, NonNegative, NonNegativeFloat


class Statistics(Struct, frozen=True, forbid_unknown_fields=True):
    """Statistics of one tensor, or of several merged ones.

    Attributes:
        count: number of elements.
        nan_count: NaN elements.
        inf_count: infinite elements.
        zero_count: elements that are exactly zero.
        total: sum of the finite elements, in units of 2^exponent.
        deviations: sum of their squared deviations from their mean, in squares of that unit.
        min: smallest finite element, ``None`` without one.
        max: largest finite element.
        exponent: 0 except for float64 of extreme magnitude, whose sums or squares would overflow
            or underflow.
    """

    count: NonNegative
    nan_count: NonNegative
    inf_count: NonNegative
    zero_count: NonNegative
    total: FiniteFloat
    deviations: NonNegativeFloat
    min: FiniteFloat | None
    max: FiniteFloat | None
    exponent: Annotated[int, Meta(ge=-1074, lt=1024)] = 0

    @property
    def finite(self) -> int:
        """Number of finite elements."""
        return self.count - self.nan_count - self.inf_count

    @property
    def mean(self) -> float | None:
        """Mean of the finite elements."""
        return self.total / self.finite * self._unit if self.finite else None

    @property
    def std(self) -> float | None:
        """Their population standard deviation: sqrt(E[(x - E[x])²])."""
        return math.sqrt(self.deviations / self.finite) * self._unit if self.finite else None

    @property
    def rms(self) -> float | None:
        """Their root mean square."""
        if not self.finite:
            return None
        mean = self.total / self.finite
        return math.sqrt(self.deviations / self.finite + mean * mean) * self._unit

    @property
    def zero_fraction(self) -> float | None:
        """Fraction of elements that are exactly zero."""
        return self.zero_count / self.count if self.count else None

    @property
    def _unit(self) -> float:
        return 2.0**self.exponent

    @property
    def is_zero(self) -> bool:
        """Whether there is no finite element except zeros."""
        return not self.min and not self.max

    def merge(self, other: "Statistics") -> "Statistics":
        """Return the statistics of the elements of both."""
        # The larger unit: what underflows in it is negligible.
        exponent = max((s.exponent for s in (self, other) if not s.is_zero), default=0)
        (total, deviations), (others, of_others) = self._sums_in(exponent), other._sums_in(exponent)
        n, m = self.finite, other.finite
        # Squared deviations of both means from the common one. A product, as ** raises on overflow.
        difference = total / n - others / m if n and m else 0.0
        between = difference * difference * n * m / (n + m) if n and m else 0.0
        lows = [value for value in (self.min, other.min) if value is not None]
        highs = [value for value in (self.max, other.max) if value is not None]
        return Statistics(
            self.count + other.count,
            self.nan_count + other.nan_count,
            self.inf_count + other.inf_count,
            self.zero_count + other.zero_count,
            total + others,
            deviations + of_others + between,
            min(lows, default=None),
            max(highs, default=None),
            exponent,
        )

    def _sums_in(self, exponent: int) -> tuple[float, float]:
        """Return sum and squared deviations in units of 2^exponent."""
        if self.exponent == exponent or self.is_zero:
            return self.total, self.deviations
        shift = self.exponent - exponent
        return math.ldexp(self.total, shift), math.ldexp(self.deviations, 2 * shift)


NO_ELEMENTS = Statistics(0, 0, 0, 0, 0.0, 0.0, None, None)
"""Statistics of no elements."""

STATISTIC_NAMES = ("mean", "std", "min", "max", "rms", "zero_fraction", "nan_count", "inf_count")
"""Statistics that can be selected for display, in order."""


def statistic_value(statistics: Statistics, name: str) -> float | None:
    """Return the field or property with a name in ``STATISTIC_NAMES``."""
    value: float | None = getattr(statistics, name)
    return value
