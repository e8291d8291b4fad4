"""The figures of a run layer by layer, as a chart."""

from collections.abc import Mapping, Sequence
from math import inf

from msgspec.structs import replace

from bertviewer.charts.chart import Line, LineChart
from bertviewer.charts.levels import PARTS, SIZES
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
"""What draws several statistics at once: a line with a band around it, and thin extremes."""
BAND = "mean ± std alone"
"""The same without the extremes, which are far outside of the band where features stand out."""
BOUNDS = {
    "std": SIZES,
    "rms": SIZES,
    "zero_fraction": PARTS,
    "nan_count": SIZES,
    "inf_count": SIZES,
}
"""What a statistic can be, where that is not any number."""

STATISTICS = (*STATISTIC_NAMES, SPREAD, BAND)
"""All that can be drawn layer by layer."""

Measured = Mapping[str, tuple[TokenStatistics, ...]]
"""The sums of modules token by token, for each call."""


def check_statistic(name: str) -> None:
    """Check that there is such a statistic.

    Raises:
        UserError: there is none.
    """
    if name not in STATISTICS:
        raise UserError(f"unknown statistic {name!r}: choose from {', '.join(STATISTICS)}")


def layer_chart(
    architecture: Architecture, run: ActivationRun, statistic: str, selected: str = ""
) -> LineChart:
    """Return a line for each stack of layers, and one for the selected part of a layer.

    ``statistic`` is one of ``STATISTICS``. Which lines there are
    depends on the run alone: every statistic gives the same ones, with ``None`` where it has no
    value.
    """
    series = layer_series(architecture, run)
    further = selected_series(architecture, run, selected)
    return series_chart(run, (*series, *further), statistic)


def selected_series(
    architecture: Architecture, run: ActivationRun, selected: str
) -> tuple[Series, ...]:
    """Return the part that the module at ``selected`` is, in its own stack; a layer is none."""
    stack, part = part_of(architecture, run, selected) or ("", "")
    found = layer_series(architecture, run, part) if part else ()
    return tuple(series for series in found if series.stack == stack)


def series_chart(run: ActivationRun, series: Sequence[Series], statistic: str) -> LineChart:
    """Return a line for each series, over all tokens; of several calls the last one counts."""
    calls = {module.path: module.calls for module in run.modules}
    lines = []
    for one in series:
        figures = [calls[path][call] if path in calls else None for path, call in one.points()]
        lines.append(_line(one, one.label, figures, statistic))
    return _chart(lines, statistic)


NotFinite = Mapping[str, Sequence[int]]
"""The positions at which a stack has a NaN or an Inf, by the stack; "" is the only one."""


def not_finite(run: ActivationRun, series: Sequence[Series]) -> NotFinite:
    """Return where series have a NaN or an Inf: no statistic takes them in."""
    calls = {module.path: module.calls for module in run.modules}
    has_several = len({one.stack for one in series}) > 1
    found: dict[str, set[int]] = {}
    for one in series:
        for place, (path, call) in enumerate(one.points()):
            if path in calls and calls[path][call].finite < calls[path][call].count:
                found.setdefault(one.stack if has_several else "", set()).add(place)
    return {stack: sorted(places) for stack, places in found.items()}


def token_class_chart(
    run: ActivationRun,
    series: Sequence[Series],
    statistic: str,
    classes: Sequence[TokenClass],
    measured: Measured,
) -> LineChart:
    """Return a line for each series and each class that it has tokens of.

    Lines are called after their class alone where there is just one series, and else after what
    tells that series from the others too.
    """
    lines = []
    for one, name in zip(series, short_names(series), strict=True):
        points = [_call(run, measured, *point) for point in one.points()]
        for kind in classes:
            figures = [point and _of_class(*point, kind) for point in points]
            if any(figures):
                label = f"{name} · {kind.label}" if name else kind.label
                line = _line(one, label, figures, statistic)
                lines.append(replace(line, name=f"{one.label} · {kind.label}"))
    if len(classes) > 1:
        # Bands may overlap; extremes of several classes would be a tangle.
        lines = [replace(line, min=None, max=None) for line in lines]
    return _chart(lines, statistic)


def _call(
    run: ActivationRun, measured: Measured, path: str, call: int
) -> tuple[TokenStatistics, range] | None:
    """Return what was measured in a call, and the tokens that it has a row for."""
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

    places = tuple(map(SelectionKey, series.paths))
    if statistic not in (SPREAD, BAND):
        return Line(label, values(statistic), places)
    means, stds = values("mean"), values("std")
    has_extremes = statistic == SPREAD
    return Line(
        label,
        means,
        places,
        low=_sums(means, stds, -1),
        high=_sums(means, stds, 1),
        min=values("min") if has_extremes else None,
        max=values("max") if has_extremes else None,
        measure="mean",
        reach="std",
    )


def short_names(series: Sequence[Series]) -> list[str]:
    """Return what tells each series from the others: "encoder" and "decoder"; "" of a single one.

    Of the names of their stacks, what all of them begin or end with is left out.
    """
    stacks = _without_common([one.stack.split(".") for one in series])
    parts = [one.part or "output" for one in series]
    is_same = len(set(parts)) == 1
    return [
        ": ".join(filter(None, (".".join(stack), "" if is_same else part)))
        for stack, part in zip(stacks, parts, strict=True)
    ]


def _without_common(names: list[list[str]]) -> list[list[str]]:
    """Return names without the beginning and the end that they share; at least one word stays."""
    if all(name == names[0] for name in names):
        return [[] for _ in names]
    while len({name[0] for name in names}) == 1 and min(map(len, names)) > 1:
        names = [name[1:] for name in names]
    while len({name[-1] for name in names}) == 1 and min(map(len, names)) > 1:
        names = [name[:-1] for name in names]
    return names


def _sums(
    values: Sequence[float | None], others: Sequence[float | None], factor: int
) -> tuple[float | None, ...]:
    return tuple(
        None if value is None or other is None else value + factor * other
        for value, other in zip(values, others, strict=True)
    )


def _chart(lines: Sequence[Line], statistic: str) -> LineChart:
    longest = max((len(line.values) for line in lines), default=0)
    has_extremes = any(line.min is not None for line in lines)
    title = SPREAD if statistic == BAND else statistic
    if has_extremes:
        title = translate("charts", "{0}, min, max").format(title)
    return LineChart(
        tuple(lines),
        translate("charts", "Layer"),
        title,
        tuple(map(str, range(longest))),
        bounds=BOUNDS.get(statistic, (-inf, inf)),
        is_whole=statistic.endswith("_count"),
    )
