"""Line charts of a run's statistics layer by layer."""

from collections.abc import Iterable, Mapping, Sequence
from math import isfinite

from msgspec.structs import replace

from bertviewer.charts.chart import Line, LineChart
from bertviewer.charts.levels import ANY, PARTS, SIZES
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.charts.translation import translate
from bertviewer.core.analysis.layers import Series, layer_series, part_of
from bertviewer.core.analysis.tokens import TokenClass
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.statistics import STATISTIC_NAMES, Statistics, statistic_value
from bertviewer.core.statistics.row_statistics import TokenStatistics
from bertviewer.core.tensors.axes import tokens_of_rows
from bertviewer.core.util.errors import UserError

SPREAD = "mean ± std"
"""Several statistics at once: a line in a band, and extremes as thin lines."""
BAND = "mean ± std alone"
"""Without extremes, which are far outside the band if there are outlier features."""
_BOUNDS = {
    "std": SIZES,
    "rms": SIZES,
    "zero_fraction": PARTS,
    "nan_count": SIZES,
    "inf_count": SIZES,
}

STATISTICS = (*STATISTIC_NAMES, SPREAD, BAND)
"""All statistics of charts."""

Measured = Mapping[str, tuple[TokenStatistics, ...]]
"""Statistics per token of each call of modules, by path."""
NotFinite = Mapping[str, Sequence[int]]
"""Positions with NaN or Inf by stack; "" is the only one."""


def check_statistic(name: str) -> None:
    """Check the name of a statistic.

    Raises:
        UserError: there is no such statistic.
    """
    if name not in STATISTICS:
        raise UserError(f"unknown statistic {name!r}: choose from {', '.join(STATISTICS)}")


def layer_chart(
    architecture: Architecture, run: ActivationRun, statistic: str, selected: str = ""
) -> LineChart:
    """Return a line for each stack of layers, and one for the selected part of a layer.

    All of ``STATISTICS`` give the same lines, with ``None`` where they have no value.
    """
    series = layer_series(architecture, run)
    further = selected_series(architecture, run, selected)
    return series_chart(run, (*series, *further), statistic)


def selected_series(
    architecture: Architecture, run: ActivationRun, selected: str
) -> tuple[Series, ...]:
    """Return the series of the part of a layer at ``selected``, empty for other modules."""
    stack, part = part_of(architecture, run, selected) or ("", "")
    found = layer_series(architecture, run, part) if part else ()
    return tuple(series for series in found if series.stack == stack)


def series_chart(run: ActivationRun, series: Sequence[Series], statistic: str) -> LineChart:
    """Return a line for each series over all tokens; of several calls the last one counts."""
    calls = {module.path: module.calls for module in run.modules}
    lines, every = [], []
    for one in series:
        figures = [calls[path][call] if path in calls else None for path, call in one.points()]
        lines.append(_line(one, one.label, figures, statistic))
        every += figures
    return _chart(lines, statistic, every)


def not_finite(run: ActivationRun, series: Sequence[Series]) -> NotFinite:
    """Return the positions of series with NaN or Inf, which statistics ignore."""
    calls = {module.path: module.calls for module in run.modules}
    has_several = len({one.stack for one in series}) > 1
    found: dict[str, set[int]] = {}
    for one in series:
        for position, (path, call) in enumerate(one.points()):
            if path in calls and calls[path][call].finite < calls[path][call].count:
                found.setdefault(one.stack if has_several else "", set()).add(position)
    return {stack: sorted(positions) for stack, positions in found.items()}


def token_class_chart(
    run: ActivationRun,
    series: Sequence[Series],
    statistic: str,
    classes: Sequence[TokenClass],
    measured: Measured,
) -> LineChart:
    """Return a line for each series and each class of tokens in it.

    Labels are those of the classes, preceded by the name of the series if there are several.
    """
    lines, every = [], []
    for one, name in zip(series, short_names(series), strict=True):
        calls = [_call(run, measured, *point) for point in one.points()]
        for kind in classes:
            figures = [None if call is None else _of_class(*call, kind) for call in calls]
            if any(figures):
                label = f"{name} · {kind.label}" if name else kind.label
                line = _line(one, label, figures, statistic)
                if len(classes) > 1:
                    # Bands may overlap, but many extremes are unreadable.
                    line = replace(line, min=None, max=None)
                lines.append(replace(line, name=f"{one.label} · {kind.label}"))
                every += figures
    return _chart(lines, statistic, every)


def _call(
    run: ActivationRun, measured: Measured, path: str, call: int
) -> tuple[TokenStatistics, range] | None:
    """Return the statistics of a call, and the tokens of its rows."""
    calls = measured.get(path, ())
    if not -1 <= call < len(calls) or not calls:
        return None
    tokens = tokens_of_rows(run, path, len(calls[call]))
    return None if tokens is None else (calls[call], tokens)


def _of_class(measured: TokenStatistics, tokens: range, kind: TokenClass) -> Statistics | None:
    rows = [token - tokens.start for token in kind.tokens if token in tokens]
    return measured.of(rows) if rows else None


def _line(series: Series, label: str, figures: Sequence[Statistics | None], statistic: str) -> Line:
    def values(name: str) -> tuple[float | None, ...]:
        return tuple(None if found is None else statistic_value(found, name) for found in figures)

    keys = tuple(map(SelectionKey, series.paths))
    if statistic not in (SPREAD, BAND):
        return Line(label, values(statistic), keys)
    means, stds = values("mean"), values("std")

    def edge(sign: int) -> tuple[float | None, ...]:
        pairs = zip(means, stds, strict=True)
        return tuple(None if m is None or s is None else m + sign * s for m, s in pairs)

    line = Line(label, means, keys, edge(-1), edge(1), measure="mean", reach="std")
    return replace(line, min=values("min"), max=values("max")) if statistic == SPREAD else line


def short_names(series: Sequence[Series]) -> list[str]:
    """Return what distinguishes each series: "encoder" and "decoder", or "" of a single one.

    The components at which the names of all stacks begin or end are left out.
    """
    stacks = [one.stack.split(".") for one in series]
    if all(stack == stacks[0] for stack in stacks):
        stacks = [[] for _ in stacks]
    else:
        while len({stack[0] for stack in stacks}) == 1 and min(map(len, stacks)) > 1:
            stacks = [stack[1:] for stack in stacks]
        while len({stack[-1] for stack in stacks}) == 1 and min(map(len, stacks)) > 1:
            stacks = [stack[:-1] for stack in stacks]
    parts = [one.part or "output" for one in series]
    is_same = len(set(parts)) == 1
    return [
        ": ".join(filter(None, (".".join(stack), "" if is_same else part)))
        for stack, part in zip(stacks, parts, strict=True)
    ]


def _chart(
    lines: Sequence[Line], statistic: str, figures: Iterable[Statistics | None]
) -> LineChart:
    longest = max((len(line.values) for line in lines), default=0)
    title = SPREAD if statistic == BAND else statistic
    if any(line.min is not None for line in lines):
        title = translate("charts", "{0}, min, max").format(title)
    # A mean may be 0 but for the rounding of elements that are much larger.
    sizes = (found.rms for found in figures if found and found.rms and isfinite(found.rms))
    return LineChart(
        tuple(lines),
        translate("charts", "Layer"),
        title,
        tuple(map(str, range(longest))),
        bounds=_BOUNDS.get(statistic, ANY),
        is_whole=statistic.endswith("_count"),
        scale=0.0 if statistic in _BOUNDS else max(sizes, default=0.0),
    )
