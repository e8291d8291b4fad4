"""One feature of the hidden states, as charts: over the layers, and token by token."""

from collections.abc import Sequence

from msgspec.structs import replace

from bertviewer.charts.chart import GridChart, Line, LineChart
from bertviewer.charts.naming import axis_labels, state_ticks
from bertviewer.charts.place import Place
from bertviewer.charts.token_norms import norms_chart
from bertviewer.charts.translation import translate
from bertviewer.core.analysis.outliers import MeanStd, feature_path
from bertviewer.core.analysis.tokens import TokenClass
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.statistics.accumulators import DEVIATIONS

_LIMITS_COLOR = 5


def feature_chart(
    run: ActivationRun,
    feature: int,
    classes: Sequence[TokenClass],
    levels: Sequence[MeanStd | None] = (),
) -> LineChart:
    """Return a feature's mean over the tokens of each class, with its extremes, state by state.

    With the states' levels there is a further line, the mean of all features, in a band of six
    standard deviations to either side: what is outside of it is an outlier. Extremes of several
    classes are left out.
    """
    lines = [_class_line(run, feature, kind) for kind in classes]
    if len(lines) > 1:
        lines = [replace(line, min=None, max=None) for line in lines]
    if levels:
        lines.append(_limits(levels))
    ticks = axis_labels(run)[: len(run.hidden_states)]
    title = translate("charts", "Layer")
    names = state_ticks(run)[: len(ticks)]
    measures = _name(feature)
    if any(line.min is not None for line in lines):
        measures = translate("charts", "{0}: mean, min, max").format(measures)
    return LineChart(tuple(lines), title, measures, ticks, tick_names=names)


def feature_grid(run: ActivationRun, feature: int) -> GridChart:
    """Return a feature's value for every token (columns) in every hidden state (rows)."""
    values, title = feature_path(run, feature).values, _name(feature)
    return replace(norms_chart(run), values=values, value_title=title, is_signed=True)


def _name(feature: int) -> str:
    return translate("charts", "feature {0}").format(feature)


def _class_line(run: ActivationRun, feature: int, kind: TokenClass) -> Line:
    path, name = feature_path(run, feature, kind.tokens), _name(feature)
    return Line(
        name if kind.name == "all" else kind.label,
        path.means,
        tuple(Place(run.state_path(n, kind.tokens[0])) for n in range(len(path.means))),
        min=path.mins,
        max=path.maxs,
        measure=f"{name}, mean",
    )


def _limits(levels: Sequence[MeanStd | None]) -> Line:
    reach = [(level.mean, DEVIATIONS * level.std) if level else None for level in levels]
    return Line(
        translate("charts", "all features ± {0} std").format(f"{DEVIATIONS:g}"),
        tuple(found and found[0] for found in reach),
        low=tuple(found and found[0] - found[1] for found in reach),
        high=tuple(found and found[0] + found[1] for found in reach),
        color=_LIMITS_COLOR,
        measure="mean",
        reach=f"{DEVIATIONS:g} std",
    )
