"""The norms of a run's tokens as charts: in its hidden states, and in one part of every layer.

The ways of tokens through the hidden states, as charts: how long they are, how far they turn.

How alike the vectors of tokens are, as charts: all with all, or two layer by layer.

One feature of the hidden states, as charts: over the layers, and token by token.
"""

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from bertviewer.charts.chart import GridChart, Line, LineChart
from bertviewer.charts.labels import (
    axis_labels,
    names_of_states,
    state_names,
    state_ticks,
    token_names,
)
from bertviewer.charts.layers import Measured
from bertviewer.charts.levels import COSINES, SIZES, Levels, Values, levels_of
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.charts.translation import translate
from bertviewer.core.analysis.layers import Series
from bertviewer.core.analysis.outliers import MeanStd, feature_path
from bertviewer.core.analysis.similarity import (
    WordPair,
    cosine_matrix,
    token_pair_path,
    token_path,
    word_path,
)
from bertviewer.core.analysis.tokens import TokenClass, text_starts
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.statistics.accumulators import DEVIATIONS
from bertviewer.core.tensors.axes import tokens_of_rows


def norms_chart(run: ActivationRun) -> GridChart:
    """Return ‖h‖ of every token (columns) in every hidden state (rows, the embeddings first)."""
    count = len(run.token_norms)
    split = next((n for n, token in enumerate(run.tokens) if token.segment == 1), None)
    states = range(count)
    first = _places(run, states, 0)
    second = () if split is None else _places(run, states, split)
    return GridChart(
        values=np.array(
            [[np.nan if value is None else value for value in row] for row in run.token_norms],
            dtype=np.float64,
        ).reshape(count, -1 if count else 0),
        rows=axis_labels(run),
        columns=tuple(token.text for token in run.tokens),
        row_keys=first,
        column_keys=tuple(SelectionKey(token=n) for n in range(len(run.tokens))),
        x_title=translate("charts", "Token"),
        y_title=translate("charts", "Layer"),
        value_title=translate("charts", "Norm"),
        row_names=names_of_states(run),
        column_names=token_names(run.tokens),
        # A pair has two segments too, but one stack reads both.
        split=split if second != first else None,
        split_keys=second if second != first else (),
        column_starts=text_starts(run.tokens),
    )


def _places(run: ActivationRun, states: range, token: int) -> tuple[SelectionKey, ...]:
    return (
        tuple(SelectionKey(run.state_path(state, token)) for state in states) if run.tokens else ()
    )


def part_norms_chart(
    run: ActivationRun, series: Sequence[Series], measured: Measured | None = None
) -> GridChart:
    """Return the norms of every token (columns) in a part of every layer (rows).

    An encoder's part and a decoder's have the columns of their own tokens. ``measured`` is asked
    for the calls before the last one, which the run has no norms of; without it they stay empty.
    """
    count = max((len(one.paths) for one in series), default=0)
    values = np.full((count, len(run.tokens)), np.nan)
    places: list[list[SelectionKey]] = [[SelectionKey()] * count, [SelectionKey()] * count]
    split = next((n for n, token in enumerate(run.tokens) if token.segment == 1), None)
    for one in series:
        for row, (path, call) in enumerate(one.points()):
            norms = _norms(run, path, call, measured or {})
            tokens = None if norms is None else tokens_of_rows(run, path, len(norms))
            if norms is None or tokens is None:
                continue
            values[row, tokens.start : tokens.stop] = norms
            for side in (0, 1) if len(tokens) == len(run.tokens) else (int(tokens.start > 0),):
                places[side][row] = SelectionKey(path)
    is_split = split is not None and places[0] != places[1]
    return GridChart(
        values=values,
        rows=tuple(map(str, range(count))),
        columns=tuple(token.text for token in run.tokens),
        row_keys=tuple(places[0]),
        column_keys=tuple(SelectionKey(token=n) for n in range(len(run.tokens))),
        x_title=translate("charts", "Token"),
        y_title=translate("charts", "Layer"),
        value_title=translate("charts", "Norm"),
        row_names=state_names(count + 1)[1:],
        column_names=token_names(run.tokens),
        split=split if is_split else None,
        split_keys=tuple(places[1]) if is_split else (),
        subject=", ".join(dict.fromkeys(one.part for one in series if one.part)),
        column_starts=text_starts(run.tokens),
    )


