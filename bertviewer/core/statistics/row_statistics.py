"""Statistics of an array's rows, and of any selection of them.

float32 is summed by the C module ``_sums``, which says why it exists; everything else, and all
without a C compiler, by NumPy. Both use float64.
"""

import math
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from bertviewer.core.schema.statistics import Statistics

compiled: Any = None
"""The C module; ``None`` if bertviewer was installed without a C compiler."""
with suppress(ImportError):
    from bertviewer.core.statistics import _sums

    compiled = _sums

SAFE_MIN, SAFE_MAX = 1e-140, 1e140
"""Magnitudes outside, which only float64 has, overflow or underflow when squared and summed."""
_MIN_EXPONENT = -1074
_BLOCK = 1 << 16
"""Elements that NumPy sums at once: these stay in the processor's cache."""
_CANCELLATION = 1e-6
"""Below this fraction of E[x²], E[x²] - E[x]² has lost visible digits to cancellation."""

_Of = TypeVar("_Of")


class Sums(NamedTuple, Generic[_Of]):
    """Sums of a vector, or of many, in the order of the fields in ``_sums.c``.

    Attributes:
        nan_count: NaN elements.
        inf_count: infinite elements.
        zero_count: elements that are exactly zero.
        total: sum of the finite elements.
        deviations: sum of their squared deviations from their mean.
        min: smallest finite element, Inf without one.
        max: largest finite element, -Inf without one.
        norm: Euclidean norm of the finite elements.
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
    """Sums of each token's vector, which any selection of tokens merges.

    Attributes:
        width: elements of one vector.
        sums: [8, S], one row for each field of ``Sums``.
        exponents: [S]; sum and norm of a row are in units of 2^exponent, squares in its square.
            ``None`` except for float64 of extreme magnitude.
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
        """Euclidean norms of the finite elements, [S]; Inf on overflow."""
        norms = self.by_name.norm
        if self.exponents is None:
            return norms
        with np.errstate(over="ignore"):
            return np.ldexp(norms, self.exponents)

    def __len__(self) -> int:
        """Return the number of tokens."""
        return int(self.sums.shape[1])

    def of(self, tokens: Sequence[int]) -> Statistics:
        """Return the statistics of all elements of these tokens' vectors."""
        places = np.asarray(tokens, dtype=np.intp)
        own = Sums[NDArray[np.float64]](*self.sums[:, places])
        totals, deviations = own.total, own.deviations
        exponent = 0
        if self.exponents is not None and len(places):
            # The largest unit: what underflows in it is negligible.
            exponents = self.exponents[places]
            exponent = int(exponents.max())
            totals = np.ldexp(totals, exponents - exponent)
            deviations = np.ldexp(deviations, 2 * (exponents - exponent))
        finite, total = self.width - own.nan_count - own.inf_count, float(totals.sum())
        # Deviations within each vector, and those of their means (Chan, Golub & LeVeque 1983).
        between = totals / np.maximum(1, finite) - total / max(1, finite.sum())
        low, high = float(own.min.min(initial=np.inf)), float(own.max.max(initial=-np.inf))
        return Statistics(
            count=self.width * len(tokens),
            nan_count=int(own.nan_count.sum()),
            inf_count=int(own.inf_count.sum()),
            zero_count=int(own.zero_count.sum()),
            total=total,
            deviations=float((deviations + finite * between**2).sum()),
            min=low if low < np.inf else None,
            max=high if high > -np.inf else None,
            exponent=exponent,
        )


def is_compiled() -> bool:
    """Whether the C module is installed."""
    return compiled is not None


def measure_rows(values: NDArray[np.floating[Any]]) -> tuple[Statistics, TokenStatistics]:
    """Return the statistics of all elements, and the sums of each row, of [..., D].

    NaN and Inf are counted and excluded from the sums.
    """
    *outer, width = values.shape
    count = math.prod(outer)
    if is_compiled() and values.dtype == np.float32 and values.size:
        held = np.ascontiguousarray(values)
        return statistics_of(sums_at(held.ctypes.data, count, width), width)
    table = values.reshape(count, width)
    rows = None if values.dtype != np.float32 or not values.size else _finite_rows(table)
    rows = rows or _any_rows(table)
    return rows.of(range(len(rows))), rows


