"""Statistics of a module's output or a tensor: their table and their histogram."""

from collections.abc import Callable, Iterable

from bertviewer.charts.chart import Bars, HistogramChart
from bertviewer.charts.table import (
    EMPTY,
    DataTable,
    Field,
    TableCell,
    corner_header,
    data_table,
    field,
    number_cell,
    runs_field,
    text_cell,
)
from bertviewer.charts.translation import translate
from bertviewer.core.expressions.symbols import shape_text
from bertviewer.core.schema.activation_run import ModuleActivation
from bertviewer.core.schema.statistics import Statistics
from bertviewer.core.statistics.histograms import Histogram, Range

Named = tuple[str, Callable[[Statistics], float | None]]
"""The name of a statistic and the function that returns it."""


def statistics_table(b: ModuleActivation, a: ModuleActivation | None = None) -> DataTable:
    """Return the statistics of a module's output in run B, compared with those in run A if given.

    With the number of calls, if there are several, and the shape.
    """
    records: list[tuple[str, float | None, float | None]] = [
        (name, get(b.statistics), None if a is None else get(a.statistics))
        for name, get in (() if b.skip_reason else _statistics())
    ]
    runs = [one for one in (b, a) if one is not None]
    if max(len(one.calls) for one in runs) > 1:
        calls = [len(one.calls) for one in runs]
        records.append((translate("charts", "calls"), calls[0], None if a is None else calls[-1]))
    subject = corner_header(translate("charts", "Statistic"), "", "", b.path or b.class_name)
    value = translate("charts", "Value")
    fields = [
        _name_field(subject),
        runs_field(value, lambda each: each[1:], is_compared=a is not None, digits=3),
    ]
    table = data_table(fields, records)
    shapes = [text_cell(shape_text(one.output_shape)) for one in runs]
    last = (text_cell(translate("charts", "shape")), *shapes, *([EMPTY] if a is not None else ()))
    return DataTable(table.columns, (*table.rows, last))


def tensor_statistics_table(
    statistics: Statistics, further: Iterable[tuple[str, TableCell]] = ()
) -> DataTable:
    """Return the statistics of a tensor, and further rows."""
    records = [(name, number_cell(get(statistics))) for name, get in _statistics()]
    value = field(translate("charts", "Value"), lambda each: each[1], "number")
    return data_table([_name_field(), value], [*records, *further])


def _name_field(header: str = "") -> Field:
    return field(translate("charts", "Statistic"), lambda each: text_cell(each[0]), name=header)


def _statistics() -> tuple[Named, ...]:
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


def common_range(statistics: Iterable[Statistics]) -> Range | None:
    """Return the range of all finite values of several runs, ``None`` without any."""
    known = list(statistics)
    lows = [one.min for one in known if one.min is not None]
    highs = [one.max for one in known if one.max is not None]
    return (min(lows), max(highs)) if lows and highs else None


def histogram_chart(
    found: Histogram, statistics: Statistics, is_log: bool = False
) -> HistogramChart:
    """Return a histogram with the mean and standard deviation of the same values."""
    elements = translate("charts", "Elements")
    bars = Bars(
        elements,
        tuple(found.counts.tolist()),
        found.nan_count,
        found.inf_count,
        statistics.mean,
        statistics.std,
    )
    edges = tuple(found.edges.tolist())
    return HistogramChart(edges, (bars,), translate("charts", "Value"), elements, is_log)