def has_norms(run: ActivationRun, series: Sequence[Series]) -> bool:
    """Return whether the run itself has the norms of some of these modules."""
    return any(
        (norms := _norms(run, path, -1, {})) is not None
        and tokens_of_rows(run, path, len(norms)) is not None
        for one in series
        for path in dict.fromkeys(one.paths)
    )


def _norms(run: ActivationRun, path: str, call: int, measured: Measured) -> Values | None:
    calls = measured.get(path, ())
    if 0 <= call < len(calls):
        return calls[call].norms
    activation = run.activation(path)
    if activation is None or call not in (-1, len(activation.calls) - 1):
        return None
    return activation.token_norms


class TracedToken(Struct, frozen=True):
    """A token whose way is drawn: its place in the run, its name, the number of its colour."""

    token: int
    label: str
    color: int


class PathCharts(Struct, frozen=True):
    """A chart for each figure of ``TokenPath``, each with a line for each token."""

    norms: LineChart
    to_start: LineChart
    to_before: LineChart


def path_charts(run: ActivationRun, traced: Sequence[TracedToken]) -> PathCharts:
    """Return the ways of these tokens through the hidden states, the embeddings first."""
    paths = [(token, token_path(run, token.token)) for token in traced]
    places = {token.token: state_keys(run, token.token) for token in traced}

    def chart(name: str, title: str, bounds: Levels = COSINES) -> LineChart:
        lines = tuple(
            Line(token.label, getattr(path, name), places[token.token], color=token.color)
            for token, path in paths
        )
        return LineChart(
            lines,
            translate("charts", "Layer"),
            title,
            axis_labels(run),
            tick_names=state_ticks(run),
            bounds=bounds,
        )

    return PathCharts(
        chart("norms", translate("charts", "Norm"), SIZES),
        chart("to_start", translate("charts", "Cosine to embedding")),
        chart("to_before", translate("charts", "Cosine to previous layer")),
    )


def state_keys(run: ActivationRun, token: int) -> tuple[SelectionKey, ...]:
    """Return what a token's vector stands for in each hidden state: a module, and the token."""
    states = range(len(run.token_norms))
    # A state whose module is not known has the name of none, and not that of the whole model.
    return tuple(SelectionKey(run.state_path(state, token) or None, token) for state in states)


def similarity_chart(run: ActivationRun, state: int, is_whole: bool = True) -> GridChart:
    """Return the cosine of every token with every token in a hidden state.

    A column stands for its token. Colours cover all that a cosine can be, or, if not ``is_whole``,
    what the cosines of this state are.
    """
    values = cosine_matrix(run.hidden_states[state])
    texts = tuple(token.text for token in run.tokens)
    names, starts = token_names(run.tokens), text_starts(run.tokens)
    return GridChart(
        values=values,
        rows=texts,
        columns=texts,
        column_keys=tuple(SelectionKey(token=n) for n in range(len(texts))),
        x_title=translate("charts", "Token"),
        y_title=translate("charts", "Token"),
        value_title=translate("charts", "Cosine"),
        is_signed=is_whole,
        is_top_down=True,
        levels=COSINES if is_whole else levels_of(values),
        row_names=names,
        column_names=names,
        row_starts=starts,
        column_starts=starts,
        subject="".join(names_of_states(run)[state : state + 1]),
    )


def pair_chart(run: ActivationRun, first: int, second: int, label: str) -> LineChart:
    """Return the cosine of two tokens in every hidden state; its points stand for the first."""
    values = token_pair_path(run, first, second)
    return _chart(run, Line(label, values, state_keys(run, first)[: len(values)]))


def word_chart(
    run: ActivationRun, pair: WordPair, label: str, other: ActivationRun | None = None
) -> LineChart:
    """Return the cosine of one word in two places; its points stand for modules alone.

    Where the pair is of two runs, ``other`` is the second one.
    """
    values = word_path(run, pair, other)
    places = state_keys(run, pair.first.tokens[0])[: len(values)]
    line = Line(label, values, tuple(SelectionKey(place.path) for place in places))
    return _chart(run, line)


def _chart(run: ActivationRun, line: Line) -> LineChart:
    titles = (
        translate("charts", "Layer"),
        translate("charts", "Cosine"),
    )
    ticks = axis_labels(run)[: len(run.hidden_states)]
    names = state_ticks(run)[: len(ticks)]
    return LineChart((line,), *titles, ticks, tick_names=names, bounds=COSINES)


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
        tuple(SelectionKey(run.state_path(n, kind.tokens[0])) for n in range(len(path.means))),
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
