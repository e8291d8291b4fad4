"""What a head makes of each hidden state of one token, for a few tokens of the vocabulary."""

from collections.abc import Sequence
from math import inf
from typing import Literal

from msgspec import Struct

from bertviewer.charts.chart import Line, LineChart
from bertviewer.charts.levels import PARTS
from bertviewer.charts.naming import axis_labels, state_ticks
from bertviewer.charts.token_paths import state_places
from bertviewer.charts.translation import translate
from bertviewer.core.analysis.predictions import Predictions
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.sources.families import MASK_TOKENS

LensFigure = Literal["probability", "rank"]


class Followed(Struct, frozen=True):
    """A token of the vocabulary that is followed through the layers, and its name."""

    id: int
    label: str


def expected_id(run: ActivationRun, predictions: Predictions) -> int | None:
    """Return the token that should be predicted, ``None`` where a mask hides it or none follows."""
    if predictions.expected is None:
        return None
    token = run.tokens[predictions.expected]
    return None if token.text in MASK_TOKENS else token.id


def lens_chart(
    run: ActivationRun, predictions: Predictions, followed: Sequence[Followed], figure: LensFigure
) -> LineChart:
    """Return a line for each token: its probability or its rank at each hidden state.

    Points stand for the modules that gave the states. Ranks are from 1 and on a logarithmic axis.
    """
    scores = predictions.scores
    states = range(len(predictions.layers))
    places = state_places(run, predictions.position)[: len(states)]
    lines = tuple(
        Line(
            one.label,
            tuple(getattr(scores, figure)(one.id, state) for state in states),
            places,
            color=color,
        )
        for color, one in enumerate(followed)
        if scores is not None
    )
    is_rank = figure == "rank"
    title = translate("charts", "Rank") if is_rank else translate("charts", "Probability")
    return LineChart(
        lines,
        translate("charts", "Layer"),
        title,
        axis_labels(run)[: len(states)],
        is_log=is_rank,
        tick_names=state_ticks(run)[: len(states)],
        bounds=(1.0, inf if scores is None else scores.logits.shape[1]) if is_rank else PARTS,
    )