def sums_at(address: int, count: int, width: int) -> bytes:
    """Sum contiguous float32 rows at a memory address; requires ``is_compiled``.

    Returns:
        float64 [8, count + 1]: each field of ``Sums`` for all rows, then for their union.
    """
    found: bytes = compiled.row_sums(address, count, width)
    return found


def statistics_of(sums: bytes, width: int) -> tuple[Statistics, TokenStatistics]:
    """Return the result of ``sums_at`` as statistics of all elements and of each row."""
    table = np.frombuffer(sums).reshape(len(Sums._fields), -1)
    rows = TokenStatistics(width, table[:, :-1])
    found = Sums[float](*table[:, -1].tolist())
    has_finite = found.min <= found.max
    statistics = Statistics(
        count=width * len(rows),
        nan_count=int(found.nan_count),
        inf_count=int(found.inf_count),
        zero_count=int(found.zero_count),
        total=found.total,
        deviations=found.deviations,
        min=found.min if has_finite else None,
        max=found.max if has_finite else None,
    )
    return statistics, rows


def _finite_rows(table: NDArray[np.floating[Any]]) -> TokenStatistics | None:
    """Return the sums of float32 rows, ``None`` if an element is NaN or Inf."""
    width = table.shape[1]
    parts = []
    step = max(1, _BLOCK // width)
    for start in range(0, len(table), step):
        block = table[start : start + step]
        exact = block.astype(np.float64)
        squares = np.einsum("sd,sd->s", exact, exact)
        if not np.isfinite(squares).all():
            return None
        totals = exact.sum(axis=1)
        deviations = squares - totals * totals / width
        if (cancelled := deviations < _CANCELLATION * squares).any():
            centred = exact[cancelled] - totals[cancelled, None] / width
            deviations[cancelled] = np.einsum("sd,sd->s", centred, centred)
        none = np.zeros(len(block))
        is_zero = block == 0
        zeros = is_zero.sum(axis=1) if is_zero.any() else none
        extremes = block.min(axis=1), block.max(axis=1)
        parts.append(np.stack([none, none, zeros, totals, deviations, *extremes, np.sqrt(squares)]))
    return TokenStatistics(width, np.concatenate(parts, axis=1))


def _any_rows(table: NDArray[np.floating[Any]]) -> TokenStatistics:
    values = np.array(table, dtype=np.float64)
    width = values.shape[1]
    nan, inf = np.isnan(values), np.isinf(values)
    excluded = nan | inf
    zeros = (values == 0).sum(axis=1)
    mins = np.min(values, axis=1, where=~excluded, initial=np.inf)
    maxs = np.max(values, axis=1, where=~excluded, initial=-np.inf)
    values[excluded] = 0.0
    exponents = _exponents(values) if table.dtype == np.float64 else None
    if exponents is not None:
        values = np.ldexp(values, -exponents[:, None])
    totals = values.sum(axis=1)
    finite = width - excluded.sum(axis=1)
    means = totals / np.maximum(1, finite)
    values -= means[:, None]
    values[excluded] = 0.0
    deviations = np.einsum("sd,sd->s", values, values)
    sums = Sums(
        nan_count=nan.sum(axis=1),
        inf_count=inf.sum(axis=1),
        zero_count=zeros,
        total=totals,
        deviations=deviations,
        min=mins,
        max=maxs,
        norm=np.sqrt(deviations + finite * means**2),
    )
    return TokenStatistics(width, np.stack(sums), exponents)


def _exponents(values: NDArray[np.float64]) -> NDArray[np.intc] | None:
    """Return the unit of each row's sums as a power of 2, ``None`` if 1 fits all rows.

    A row of zeros has the smallest exponent.
    """
    largest = np.abs(values).max(axis=1, initial=0.0)
    if not ((largest > SAFE_MAX) | ((largest > 0) & (largest < SAFE_MIN))).any():
        return None
    exponents = np.frexp(largest)[1] - 1
    return np.where(largest > 0, exponents, _MIN_EXPONENT).astype(np.intc)
