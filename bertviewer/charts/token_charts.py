"""Charts of tokens in hidden states: norms, paths, similarities and single features."""

from collections.abc import Sequence
from typing import Any

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
from bertviewer.charts.levels import ANY, COSINES, SIZES, Levels, Values, levels_of
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

_LIMITS_COLOR = 5


class TracedToken(Struct, frozen=True):
    """A token whose path is drawn: its position, name and colour number."""

    token: int
    label: str
    color: int


class PathCharts(Struct, frozen=True):
    """A chart for each figure of ``TokenPath``, with a line for each token."""

    norms: LineChart
    to_start: LineChart
    to_before: LineChart


def state_chart(
    run: ActivationRun,
    lines: Sequence[Line],
    y_title: str,
    bounds: Levels,
    count: int | None = None,
    **options: Any,
) -> LineChart:
    """Return lines over the hidden states, or the first ``count`` of them."""
    return LineChart(
        tuple(lines),
        translate("charts", "Layer"),
        y_title,
        axis_labels(run)[:count],
        tick_names=state_ticks(run)[:count],
        bounds=bounds,
        **options,
    )


def state_keys(run: ActivationRun, token: int) -> tuple[SelectionKey, ...]:
    """Return what a token's vector selects in each hidden state: a module, and the token."""
    # An unknown module is None: "" would be the whole model.
    states = range(len(run.token_norms))
    return tuple(SelectionKey(run.state_path(state, token) or None, token) for state in states)


def path_charts(run: ActivationRun, traced: Sequence[TracedToken]) -> PathCharts:
    """Return the paths of tokens through the hidden states, beginning with the embeddings."""
    paths = [(one, token_path(run, one.token), state_keys(run, one.token)) for one in traced]

    def chart(name: str, title: str, bounds: Levels = COSINES) -> LineChart:
        lines = [
            Line(one.label, getattr(path, name), keys, color=one.color) for one, path, keys in paths
        ]
        return state_chart(run, lines, title, bounds)

    return PathCharts(
        chart("norms", translate("charts", "Norm"), SIZES),
        chart("to_start", translate("charts", "Cosine to embedding")),
        chart("to_before", translate("charts", "Cosine to previous layer")),
    )


def pair_chart(run: ActivationRun, first: int, second: int, label: str) -> LineChart:
    """Return the cosine of two tokens in every hidden state; its points select the first."""
    values = token_pair_path(run, first, second)
    line = Line(label, values, state_keys(run, first)[: len(values)])
    return state_chart(run, [line], translate("charts", "Cosine"), COSINES, len(run.hidden_states))


def word_chart(
    run: ActivationRun, pair: WordPair, label: str, other: ActivationRun | None = None
) -> LineChart:
    """Return the cosine of one word at two positions, or in two runs; its points select modules."""
    values = word_path(run, pair, other)
    keys = state_keys(run, pair.first.tokens[0])[: len(values)]
    line = Line(label, values, tuple(SelectionKey(key.path) for key in keys))
    return state_chart(run, [line], translate("charts", "Cosine"), COSINES, len(run.hidden_states))


def feature_chart(
    run: ActivationRun,
    feature: int,
    classes: Sequence[TokenClass],
    levels: Sequence[MeanStd | None] = (),
) -> LineChart:
    """Return the mean of a feature over each class of tokens, with extremes if it is only one.

    With the ``levels`` of the hidden states, a further line has the mean of all features in a band
    of six standard deviations: a feature outside is an outlier.
    """
    name, lines = _feature(feature), []
    for kind in classes:
        path = feature_path(run, feature, kind.tokens)
        states = range(len(path.means))
        line = Line(
            name if kind.name == "all" else kind.label,
            path.means,
            tuple(SelectionKey(run.state_path(state, kind.tokens[0])) for state in states),
            measure=f"{name}, mean",
        )
        if len(classes) == 1:
            line = replace(line, min=path.mins, max=path.maxs)
        lines.append(line)
    if levels:
        lines.append(_limits(levels))
    title = name if len(classes) != 1 else translate("charts", "{0}: mean, min, max").format(name)
    return state_chart(run, lines, title, ANY, len(run.hidden_states))


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


