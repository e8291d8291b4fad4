"""The sums of an array's rows: in one pass in C where bertviewer was compiled, else by numpy."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bertviewer.core.schema.statistics import Statistics
from bertviewer.core.schema.token_statistics import Sums, TokenStatistics

try:
    from bertviewer.core.schema._row_sums import row_sums
except ImportError:  # there was no C compiler when bertviewer was installed
    row_sums = None  # type: ignore[assignment]

LEAST, MOST = 1e-140, 1e140
"""Squares of larger elements, which only float64 has, overflow in a sum; smaller ones' vanish."""
_LEAST_EXPONENT = -1074


def is_compiled() -> bool:
    """Whether the C module is there."""
    return row_sums is not None


def measure_rows(values: NDArray[np.floating[Any]]) -> tuple[Statistics, TokenStatistics]:
    """Return the statistics of all elements, and the sums of each row: [..., D] of any D.

    Everything is added up in float64. NaN and Inf are counted and left out of the sums.
    """
    *outer, width = values.shape
    count = math.prod(outer)
    if is_compiled() and values.dtype == np.float32 and values.size:
        held = np.ascontiguousarray(values)
        return figures_of(sums_at(held.ctypes.data, count, width), width)
    rows = _in_passes(values.reshape(count, width))
    return rows.of(range(len(rows))), rows


def sums_at(address: int, count: int, width: int) -> bytes:
    """Add up so many rows of float32 that the caller holds at an address, if ``is_compiled``.

    What comes are float64 [8, rows + 1]: for each of ``Sums`` those of the rows, then that of all.
    """
    return row_sums(address, count, width)


def figures_of(sums: bytes, width: int) -> tuple[Statistics, TokenStatistics]:
    """Return what ``sums_at`` has found of rows of this width."""
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


def _in_passes(array: NDArray[np.floating[Any]]) -> TokenStatistics:
    values = np.array(array, dtype=np.float64)
    width = values.shape[1]
    nan, inf = np.isnan(values), np.isinf(values)
    left_out = nan | inf
    zeros = (values == 0).sum(axis=1)
    mins = np.min(values, axis=1, where=~left_out, initial=np.inf)
    maxs = np.max(values, axis=1, where=~left_out, initial=-np.inf)
    values[left_out] = 0.0
    exponents = _exponents(values) if array.dtype == np.float64 else None
    if exponents is not None:
        values = np.ldexp(values, -exponents[:, None])
    totals = values.sum(axis=1)
    finite = width - left_out.sum(axis=1)
    means = totals / np.maximum(1, finite)
    values -= means[:, None]
    values[left_out] = 0.0
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
    """Return the unit that each row is to be added up in, ``None`` if 1 does for all of them.

    A row of zeros has the least of all: it is nothing in any other.
    """
    largest = np.abs(values).max(axis=1, initial=0.0)
    if not ((largest > MOST) | ((largest > 0) & (largest < LEAST))).any():
        return None
    exponents = np.frexp(largest)[1] - 1
    return np.where(largest > 0, exponents, _LEAST_EXPONENT).astype(np.intc)
