"""The statistics of what a module gave, as a table."""

from collections.abc import Callable

from PySide6.QtCore import QCoreApplication

from bertviewer.charts.figures import (
    NOTHING,
    Figure,
    FigureColumn,
    FigureTable,
    number,
    of_both_runs,
    words,
)
from bertviewer.charts.headers import corner_header
from bertviewer.charts.translation import QT_TRANSLATE_NOOP
from bertviewer.core.activations.activation_run import ModuleActivation
from bertviewer.core.activations.statistics import Statistics
from bertviewer.core.expressions.shape_text import shape_text

_FIGURES: tuple[tuple[str, Callable[[Statistics], float | None]], ...] = (
    ("mean", lambda s: s.mean),
    ("std", lambda s: s.std),
    ("min", lambda s: s.min),
    ("max", lambda s: s.max),
    ("rms", lambda s: s.rms),
    (QT_TRANSLATE_NOOP("statistics_table", "zeros"), lambda s: s.zero_count),
    ("NaN", lambda s: s.nan_count),
    ("Inf", lambda s: s.inf_count),
    (QT_TRANSLATE_NOOP("statistics_table", "elements"), lambda s: s.count),
)
_STATISTIC = QT_TRANSLATE_NOOP("statistics_table", "Statistic")
_SHAPE = QT_TRANSLATE_NOOP("statistics_table", "shape")
_CALLS = QT_TRANSLATE_NOOP("statistics_table", "calls")
_VALUE = QT_TRANSLATE_NOOP("statistics_table", "Value")


def statistics_table(b: ModuleActivation, a: ModuleActivation | None = None) -> FigureTable:
    """Return a module's statistics in the last run, beside those in run A and B − A."""
    rows = [
        (
            words(_translated(name)),
            *_cells(get(b.statistics), None if a is None else get(a.statistics), a is None),
        )
        for name, get in (() if b.left_out else _FIGURES)
    ]
    if max(len(one.calls) for one in (b, a) if one is not None) > 1:
        cells = _cells(len(b.calls), None if a is None else len(a.calls), a is None)
        rows.append((words(_translated(_CALLS)), *cells))
    shapes = [words(shape_text(one.output_shape)) for one in (b, a) if one is not None]
    rows.append((words(_translated(_SHAPE)), *shapes, *([NOTHING] if a is not None else [])))
    statistic, value = _translated(_STATISTIC), _translated(_VALUE)
    subject = corner_header(statistic, "", "", b.path or b.class_name)
    values = (FigureColumn(value, "number"),) if a is None else of_both_runs(value)
    return FigureTable((FigureColumn(statistic, name=subject), *values), tuple(rows))


def tensor_statistics_table(statistics: Statistics) -> FigureTable:
    """Return the statistics of a tensor's own values."""
    columns = FigureColumn(_translated(_STATISTIC)), FigureColumn(_translated(_VALUE), "number")
    rows = tuple((words(_translated(name)), number(get(statistics))) for name, get in _FIGURES)
    return FigureTable(columns, rows)


def _cells(b: float | None, a: float | None, is_single: bool) -> tuple[Figure, ...]:
    if is_single:
        return (number(b),)
    return number(b), number(a), number(None if b is None or a is None else b - a, digits=3)


def _translated(text: str) -> str:
    return QCoreApplication.translate("statistics_table", text)