def _feature(feature: int) -> str:
    return translate("charts", "feature {0}").format(feature)


def norms_chart(run: ActivationRun) -> GridChart:
    """Return ‖h‖ of every token (columns) in every hidden state (rows, the embeddings first)."""
    count = len(run.token_norms)
    values = [[np.nan if value is None else value for value in row] for row in run.token_norms]
    split = _split(run)

    def keys(token: int) -> tuple[SelectionKey, ...]:
        paths = [run.state_path(state, token) for state in range(count)] if run.tokens else []
        return tuple(map(SelectionKey, paths))

    return _token_grid(
        run,
        np.array(values, dtype=np.float64).reshape(count, -1 if count else 0),
        (keys(0), keys(0 if split is None else split)),
        rows=axis_labels(run),
        row_names=names_of_states(run),
    )


def feature_grid(run: ActivationRun, feature: int) -> GridChart:
    """Return the value of a feature for every token (columns) in every hidden state (rows)."""
    values = feature_path(run, feature).values
    return replace(norms_chart(run), values=values, value_title=_feature(feature), is_signed=True)


def part_norms_chart(
    run: ActivationRun, series: Sequence[Series], measured: Measured | None = None
) -> GridChart:
    """Return the norms of every token (columns) in a part of every layer (rows).

    The part of an encoder and of a decoder have the columns of their own tokens. ``measured`` has
    the calls before the last one, of which the run has no norms; without it they are empty.
    """
    count = max((len(one.paths) for one in series), default=0)
    values = np.full((count, len(run.tokens)), np.nan)
    keys = [SelectionKey()] * count, [SelectionKey()] * count
    for one in series:
        for row, (path, call) in enumerate(one.points()):
            norms = _norms(run, path, call, measured or {})
            tokens = None if norms is None else tokens_of_rows(run, path, len(norms))
            if norms is None or tokens is None:
                continue
            values[row, tokens.start : tokens.stop] = norms
            for side in (0, 1) if len(tokens) == len(run.tokens) else (int(tokens.start > 0),):
                keys[side][row] = SelectionKey(path)
    return _token_grid(
        run,
        values,
        (tuple(keys[0]), tuple(keys[1])),
        rows=tuple(map(str, range(count))),
        row_names=state_names(count + 1)[1:],
        subject=", ".join(dict.fromkeys(one.part for one in series if one.part)),
    )


def has_norms(run: ActivationRun, series: Sequence[Series]) -> bool:
    """Tell whether the run has the norms of some of these modules."""
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


def _split(run: ActivationRun) -> int | None:
    return next((n for n, token in enumerate(run.tokens) if token.segment == 1), None)


def _token_grid(
    run: ActivationRun,
    values: Values,
    keys: tuple[tuple[SelectionKey, ...], tuple[SelectionKey, ...]],
    **options: Any,
) -> GridChart:
    """Return a grid of norms; ``keys`` are those of the rows for both segments."""
    split = _split(run)
    # In an encoder the segments of a pair have the same keys.
    is_split = split is not None and keys[0] != keys[1]
    return GridChart(
        values=values,
        columns=tuple(token.text for token in run.tokens),
        row_keys=keys[0],
        column_keys=tuple(SelectionKey(token=n) for n in range(len(run.tokens))),
        x_title=translate("charts", "Token"),
        y_title=translate("charts", "Layer"),
        value_title=translate("charts", "Norm"),
        column_names=token_names(run.tokens),
        split=split if is_split else None,
        split_keys=keys[1] if is_split else (),
        column_starts=text_starts(run.tokens),
        **options,
    )


def similarity_chart(run: ActivationRun, state: int, is_whole: bool = False) -> GridChart:
    """Return the cosine of every token with every token in a hidden state; columns select tokens.

    Colours cover −1 to 1 if ``is_whole`` or where a cosine is negative, otherwise 0 to 1.
    """
    values = cosine_matrix(run.hidden_states[state])
    levels = COSINES if is_whole else levels_of(values, bounds=COSINES)
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
        is_signed=levels == COSINES,
        is_top_down=True,
        levels=levels,
        row_names=names,
        column_names=names,
        row_starts=starts,
        column_starts=starts,
        subject="".join(names_of_states(run)[state : state + 1]),
    )
