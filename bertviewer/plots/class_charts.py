"""What a classifier says token by token, as charts."""

from collections.abc import Mapping

import numpy as np

from bertviewer.core.analysis.class_scores import ClassScores
from bertviewer.core.run.activation_run import ActivationRun
from bertviewer.plots.chart import GridChart, Line, LineChart, Place
from bertviewer.plots.token_norms import token_names


def label_grid(run: ActivationRun, scores: ClassScores) -> GridChart:
    """Return the probability of each label (rows) at each token (columns)."""
    tokens = [run.tokens[place] for place in scores.tokens]
    probabilities = scores.logits if scores.probabilities is None else scores.probabilities
    return GridChart(
        values=np.asarray(probabilities, dtype=np.float64).T,
        rows=scores.labels,
        columns=tuple(token.text for token in tokens),
        column_places=tuple(Place(token=place) for place in scores.tokens),
        x_title="Token",
        y_title="Label",
        value_title="Probability",
        is_top_down=True,
        levels=(0.0, 1.0),
        column_names=tuple(token_names(run.tokens)[place] for place in scores.tokens),
    )


def answer_chart(
    run: ActivationRun, scores: ClassScores, partners: Mapping[int, int] | None = None
) -> LineChart:
    """Return at which token the answer begins and ends: two lines of probabilities.

    ``run`` has the tokens of the axis. Where ``scores`` are those of another run, ``partners`` has
    the place of each token there.
    """
    probabilities = scores.logits if scores.probabilities is None else scores.probabilities
    rows = dict(zip(scores.tokens, probabilities.tolist(), strict=True))
    places = [
        place if partners is None else partners.get(place) for place in range(len(run.tokens))
    ]
    lines = tuple(
        Line(
            label,
            tuple(None if at is None or at not in rows else rows[at][column] for at in places),
            tuple(Place(token=place) for place in range(len(run.tokens))),
        )
        for column, label in enumerate(scores.labels)
    )
    ticks = tuple(token.text for token in run.tokens)
    return LineChart(lines, "Token", "Probability", ticks)
