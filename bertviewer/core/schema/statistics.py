"""Statistics of a tensor as mergeable sums: counts, sums, squared deviations, extremes.

Sums run over the finite elements, so one NaN or Inf does not hide the rest; ``nan_count`` and
``inf_count`` tell how many were left out. Deviations from the mean, and not plain squares, keep
their digits where all elements are large and nearly equal (Chan, Golub & LeVeque 1983).
"""

import math
from typing import Annotated

from msgspec import Meta, Struct

from bertviewer.core.util.serialization import FiniteFloat, NonNegative, NonNegativeFloat


class Statistics(Struct, frozen=True, forbid_unknown_fields=True):
    """What is kept of one tensor, or of several merged ones.

    Attributes:
        count: all elements.
        nan_count: elements that are NaN.
        inf_count: elements that are infinite.
        zero_count: elements that are exactly zero.
        total: the sum of the finite elements, in units of 2^exponent.
        deviations: the sum of their squared distances to their mean, in squares of that unit.
        min: the smallest finite element, ``None`` if there is none.
        max: the largest one.
        exponent: 0 but for float64 of extreme sizes, whose sums and squares no float would hold.
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
        """The number of finite elements."""
        return self.count - self.nan_count - self.inf_count

    @property
    def mean(self) -> float | None:
        """The mean of the finite elements."""
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
        """The part of all elements that are exactly zero."""
        return self.zero_count / self.count if self.count else None

    @property
    def _unit(self) -> float:
        return 2.0**self.exponent

    @property
    def is_zero(self) -> bool:
        """Whether there is nothing to add up: no finite element, or zeros alone."""
        return not self.min and not self.max

    def merge(self, other: "Statistics") -> "Statistics":
        """Return the statistics of both tensors' elements taken together."""
        # The larger of their units: what would be too small in it is nothing beside the other.
        exponent = max((s.exponent for s in (self, other) if not s.is_zero), default=0)
        (total, deviations), (others, of_others) = self._sums_in(exponent), other._sums_in(exponent)
        n, m = self.finite, other.finite
        # The elements of each stand apart from the mean of both, by this much in square.
        # A product, as a power too large for a float is an error and no infinity.
        distance = total / n - others / m if n and m else 0.0
        apart = distance * distance * n * m / (n + m) if n and m else 0.0
        lows = [value for value in (self.min, other.min) if value is not None]
        highs = [value for value in (self.max, other.max) if value is not None]
        return Statistics(
            self.count + other.count,
            self.nan_count + other.nan_count,
            self.inf_count + other.inf_count,
            self.zero_count + other.zero_count,
            total + others,
            deviations + of_others + apart,
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


NOTHING = Statistics(0, 0, 0, 0, 0.0, 0.0, None, None)
"""The statistics of no elements."""

STATISTIC_NAMES = ("mean", "std", "min", "max", "rms", "zero_fraction", "nan_count", "inf_count")
"""The figures of a run that a person can choose from, in the order in which they are listed."""


def figure(statistics: Statistics, name: str) -> float | None:
    """Return one of ``STATISTIC_NAMES``: the field or property of that name."""
    value: float | None = getattr(statistics, name)
    return value
