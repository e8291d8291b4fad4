"""How alike the vectors of tokens are, as charts: all with all, or two layer by layer."""

from bertviewer.charts.chart import GridChart, Line, LineChart
from bertviewer.charts.levels import COSINES, levels_of
from bertviewer.charts.naming import axis_labels, names_of_states, state_ticks, token_names
from bertviewer.charts.place import Place
from bertviewer.charts.token_paths import state_places
from bertviewer.charts.translation import translate
from bertviewer.core.analysis.similarity import (
    WordPair,
    cosine_matrix,
    token_pair_path,
    word_path,
)
from bertviewer.core.analysis.tokens import text_starts
from bertviewer.core.schema.activation_run import ActivationRun


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
        column_places=tuple(Place(token=n) for n in range(len(texts))),
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
    return _chart(run, Line(label, values, state_places(run, first)[: len(values)]))


def word_chart(
    run: ActivationRun, pair: WordPair, label: str, other: ActivationRun | None = None
) -> LineChart:
    """Return the cosine of one word in two places; its points stand for modules alone.

    Where the pair is of two runs, ``other`` is the second one.
    """
    values = word_path(run, pair, other)
    places = state_places(run, pair.first.tokens[0])[: len(values)]
    line = Line(label, values, tuple(Place(place.path) for place in places))
    return _chart(run, line)


def _chart(run: ActivationRun, line: Line) -> LineChart:
    titles = (
        translate("charts", "Layer"),
        translate("charts", "Cosine"),
    )
    ticks = axis_labels(run)[: len(run.hidden_states)]
    names = state_ticks(run)[: len(ticks)]
    return LineChart((line,), *titles, ticks, tick_names=names, bounds=COSINES)
