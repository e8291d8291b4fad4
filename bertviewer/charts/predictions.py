"""Tables and charts of vocabulary heads: candidates, and the logit lens layer by layer."""

from collections.abc import Callable, Sequence
from math import inf
from typing import Literal

from msgspec import Struct

from bertviewer.charts.chart import Line, LineChart
from bertviewer.charts.labels import axis_labels, names_of_states, state_ticks, token_name, visible
from bertviewer.charts.levels import PARTS
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.charts.table import (
    EMPTY,
    DataTable,
    Field,
    TableCell,
    TableColumn,
    column_header,
    corner_header,
    data_table,
    field,
    logit_cell,
    probability_text,
    runs_field,
)
from bertviewer.charts.token_charts import state_chart, state_keys
from bertviewer.charts.translation import translate
from bertviewer.core.analysis.predictions import Predictions
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.sources.families import MASK_TOKENS
from bertviewer.core.util.numbers import number_text
from bertviewer.core.util.text import isolated, without_isolates

LensFigure = Literal["probability", "rank"]
_LENS_TOP = 5


class FollowedToken(Struct, frozen=True):
    """A token of the vocabulary that is followed through the layers, and its name."""

    id: int
    label: str


def expected_id(run: ActivationRun, predictions: Predictions) -> int | None:
    """Return the id of the actual token, ``None`` if it is masked or none follows."""
    if predictions.expected is None:
        return None
    token = run.tokens[predictions.expected]
    return None if token.text in MASK_TOKENS else token.id


def lens_chart(
    run: ActivationRun,
    predictions: Predictions,
    followed: Sequence[FollowedToken],
    figure: LensFigure,
) -> LineChart:
    """Return each token's probability or rank at each hidden state; ranks begin at 1."""
    scores, is_rank = predictions.scores, figure == "rank"
    states = range(len(predictions.layers))
    keys = state_keys(run, predictions.position)[: len(states)]
    lines = tuple(
        Line(
            one.label,
            tuple(getattr(scores, figure)(one.id, state) for state in states),
            keys,
            color=color,
        )
        for color, one in enumerate(followed if scores is not None else ())
    )
    title = translate("charts", "Rank") if is_rank else translate("charts", "Probability")
    bounds = (1.0, inf if scores is None else scores.logits.shape[1]) if is_rank else PARTS
    return state_chart(run, lines, title, bounds, len(states), is_log=is_rank)


def candidates_table(
    run: ActivationRun, b: Predictions, a: Predictions | None = None, is_compared: bool = False
) -> DataTable:
    """Return the most probable tokens and the actual one, in bold.

    If ``is_compared``, with A's probabilities, and with the most probable tokens of A.
    """
    assert b.scores is not None, "predictions have their scores"
    scores, other = b.scores, None if a is None else a.scores
    expected = expected_id(run, b)
    guesses = [guess for guess in (a and a.guess, b.guess) if guess]
    texts = {one.id: one.text for guess in guesses for one in guess.top}
    ids = [one.id for one in b.guess.top]
    if expected is not None and b.expected is not None:
        texts.setdefault(expected, run.tokens[b.expected].text)
        ids.append(expected)
    if a is not None:
        ids += [one.id for one in a.guess.top]

    def rank(token: int) -> TableCell:
        found = scores.rank(token)
        return EMPTY if found is None else TableCell(found, f"{found:,}")

    def text(token: int) -> TableCell:
        shown = visible(texts[token])
        tip = f"{isolated(shown)}, id {token}"
        return TableCell(shown, shown, tip=tip, is_bold=token == expected)

    def probabilities(token: int) -> tuple[float | None, float | None]:
        return scores.probability(token), None if other is None else other.probability(token)

    def of_b(title: str, cell: Callable[[int], TableCell]) -> Field:
        return field(title, cell, "number", column_header("B", title) if is_compared else title)

    fields = [
        of_b(translate("charts", "Rank"), rank),
        field(translate("charts", "Token"), text, name=_subject(run, b)),
        runs_field(
            translate("charts", "Probability"), probabilities, is_compared=is_compared, kind="bar"
        ),
        of_b(translate("charts", "Logit"), lambda token: logit_cell(scores.logit(token))),
    ]
    return data_table(fields, dict.fromkeys(ids))


def lens_table(run: ActivationRun, predictions: Predictions, run_name: str = "") -> DataTable:
    """Return the most probable tokens after each layer, the last layer first.

    The actual token is in bold, or the final prediction if the actual token is unknown.
    ``run_name`` is A or B if there are both.
    """
    followed = expected_id(run, predictions)
    if followed is None:
        followed = predictions.guess.top[0].id
    labels, ticks, names = axis_labels(run), state_ticks(run), names_of_states(run)
    layers = predictions.layers
    top = range(min([_LENS_TOP, *(len(guess.top) for guess in layers)]))
    tip = translate("charts", "{0}, rank {1} at {2}: probability {3}, logit {4}, id {5}")

    def layer(state: int) -> TableCell:
        return TableCell(ticks[state], labels[state], tip=names[state])

    def candidates(state: int) -> list[TableCell]:
        cells = []
        for rank, one in enumerate(layers[state].top[: len(top)], 1):
            text, chance = visible(one.text), one.probability
            values = rank, names[state], number_text(chance), number_text(one.logit), one.id
            details = tip.format(isolated(text), *values)
            cells.append(TableCell(text, text, chance, details, one.id == followed))
        return cells

    title = translate("charts", "Layer")
    subject = column_header(run_name, _subject(run, predictions))
    fields = [
        field(title, layer, name=corner_header(title, translate("charts", "Rank"), subject)),
        Field([TableColumn(str(rank + 1), "shade") for rank in top], candidates),
    ]
    states = range(len(layers) - 1, -1, -1)
    paths = (run.state_path(state, predictions.position) for state in states)
    return data_table(fields, states, (SelectionKey(path or None) for path in paths))


def _subject(run: ActivationRun, predictions: Predictions) -> str:
    """Return what is predicted where, for headers of exported data."""
    text = translate("charts", "Token predicted at {0}")
    return without_isolates(text.format(token_name(run, predictions.position)))


def followed_tokens(run: ActivationRun, predictions: Predictions, most: int) -> list[FollowedToken]:
    """Return the actual token, if it is known, and some of the most probable ones."""
    expected, found = expected_id(run, predictions), []
    if expected is not None and predictions.expected is not None:
        text = isolated(visible(run.tokens[predictions.expected].text))
        found.append(FollowedToken(expected, translate("charts", "{0} (actual)").format(text)))
    best = [one for one in predictions.guess.top if one.id != expected]
    return [*found, *(FollowedToken(one.id, isolated(visible(one.text))) for one in best[:most])]


def actual_summary(run: ActivationRun, predictions: Predictions) -> str:
    """Return the rank and the probability of the actual token, "" if they are unknown."""
    expected, scores = expected_id(run, predictions), predictions.scores
    if expected is None or predictions.expected is None or scores is None:
        return ""
    rank, probability = scores.rank(expected), scores.probability(expected)
    if rank is None or probability is None:
        return ""
    token = isolated(visible(run.tokens[predictions.expected].text))
    text = translate("charts", "Actual: {0}, rank {1}, probability {2}")
    return text.format(token, f"{rank:,}", probability_text(probability))
