"""The statistics of what a module gave, as a table.

.

.
"""

from collections.abc import Callable, Iterable

from bertviewer.charts.chart import Bars, HistogramChart
from bertviewer.charts.table import (
    EMPTY,
    DataTable,
    TableCell,
    TableColumn,
    comparison_columns,
    corner_header,
    number_cell,
    text_cell,
)
from bertviewer.charts.translation import translate
from bertviewer.core.expressions.symbols import shape_text
from bertviewer.core.schema.activation_run import ModuleActivation
from bertviewer.core.schema.statistics import Statistics
from bertviewer.core.statistics.histograms import Histogram, Range

Named = tuple[str, Callable[[Statistics], float | None]]
"""A figure's name, and how it is read off statistics."""


def statistics_table(b: ModuleActivation, a: ModuleActivation | None = None) -> DataTable:
    """Return a module's statistics in the last run, beside those in run A and B − A."""
    rows = [
        (
            text_cell(name),
            *_cells(get(b.statistics), None if a is None else get(a.statistics), a is None),
        )
        for name, get in (() if b.skip_reason else _figures())
    ]
    if max(len(one.calls) for one in (b, a) if one is not None) > 1:
        cells = _cells(len(b.calls), None if a is None else len(a.calls), a is None)
        rows.append((text_cell(translate("charts", "calls")), *cells))
    shapes = [text_cell(shape_text(one.output_shape)) for one in (b, a) if one is not None]
    nothing = [EMPTY] if a is not None else []
    rows.append((text_cell(translate("charts", "shape")), *shapes, *nothing))
    statistic, value = translate("charts", "Statistic"), translate("charts", "Value")
    subject = corner_header(statistic, "", "", b.path or b.class_name)
    values = (TableColumn(value, "number"),) if a is None else comparison_columns(value)
    return DataTable((TableColumn(statistic, name=subject), *values), tuple(rows))


def tensor_statistics_table(statistics: Statistics) -> DataTable:
    """Return the statistics of a tensor's own values."""
    statistic, value = translate("charts", "Statistic"), translate("charts", "Value")
    rows = tuple((text_cell(name), number_cell(get(statistics))) for name, get in _figures())
    return DataTable((TableColumn(statistic), TableColumn(value, "number")), rows)


def _figures() -> tuple[Named, ...]:
    return (
        ("mean", lambda s: s.mean),
        ("std", lambda s: s.std),
        ("min", lambda s: s.min),
        ("max", lambda s: s.max),
        ("rms", lambda s: s.rms),
        (translate("charts", "zeros"), lambda s: s.zero_count),
        ("NaN", lambda s: s.nan_count),
        ("Inf", lambda s: s.inf_count),
        (translate("charts", "elements"), lambda s: s.count),
    )


def _cells(b: float | None, a: float | None, is_single: bool) -> tuple[TableCell, ...]:
    if is_single:
        return (number_cell(b),)
    return (
        number_cell(b),
        number_cell(a),
        number_cell(None if b is None or a is None else b - a, digits=3),
    )


def common_range(statistics: Iterable[Statistics]) -> Range | None:
    """Return the range of all finite values of several runs, ``None`` if there are none."""
    known = list(statistics)
    lows = [one.min for one in known if one.min is not None]
    highs = [one.max for one in known if one.max is not None]
    return (min(lows), max(highs)) if lows and highs else None


def histogram_chart(
    found: Histogram, statistics: Statistics, is_log: bool = False
) -> HistogramChart:
    """Return a histogram with the mean and the standard deviation of the same values."""
    elements = translate("charts", "Elements")
    bars = Bars(
        elements,
        tuple(found.counts.tolist()),
        found.nan_count,
        found.inf_count,
        statistics.mean,
        statistics.std,
    )
    return HistogramChart(
        tuple(found.edges.tolist()),
        (bars,),
        translate("charts", "Value"),
        elements,
        is_log,
    )
