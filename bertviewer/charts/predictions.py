"""What a head makes of each hidden state of one token, for a few tokens of the vocabulary.

What a head over the vocabulary predicts, as tables.
"""

from collections.abc import Sequence
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
    TableCell,
    TableColumn,
    baseline_cells,
    column_header,
    comparison_columns,
    corner_header,
    logit_cell,
    probability_cell,
    probability_text,
)
from bertviewer.charts.token_charts import state_keys
from bertviewer.charts.translation import translate
from bertviewer.core.analysis.predictions import Candidate, Guess, Predictions
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.sources.families import MASK_TOKENS
from bertviewer.core.util.numbers import number_text
from bertviewer.core.util.text import isolated, without_isolates

LensFigure = Literal["probability", "rank"]


class FollowedToken(Struct, frozen=True):
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
    run: ActivationRun,
    predictions: Predictions,
    followed: Sequence[FollowedToken],
    figure: LensFigure,
) -> LineChart:
    """Return a line for each token: its probability or its rank at each hidden state.

    Points stand for the modules that gave the states. Ranks are from 1 and on a logarithmic axis.
    """
    scores = predictions.scores
    states = range(len(predictions.layers))
    places = state_keys(run, predictions.position)[: len(states)]
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


LENS_TOP = 5


def candidates_table(
    run: ActivationRun, b: Predictions, a: Predictions | None = None, is_compared: bool = False
) -> DataTable:
    """Return the likeliest tokens, the actual one in bold and also where it is less likely.

    If ``is_compared``, A's probabilities of the same tokens stand beside them, and below them
    those that are likely in A alone.
    """
    expected = expected_id(run, b)
    texts = {one.id: one.text for guess in (a and a.guess, b.guess) if guess for one in guess.top}
    if expected is not None and b.expected is not None:
        texts.setdefault(expected, run.tokens[b.expected].text)
    others = () if a is None else tuple(one.id for one in a.guess.top)
    actual = () if expected is None else (expected,)
    shown = dict.fromkeys((*(one.id for one in b.guess.top), *actual, *others))
    rows = [_candidate_row(number, texts, b, a, number == expected) for number in shown]
    chance = translate("charts", "Probability")
    chances: tuple[TableColumn, ...] = comparison_columns(chance, "bar")
    if not is_compared:
        chances = (TableColumn(chance, "bar"),)
        rows = [(*row[:3], row[-1]) for row in rows]
    columns = (
        _of_b(translate("charts", "Rank"), is_compared),
        TableColumn(translate("charts", "Token"), name=_subject(run, b)),
        *chances,
        _of_b(translate("charts", "Logit"), is_compared),
    )
    return DataTable(columns, tuple(rows))


def _of_b(title: str, is_compared: bool) -> TableColumn:
    return TableColumn(title, "number", column_header("B", title) if is_compared else title)


def _subject(run: ActivationRun, predictions: Predictions) -> str:
    """Return what is predicted where, as data tell it: they are read without the window."""
    return without_isolates(
        translate("charts", "Token predicted at {0}").format(token_name(run, predictions.position))
    )


def _candidate_row(
    number: int,
    texts: dict[int, str],
    b: Predictions,
    a: Predictions | None,
    is_actual: bool,
) -> tuple[TableCell, ...]:
    assert b.scores is not None, "predictions have their scores"
    mine = b.scores.probability(number)
    other = None if a is None or a.scores is None else a.scores.probability(number)
    rank = b.scores.rank(number)
    text = visible(texts[number])
    return (
        EMPTY if rank is None else TableCell(rank, f"{rank:,}"),
        TableCell(text, text, tip=f"{isolated(text)}, id {number}", is_bold=is_actual),
        probability_cell(mine),
        *baseline_cells(mine, other),
        logit_cell(b.scores.logit(number)),
    )


def lens_table(run: ActivationRun, predictions: Predictions, run_name: str = "") -> DataTable:
    """Return the best tokens after each layer, the last layer first.

    The actual token is in bold; where that is not known, the one that the model ends at.
    ``run_name`` is A or B where there are both.
    """
    followed = expected_id(run, predictions)
    if followed is None:
        followed = predictions.guess.top[0].id
    count = len(predictions.layers)
    top = range(min([LENS_TOP, *(len(guess.top) for guess in predictions.layers)]))
    states = tuple(reversed(range(count)))
    labels, ticks = axis_labels(run), state_ticks(run)
    names = names_of_states(run)
    rows = tuple(
        (
            TableCell(ticks[state], labels[state], tip=names[state]),
            *(_lens_cell(predictions.layers[state], rank, names[state], followed) for rank in top),
        )
        for state in states
    )
    subject = column_header(run_name, _subject(run, predictions))
    corner = corner_header(translate("charts", "Layer"), translate("charts", "Rank"), subject)
    columns = (
        TableColumn(translate("charts", "Layer"), name=corner),
        *(TableColumn(str(rank + 1), "shade") for rank in top),
    )
    places = tuple(
        SelectionKey(run.state_path(state, predictions.position) or None) for state in states
    )
    return DataTable(columns, rows if count else (), places)


def _lens_cell(guess: Guess, rank: int, name: str, followed: int) -> TableCell:
    one: Candidate = guess.top[rank]
    text = visible(one.text)
    chance, logit = number_text(one.probability), number_text(one.logit)
    tip = translate("charts", "{0}, rank {1} at {2}: probability {3}, logit {4}, id {5}").format(
        isolated(text), rank + 1, name, chance, logit, one.id
    )
    return TableCell(text, text, one.probability, tip, one.id == followed)


def followed_tokens(run: ActivationRun, predictions: Predictions, most: int) -> list[FollowedToken]:
    """Return the actual token, where it is known, and some of those that the model ends at."""
    expected = expected_id(run, predictions)
    found = []
    if expected is not None and predictions.expected is not None:
        text = isolated(visible(run.tokens[predictions.expected].text))
        found.append(FollowedToken(expected, translate("charts", "{0} (actual)").format(text)))
    best = [one for one in predictions.guess.top if one.id != expected]
    return [*found, *(FollowedToken(one.id, isolated(visible(one.text))) for one in best[:most])]


def actual_summary(run: ActivationRun, predictions: Predictions) -> str:
    """Return the rank and the probability of the actual token in words, "" if it is not known."""
    expected, scores = expected_id(run, predictions), predictions.scores
    if expected is None or predictions.expected is None or scores is None:
        return ""
    rank, chance = scores.rank(expected), scores.probability(expected)
    if rank is None or chance is None:
        return ""
    text = isolated(visible(run.tokens[predictions.expected].text))
    says = translate("charts", "Actual: {0}, rank {1}, probability {2}")
    return says.format(text, f"{rank:,}", probability_text(chance))
