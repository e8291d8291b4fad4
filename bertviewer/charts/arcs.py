"""Arcs of a grid: lines from rows to columns for its largest weights, and their description."""

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from bertviewer.charts.chart import GridChart
from bertviewer.charts.levels import Mask, Values
from bertviewer.core.util.numbers import number_text

_LEAST = 0.005
"""Minimum weight of an arc, unless there are many columns."""
_MAX_ARCS, _MAX_NAMED = 1200, 5
"""Maximum number of arcs, and of those that are described."""


class Arc(Struct, frozen=True):
    """A line from a row to a column with its weight."""

    row: int
    column: int
    weight: float


class Arcs(Struct, frozen=True):
    """Arcs, the weakest first, so that strong ones are drawn on top.

    ``each`` is the number of largest weights of a row, ``None`` for all of at least ``least``.
    """

    lines: tuple[Arc, ...]
    each: int | None
    least: float


def least_weight(chart: GridChart) -> float:
    """Return the minimum weight of arcs: at most half of the mean of a row that sums to 1."""
    columns: int = chart.values.shape[1]
    return min(_LEAST, 0.5 / max(1, columns))


def arcs_of(chart: GridChart, most: int = _MAX_ARCS) -> Arcs:
    """Return the arcs of the largest weights of each row, about ``most`` in total."""
    rows, columns = chart.values.shape
    each = max(1, min(columns, most // max(1, rows)))
    weights = _weights(chart, np.s_[:, :])
    largest = np.argpartition(-np.abs(weights), each - 1, axis=1)[:, :each]
    ends = np.repeat(np.arange(rows), each), largest.ravel()
    found = _sorted(chart, weights[ends], *ends)
    return Arcs(found, None if each == columns else each, least_weight(chart))


def arcs_from(chart: GridChart, row: int) -> tuple[Arc, ...]:
    """Return all arcs of a row, the weakest first."""
    columns = np.arange(chart.values.shape[1])
    return _sorted(chart, _weights(chart, np.s_[row, :]), np.full_like(columns, row), columns)


def arcs_to(chart: GridChart, column: int) -> tuple[Arc, ...]:
    """Return all arcs to a column, the weakest first."""
    rows = np.arange(chart.values.shape[0])
    return _sorted(chart, _weights(chart, np.s_[:, column]), rows, np.full_like(rows, column))


def masked_at(chart: GridChart, index: int, of_row: bool) -> Mask | None:
    """Return the mask of a row or column, ``None`` if nothing is masked."""
    if chart.masked is None:
        return None
    masked: Mask = chart.masked[index] if of_row else chart.masked[:, index]
    return masked if masked.any() else None


def arcs_text(chart: GridChart, index: int, of_row: bool) -> str:
    """Return the largest weights of a row or column, and the number of masked cells."""
    rows, columns = chart.named_rows, chart.named_columns
    arcs = arcs_from(chart, index) if of_row else arcs_to(chart, index)
    facts = [
        f"{columns[arc.column] if of_row else rows[arc.row]} {number_text(arc.weight)}"
        for arc in arcs[: -_MAX_NAMED - 1 : -1]
    ]
    if (masked := masked_at(chart, index, of_row)) is not None:
        facts.append(f"{np.count_nonzero(masked)} {chart.masked_word}")
    text = "  ·  ".join(facts)
    ends = (rows[index], text) if of_row else (text, columns[index])
    return chart.joint.join(ends) if facts else ""


def _weights(chart: GridChart, part: tuple[int | slice, int | slice]) -> Values:
    """Return some of the weights, 0 where they are masked or not finite."""
    values = chart.values[part]
    exists = np.isfinite(values)
    if chart.masked is not None:
        exists &= ~chart.masked[part]
    weights: Values = np.where(exists, values, 0)
    return weights


def _sorted(
    chart: GridChart, weights: Values, rows: NDArray[np.intp], columns: NDArray[np.intp]
) -> tuple[Arc, ...]:
    """Return the arcs of at least the minimum weight, the weakest first."""
    sizes = np.abs(weights)
    order = np.argsort(sizes, kind="stable")
    order = order[sizes[order] >= least_weight(chart)]
    return tuple(map(Arc, rows[order].tolist(), columns[order].tolist(), weights[order].tolist()))
