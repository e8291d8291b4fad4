"""A tensor's map, its histogram and its singular values as charts."""

from itertools import pairwise
from typing import Literal

import numpy as np

from bertviewer.charts.chart import GridChart, Line, LineChart
from bertviewer.charts.levels import Levels, Values
from bertviewer.charts.translation import Translate, english
from bertviewer.core.tensors.matrix import Matrix
from bertviewer.core.tensors.reduction import Edges, TensorMap
from bertviewer.core.tensors.spectrum import Spectrum

Shown = Literal["mean", "extreme"]

QUANTILE = 0.998
"""Colours end where this part of the cells is below: a single outlier would pale all others."""


def map_chart(
    found: TensorMap, matrix: Matrix, shown: Shown, translate: Translate = english
) -> GridChart:
    """Return a map as a grid, its rows and columns named by the tensor's own indices."""
    values = found.means if shown == "mean" else found.extremes
    is_signed = bool(values.size) and bool(np.nanmin(np.append(values, 0)) < 0)
    rows = _names(found.row_edges, matrix.row_span[0])
    columns = _names(found.column_edges, matrix.column_span[0])
    row, column = (
        translate("charts", "row {0}"),
        translate("charts", "column {0}"),
    )
    return GridChart(
        values,
        tuple(name.partition("–")[0] for name in rows),
        tuple(name.partition("–")[0] for name in columns),
        x_title=translate("charts", "Column"),
        y_title=translate("charts", "Row"),
        value_title=_shown(found, shown, translate),
        is_signed=is_signed,
        is_top_down=True,
        levels=_levels(values, is_signed),
        row_names=tuple(row.format(name) for name in rows),
        column_names=tuple(column.format(name) for name in columns),
    )


def spectrum_chart(spectrum: Spectrum, translate: Translate = english) -> LineChart:
    """Return singular values over their numbers, counted from 1."""
    values = tuple(spectrum.values.tolist())
    ticks = tuple(str(number + 1) for number in range(len(values)))
    title = translate("charts", "Singular value")
    return LineChart(
        (Line(title, values),),
        translate("charts", "Number"),
        title,
        ticks,
        is_log=True,
    )


def _shown(found: TensorMap, shown: Shown, translate: Translate) -> str:
    if found.is_exact:
        return translate("charts", "value")
    return translate("charts", "mean") if shown == "mean" else translate("charts", "extreme")


def _names(edges: Edges, first: int) -> tuple[str, ...]:
    """Return "5" for a single row and "5–9" for several of them."""
    return tuple(
        str(start) if stop == start + 1 else f"{start}–{stop - 1}"
        for start, stop in pairwise((edges + first).tolist())
    )


def _levels(values: Values, is_signed: bool) -> Levels | None:
    """Return where the colours end; ``None`` for the range of all values."""
    finite = values[np.isfinite(values)]
    if not finite.size:
        return None
    if is_signed:
        most = float(np.quantile(np.abs(finite), QUANTILE))
        return (-most, most) if most else None
    low, high = float(finite.min()), float(np.quantile(finite, QUANTILE))
    return (low, high) if low < high else None
