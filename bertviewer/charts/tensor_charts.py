"""Charts of a tensor: its map, its singular values, and texts of its elements."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

import numpy as np

from bertviewer.charts.chart import GridChart, Line, LineChart
from bertviewer.charts.labels import MAX_TOKEN, shortened, visible
from bertviewer.charts.levels import Levels, Values, widened
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.charts.translation import translate
from bertviewer.core.tensors.axes import Axis
from bertviewer.core.tensors.matrix import Matrix
from bertviewer.core.tensors.reduction import Edges, TensorMap
from bertviewer.core.tensors.spectrum import Spectrum
from bertviewer.core.util.numbers import with_minus
from bertviewer.core.util.text import isolated

Shown = Literal["mean", "extreme"]

_QUANTILE = 0.998
"""Colours end at this quantile of the cells: a single outlier would make all others pale."""


def map_chart(
    found: TensorMap, matrix: Matrix, shown: Shown, *, axes: tuple[Axis, Axis] = (Axis(), Axis())
) -> GridChart:
    """Return the map of a tensor with the indices of its rows and columns.

    Rows and columns of a single token, by ``axes``, have its text, and such rows select it.
    """
    values = found.means if shown == "mean" else found.extremes
    is_signed = bool(values.size) and bool(np.nanmin(np.append(values, 0)) < 0)
    rows = _spans(found.row_edges, matrix.row_span[0])
    columns = _spans(found.column_edges, matrix.column_span[0])
    down, across = axes
    title = translate("charts", "mean") if shown == "mean" else translate("charts", "extreme")
    keys: tuple[SelectionKey, ...] = ()
    if down.positions and all(map(str.isdecimal, rows)):
        keys = tuple(SelectionKey(token=down.positions[int(row)]) for row in rows)
    return GridChart(
        values,
        tuple(_token(row, down) or row.partition("–")[0] for row in rows),
        tuple(_token(column, across) or column.partition("–")[0] for column in columns),
        row_keys=keys,
        x_title=_title(across) or translate("charts", "Column"),
        y_title=_title(down) or translate("charts", "Row"),
        value_title=translate("charts", "value") if found.is_exact else title,
        is_signed=is_signed,
        is_top_down=True,
        levels=_levels(values, is_signed),
        row_names=_names(rows, down, translate("charts", "row {0}")),
        column_names=_names(columns, across, translate("charts", "column {0}")),
    )


def spectrum_chart(spectrum: Spectrum) -> LineChart:
    """Return the singular values over their indices, beginning with 1."""
    title = translate("charts", "Singular value")
    line = Line(title, tuple(spectrum.values.tolist()))
    ticks = tuple(str(number) for number in range(1, len(line.values) + 1))
    return LineChart((line,), translate("charts", "Index"), title, ticks, is_log=True)


def _spans(edges: Edges, first: int) -> tuple[str, ...]:
    """Return "5" for a single row and "5–9" for several."""
    return tuple(
        str(start) if stop == start + 1 else f"{start}–{stop - 1}"
        for start, stop in pairwise((edges + first).tolist())
    )


def _token(span: str, axis: Axis) -> str:
    """Return the token of a single row, "" for other rows."""
    is_token = span.isdecimal() and int(span) < len(axis.names)
    return visible(axis.names.names[int(span)]) if is_token else ""


def _title(axis: Axis) -> str:
    if not axis.kind:
        return ""
    is_token = axis.kind == "token"
    return translate("charts", "Token") if is_token else translate("charts", "Feature")


def _names(spans: Sequence[str], axis: Axis, other: str) -> tuple[str, ...]:
    named = translate("charts", "{0} (token {1})")
    tokens = ((isolated(_token(span, axis)), span) for span in spans)
    return tuple(
        named.format(token, span) if token else other.format(span) for token, span in tokens
    )


def _levels(values: Values, is_signed: bool) -> Levels | None:
    """Return the range of the colours, ``None`` for that of all values."""
    finite = values[np.isfinite(values)]
    if not finite.size:
        return None
    if is_signed:
        most = float(np.quantile(np.abs(finite), _QUANTILE))
        return (-most, most) if most else None
    return widened(float(finite.min()), float(np.quantile(finite, _QUANTILE)))


def position_text(index: Sequence[int], axes: tuple[Axis, Axis]) -> str:
    """Return the token and feature of an element: "token 3 “bank”, feature 211".

    Only of the last two dimensions; "" if neither is known.
    """
    pairs = zip(axes, index[-2:], strict=False)
    return ", ".join(filter(None, (_dimension_text(axis, number) for axis, number in pairs)))


def _dimension_text(axis: Axis, number: int) -> str:
    if axis.kind == "token" and number < len(axis.names):
        name = isolated(shortened(visible(axis.names.names[number]), MAX_TOKEN))
        return translate("charts", "token {0} “{1}”").format(axis.positions[number], name)
    return translate("charts", "feature {0}").format(number) if axis.kind == "feature" else ""


def cell_text(value: float | bool) -> str:
    """Return a number with six decimals, for columns of numbers.

    With an exponent below 0.0001 and from 100 on; integers and booleans are unchanged.
    """
    if isinstance(value, bool | int):
        text = str(value)
    elif value == 0 or 1e-4 <= round(abs(value), 6) < 100:
        text = f"{value:.6f}"
    else:
        text = f"{value:.3e}"
    return with_minus(text)


def exact_text(value: float | bool) -> str:
    """Return a number with seven digits, and in parentheses with all of them if there are more."""
    if isinstance(value, bool | int):
        return with_minus(str(value))
    seven, every = f"{value:.7g}", repr(value)
    is_exact = float(seven) == value or value != value  # noqa: PLR0124 - NaN is not itself
    return with_minus(seven if is_exact else f"{seven}  ({every})")
