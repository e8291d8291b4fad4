"""A grid as lines from its rows to its columns: which of its cells are drawn, and what they say."""

from dataclasses import dataclass

import numpy as np

from bertviewer.charts.chart import GridChart
from bertviewer.charts.levels import Values
from bertviewer.core.text.numerals import number_text

MOST = 1200
"""So many lines are drawn at most, if each row is to have one."""
NAMED = 5
"""So many of a token's lines are told in words."""


@dataclass(frozen=True, slots=True)
class Arc:
    """A line from a row to a column, and its weight."""

    row: int
    column: int
    weight: float


@dataclass(frozen=True, slots=True)
class Arcs:
    """Lines, the weakest first, so that strong ones are drawn over them.

    ``each`` is how many of a row's weights are drawn, ``None`` where all of them are.
    """

    lines: tuple[Arc, ...]
    each: int | None


def arcs_of(chart: GridChart, most: int = MOST) -> Arcs:
    """Return a grid's lines: of each row as many of the largest weights as leaves ``most``.

    Masked cells, and those of no weight or of none that is a number, have no line.
    """
    rows, columns = chart.values.shape
    each = max(1, min(columns, most // max(1, rows)))
    weights = _weights(chart)
    largest = np.argsort(-np.abs(weights), axis=1, kind="stable")[:, :each]
    row_of, column_of = np.repeat(np.arange(rows), each), largest.ravel()
    return Arcs(_in_order(weights, row_of, column_of), None if each == columns else each)


def arcs_from(chart: GridChart, row: int) -> tuple[Arc, ...]:
    """Return all lines of a row, the weakest first."""
    columns = np.arange(chart.values.shape[1])
    return _in_order(_weights(chart), np.full(len(columns), row), columns)


def arcs_to(chart: GridChart, column: int) -> tuple[Arc, ...]:
    """Return all lines to a column, the weakest first."""
    rows = np.arange(chart.values.shape[0])
    return _in_order(_weights(chart), rows, np.full(len(rows), column))


def arcs_text(chart: GridChart, arcs: tuple[Arc, ...], of_row: bool) -> str:
    """Return the strongest of a token's lines in words, with their exact weights."""
    strongest = arcs[: -NAMED - 1 : -1]
    if not strongest:
        return ""
    rows, columns = chart.row_names or chart.rows, chart.column_names or chart.columns
    if of_row:
        told = [f"{columns[arc.column]} {number_text(arc.weight)}" for arc in strongest]
        return f"{rows[strongest[0].row]}{chart.joint}{'  ·  '.join(told)}"
    told = [f"{rows[arc.row]} {number_text(arc.weight)}" for arc in strongest]
    return f"{'  ·  '.join(told)}{chart.joint}{columns[strongest[0].column]}"


def _weights(chart: GridChart) -> Values:
    """Return the weights, 0 where there is no line."""
    measured = chart.measured
    weights: Values = np.where(np.isfinite(measured), measured, 0)
    return weights


def _in_order(weights: Values, rows: np.ndarray, columns: np.ndarray) -> tuple[Arc, ...]:
    found = weights[rows, columns]
    order = np.argsort(np.abs(found), kind="stable")
    order = order[found[order] != 0]
    return tuple(map(Arc, rows[order].tolist(), columns[order].tolist(), found[order].tolist()))
