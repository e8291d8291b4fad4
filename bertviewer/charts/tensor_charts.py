"""A tensor's map, its histogram and its singular values as charts."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

import numpy as np

from bertviewer.charts.chart import GridChart, Line, LineChart
from bertviewer.charts.labels import MAX_TOKEN, shortened, visible
from bertviewer.charts.levels import Levels, Values
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.charts.translation import translate
from bertviewer.core.tensors.axes import Axis
from bertviewer.core.tensors.matrix import Matrix
from bertviewer.core.tensors.reduction import Edges, TensorMap
from bertviewer.core.tensors.spectrum import Spectrum
from bertviewer.core.util.numbers import with_minus
from bertviewer.core.util.text import isolated

Shown = Literal["mean", "extreme"]

QUANTILE = 0.998
"""Colours end where this part of the cells is below: a single outlier would pale all others."""


def map_chart(
    found: TensorMap, matrix: Matrix, shown: Shown, *, axes: tuple[Axis, Axis] = (Axis(), Axis())
) -> GridChart:
    """Return a map as a grid, its rows and columns named by the tensor's own indices.

    A row or column that is a single token of a run, as ``axes`` tell, is called by it; to choose
    such a row is to select the token.
    """
    values = found.means if shown == "mean" else found.extremes
    is_signed = bool(values.size) and bool(np.nanmin(np.append(values, 0)) < 0)
    rows = _names(found.row_edges, matrix.row_span[0])
    columns = _names(found.column_edges, matrix.column_span[0])
    down, across = axes
    row, column = translate("charts", "row {0}"), translate("charts", "column {0}")
    return GridChart(
        values,
        _labels(rows, down),
        _labels(columns, across),
        row_keys=_places(rows, down),
        x_title=_title(across) or translate("charts", "Column"),
        y_title=_title(down) or translate("charts", "Row"),
        value_title=_shown(found, shown),
        is_signed=is_signed,
        is_top_down=True,
        levels=_levels(values, is_signed),
        row_names=_in_words(rows, down, row),
        column_names=_in_words(columns, across, column),
    )


def spectrum_chart(spectrum: Spectrum) -> LineChart:
    """Return singular values over their numbers, counted from 1."""
    values = tuple(spectrum.values.tolist())
    ticks = tuple(str(number + 1) for number in range(len(values)))
    title = translate("charts", "Singular value")
    return LineChart(
        (Line(title, values),),
        translate("charts", "Index"),
        title,
        ticks,
        is_log=True,
    )


def _shown(found: TensorMap, shown: Shown) -> str:
    if found.is_exact:
        return translate("charts", "value")
    return translate("charts", "mean") if shown == "mean" else translate("charts", "extreme")


def _names(edges: Edges, first: int) -> tuple[str, ...]:
    """Return "5" for a single row and "5–9" for several of them."""
    return tuple(
        str(start) if stop == start + 1 else f"{start}–{stop - 1}"
        for start, stop in pairwise((edges + first).tolist())
    )


def _token(name: str, axis: Axis) -> str:
    """Return the token that a single row is, "" where it is none, or several."""
    is_one = name.isdecimal() and int(name) < len(axis.names)
    return visible(axis.names.names[int(name)]) if is_one else ""


def _labels(names: tuple[str, ...], axis: Axis) -> tuple[str, ...]:
    return tuple(_token(name, axis) or name.partition("–")[0] for name in names)


def _places(names: tuple[str, ...], axis: Axis) -> tuple[SelectionKey, ...]:
    """Return the tokens of a run that rows are; none where there are several in a row."""
    if not axis.positions or not all(map(str.isdecimal, names)):
        return ()
    return tuple(SelectionKey(token=axis.positions[int(name)]) for name in names)


def _title(axis: Axis) -> str:
    if not axis.kind:
        return ""
    is_token = axis.kind == "token"
    return translate("charts", "Token") if is_token else translate("charts", "Feature")


def _in_words(names: tuple[str, ...], axis: Axis, other: str) -> tuple[str, ...]:
    named = translate("charts", "{0} (token {1})")
    tokens = ((isolated(_token(name, axis)), name) for name in names)
    return tuple(
        named.format(token, name) if token else other.format(name) for token, name in tokens
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


def position_text(index: Sequence[int], axes: tuple[Axis, Axis]) -> str:
    """Return where an element of a run is, "" where no dimension is known.

    ``token 3 “bank”, feature 211``: what stands before the last two dimensions is left out.
    """
    # A vector has but its rows.
    pairs = zip(axes, index[-2:], strict=False)
    return ", ".join(filter(None, (_on(axis, number) for axis, number in pairs)))


def cell_text(value: float | bool) -> str:
    """Return a number with six digits behind the point, so that they stand below one another.

    Very small ones, and those of more than two digits before the point, have an exponent;
    integers and booleans are as they are.
    """
    if isinstance(value, bool | int):
        text = str(value)
    elif value == 0 or 1e-4 <= round(abs(value), 6) < 100:
        text = f"{value:.6f}"
    else:
        text = f"{value:.3e}"
    return with_minus(text)


def exact_text(value: float | bool) -> str:
    """Return a number with seven digits, and with all of them where that is more."""
    if isinstance(value, bool | int):
        return with_minus(str(value))
    seven, every = f"{value:.7g}", repr(value)
    same = float(seven) == value or value != value  # noqa: PLR0124 - NaN is not itself
    return with_minus(seven if same else f"{seven}  ({every})")


def _on(axis: Axis, number: int) -> str:
    if axis.kind == "token" and number < len(axis.names):
        name = isolated(shortened(visible(axis.names.names[number]), MAX_TOKEN))
        return translate("charts", "token {0} “{1}”").format(axis.positions[number], name)
    return translate("charts", "feature {0}").format(number) if axis.kind == "feature" else ""
