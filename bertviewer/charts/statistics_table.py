"""The statistics of what a module gave, as a table."""

from collections.abc import Callable

from bertviewer.charts.figures import (
    NOTHING,
    Figure,
    FigureColumn,
    FigureTable,
    number,
    of_both_runs,
    words,
)
from bertviewer.charts.table import corner_header
from bertviewer.charts.translation import translate
from bertviewer.core.expressions.symbols import shape_text
from bertviewer.core.schema.activation_run import ModuleActivation
from bertviewer.core.schema.statistics import Statistics

Named = tuple[str, Callable[[Statistics], float | None]]
"""A figure's name, and how it is read off statistics."""


def statistics_table(b: ModuleActivation, a: ModuleActivation | None = None) -> FigureTable:
    """Return a module's statistics in the last run, beside those in run A and B − A."""
    rows = [
        (
            words(name),
            *_cells(get(b.statistics), None if a is None else get(a.statistics), a is None),
        )
        for name, get in (() if b.skip_reason else _figures())
    ]
    if max(len(one.calls) for one in (b, a) if one is not None) > 1:
        cells = _cells(len(b.calls), None if a is None else len(a.calls), a is None)
        rows.append((words(translate("charts", "calls")), *cells))
    shapes = [words(shape_text(one.output_shape)) for one in (b, a) if one is not None]
    nothing = [NOTHING] if a is not None else []
    rows.append((words(translate("charts", "shape")), *shapes, *nothing))
    statistic, value = translate("charts", "Statistic"), translate("charts", "Value")
    subject = corner_header(statistic, "", "", b.path or b.class_name)
    values = (FigureColumn(value, "number"),) if a is None else of_both_runs(value)
    return FigureTable((FigureColumn(statistic, name=subject), *values), tuple(rows))


def tensor_statistics_table(statistics: Statistics) -> FigureTable:
    """Return the statistics of a tensor's own values."""
    statistic, value = translate("charts", "Statistic"), translate("charts", "Value")
    rows = tuple((words(name), number(get(statistics))) for name, get in _figures())
    return FigureTable((FigureColumn(statistic), FigureColumn(value, "number")), rows)


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


def _cells(b: float | None, a: float | None, is_single: bool) -> tuple[Figure, ...]:
    if is_single:
        return (number(b),)
    return number(b), number(a), number(None if b is None or a is None else b - a, digits=3)
