"""A grid as lines from its rows to its columns: which of its cells are drawn, and what they say."""

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from bertviewer.charts.chart import GridChart
from bertviewer.charts.levels import Mask, Values
from bertviewer.core.util.numbers import number_text

LEAST = 0.005
"""A weight from which on a line is drawn, if columns are few."""
MOST = 1200
"""So many lines are drawn at most, if each row is to have one."""
NAMED = 5
"""So many of a token's lines are told in words."""


class Arc(Struct, frozen=True):
    """A line from a row to a column, and its weight."""

    row: int
    column: int
    weight: float


class Arcs(Struct, frozen=True):
    """Lines, the weakest first, so that strong ones are drawn over them.

    ``each`` is how many of a row's weights are drawn at most, ``None`` where all of them are that
    are at least ``least``.
    """

    lines: tuple[Arc, ...]
    each: int | None
    least: float


def least_weight(chart: GridChart) -> float:
    """Return the least weight that has a line: half of what each column had if all were alike."""
    columns: int = chart.values.shape[1]
    return min(LEAST, 0.5 / max(1, columns))


def arcs_of(chart: GridChart, most: int = MOST) -> Arcs:
    """Return a grid's lines: of each row as many of the largest weights as leaves ``most``.

    Masked cells, and those of no weight or of none that is a number, have no line.
    """
    rows, columns = chart.values.shape
    each = max(1, min(columns, most // max(1, rows)))
    weights = _weights(chart, np.s_[:, :])
    sizes = np.abs(weights)
    largest = np.argpartition(-sizes, each - 1, axis=1)[:, :each]
    found = _in_order(chart, weights, np.repeat(np.arange(rows), each), largest.ravel())
    return Arcs(found, None if each == columns else each, least_weight(chart))


def arcs_from(chart: GridChart, row: int) -> tuple[Arc, ...]:
    """Return all lines of a row, the weakest first."""
    weights = _weights(chart, np.s_[row : row + 1, :])
    found = _in_order(
        chart, weights, np.zeros(weights.size, dtype=np.intp), np.arange(weights.size)
    )
    return tuple(replace(arc, row=row) for arc in found)


def arcs_to(chart: GridChart, column: int) -> tuple[Arc, ...]:
    """Return all lines to a column, the weakest first."""
    weights = _weights(chart, np.s_[:, column : column + 1])
    found = _in_order(
        chart, weights, np.arange(weights.size), np.zeros(weights.size, dtype=np.intp)
    )
    return tuple(replace(arc, column=column) for arc in found)


def masked_at(chart: GridChart, index: int, of_row: bool) -> Mask | None:
    """Return which other ends a mask hides from a row, or from a column; ``None`` without any."""
    if chart.masked is None:
        return None
    masked: Mask = chart.masked[index] if of_row else chart.masked[:, index]
    return masked if masked.any() else None


def arcs_text(chart: GridChart, index: int, of_row: bool) -> str:
    """Return the strongest lines of a row or a column in words, with their exact weights.

    How many a mask hides is told as well: nothing was measured of them.
    """
    rows, columns = chart.named_rows, chart.named_columns
    arcs = (arcs_from if of_row else arcs_to)(chart, index)
    others = columns if of_row else rows
    told = [
        f"{others[arc.column if of_row else arc.row]} {number_text(arc.weight)}"
        for arc in arcs[: -NAMED - 1 : -1]
    ]
    if (masked := masked_at(chart, index, of_row)) is not None:
        told.append(f"{np.count_nonzero(masked)} {chart.masked_word}")
    ends = (rows[index], "  ·  ".join(told)) if of_row else ("  ·  ".join(told), columns[index])
    return chart.joint.join(ends) if told else ""


def _weights(chart: GridChart, part: tuple[slice, slice]) -> Values:
    """Return some of the weights, 0 where there is no line."""
    values = chart.values[part]
    is_there = np.isfinite(values)
    if chart.masked is not None:
        is_there &= ~chart.masked[part]
    weights: Values = np.where(is_there, values, 0)
    return weights


def _in_order(
    chart: GridChart, weights: Values, rows: NDArray[np.intp], columns: NDArray[np.intp]
) -> tuple[Arc, ...]:
    """Return lines for these cells, the weakest first, without those that are too weak."""
    found = weights[rows, columns]
    sizes = np.abs(found)
    order = np.argsort(sizes, kind="stable")
    order = order[sizes[order] >= least_weight(chart)]
    return tuple(map(Arc, rows[order].tolist(), columns[order].tolist(), found[order].tolist()))
