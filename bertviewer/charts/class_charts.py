"""What a classifier says token by token, as charts."""

from collections.abc import Mapping, Sequence

import numpy as np

from bertviewer.charts.chart import GridChart, Line, LineChart
from bertviewer.charts.levels import PARTS
from bertviewer.charts.naming import token_names
from bertviewer.charts.place import Place
from bertviewer.charts.translation import translate
from bertviewer.core.analysis.predictions import ClassScores
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.util.text import isolated


def label_grid(run: ActivationRun, scores: ClassScores) -> GridChart:
    """Return the probability of each label (rows) at each token (columns)."""
    tokens = [run.tokens[place] for place in scores.tokens]
    names = token_names(run.tokens)
    probabilities = scores.logits if scores.probabilities is None else scores.probabilities
    return GridChart(
        values=np.asarray(probabilities, dtype=np.float64).T,
        rows=scores.labels,
        columns=tuple(token.text for token in tokens),
        column_places=tuple(Place(token=place) for place in scores.tokens),
        x_title=translate("charts", "Token"),
        y_title=translate("charts", "Label"),
        value_title=translate("charts", "Probability"),
        is_top_down=True,
        levels=(0.0, 1.0),
        column_names=tuple(names[place] for place in scores.tokens),
    )


def answer_chart(
    run: ActivationRun,
    tokens: Sequence[int],
    scores: ClassScores,
    partners: Mapping[int, int] | None = None,
) -> LineChart:
    """Return at which token the answer begins and ends: two lines of probabilities.

    ``tokens`` are the places in ``run`` that the axis is of: those that the run's own scores are
    for, which in an encoder-decoder are the encoder's. Where ``scores`` are those of another run,
    ``partners`` has the place of each token there.
    """
    probabilities = scores.logits if scores.probabilities is None else scores.probabilities
    rows = dict(zip(scores.tokens, probabilities.tolist(), strict=True))
    places = [place if partners is None else partners.get(place) for place in tokens]
    lines = tuple(
        Line(
            label,
            tuple(None if at is None or at not in rows else rows[at][column] for at in places),
            tuple(Place(token=place) for place in tokens),
        )
        for column, label in enumerate(scores.labels)
    )
    ticks = tuple(run.tokens[place].text for place in tokens)
    titles = (
        translate("charts", "Token"),
        translate("charts", "Probability"),
    )
    names = tuple(f"{isolated(text)} ({place})" for text, place in zip(ticks, tokens, strict=True))
    return LineChart(lines, *titles, ticks, tick_names=names, bounds=PARTS)
