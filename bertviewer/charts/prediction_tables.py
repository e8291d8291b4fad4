"""What a head over the vocabulary predicts, as tables."""

from bertviewer.charts.figures import (
    NOTHING,
    Figure,
    FigureColumn,
    FigureTable,
    compared,
    of_both_runs,
    probability,
    probability_text,
    score,
)
from bertviewer.charts.lens import Followed, expected_id
from bertviewer.charts.naming import axis_labels, names_of_states, state_ticks, token_name, visible
from bertviewer.charts.place import Place
from bertviewer.charts.table import column_header, corner_header
from bertviewer.charts.translation import translate
from bertviewer.core.analysis.predictions import Candidate, Guess, Predictions
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.util.numbers import number_text
from bertviewer.core.util.text import isolated, without_isolates

LENS_TOP = 5


def candidates_table(
    run: ActivationRun, b: Predictions, a: Predictions | None = None, is_compared: bool = False
) -> FigureTable:
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
    chances: tuple[FigureColumn, ...] = of_both_runs(chance, "bar")
    if not is_compared:
        chances = (FigureColumn(chance, "bar"),)
        rows = [(*row[:3], row[-1]) for row in rows]
    columns = (
        _of_b(translate("charts", "Rank"), is_compared),
        FigureColumn(translate("charts", "Token"), name=_subject(run, b)),
        *chances,
        _of_b(translate("charts", "Logit"), is_compared),
    )
    return FigureTable(columns, tuple(rows))


def _of_b(title: str, is_compared: bool) -> FigureColumn:
    return FigureColumn(title, "number", column_header("B", title) if is_compared else title)


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
) -> tuple[Figure, ...]:
    assert b.scores is not None, "predictions have their scores"
    mine = b.scores.probability(number)
    other = None if a is None or a.scores is None else a.scores.probability(number)
    rank = b.scores.rank(number)
    text = visible(texts[number])
    return (
        NOTHING if rank is None else Figure(rank, f"{rank:,}"),
        Figure(text, text, tip=f"{isolated(text)}, id {number}", is_bold=is_actual),
        probability(mine),
        *compared(mine, other),
        score(b.scores.logit(number)),
    )


def lens_table(run: ActivationRun, predictions: Predictions, run_name: str = "") -> FigureTable:
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
            Figure(ticks[state], labels[state], tip=names[state]),
            *(_lens_cell(predictions.layers[state], rank, names[state], followed) for rank in top),
        )
        for state in states
    )
    subject = column_header(run_name, _subject(run, predictions))
    corner = corner_header(translate("charts", "Layer"), translate("charts", "Rank"), subject)
    columns = (
        FigureColumn(translate("charts", "Layer"), name=corner),
        *(FigureColumn(str(rank + 1), "shade") for rank in top),
    )
    places = tuple(Place(run.state_path(state, predictions.position) or None) for state in states)
    return FigureTable(columns, rows if count else (), places)


def _lens_cell(guess: Guess, rank: int, name: str, followed: int) -> Figure:
    one: Candidate = guess.top[rank]
    text = visible(one.text)
    chance, logit = number_text(one.probability), number_text(one.logit)
    tip = translate("charts", "{0}, rank {1} at {2}: probability {3}, logit {4}, id {5}").format(
        isolated(text), rank + 1, name, chance, logit, one.id
    )
    return Figure(text, text, one.probability, tip, one.id == followed)


def followed_tokens(run: ActivationRun, predictions: Predictions, most: int) -> list[Followed]:
    """Return the actual token, where it is known, and some of those that the model ends at."""
    expected = expected_id(run, predictions)
    found = []
    if expected is not None and predictions.expected is not None:
        text = isolated(visible(run.tokens[predictions.expected].text))
        found.append(Followed(expected, translate("charts", "{0} (actual)").format(text)))
    best = [one for one in predictions.guess.top if one.id != expected]
    return [*found, *(Followed(one.id, isolated(visible(one.text))) for one in best[:most])]


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
