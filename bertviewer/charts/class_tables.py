"""What a classifier says, as tables."""

from collections.abc import Mapping
from itertools import groupby

from bertviewer.charts.figures import (
    Figure,
    FigureColumn,
    FigureTable,
    compared,
    number,
    of_both_runs,
    probability,
    probability_text,
    score,
    words,
)
from bertviewer.charts.naming import visible
from bertviewer.charts.place import Place
from bertviewer.charts.table import column_header
from bertviewer.charts.translation import translate
from bertviewer.core.analysis.predictions import ClassScores, Scores
from bertviewer.core.analysis.tokens import word_text
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.util.numbers import number_text, with_minus
from bertviewer.core.util.text import isolated

Tokens = Mapping[int, int]
"""The places of B's tokens in A."""


def scores_table(
    run: ActivationRun,
    b: ClassScores,
    a: ClassScores | None = None,
    partners: Tokens | None = None,
) -> FigureTable:
    """Return what a head says: of classes, of each token, or where an answer stands.

    ``a`` is what it says of run A, ``partners`` are the tokens of A by those of B.
    """
    if b.of == "tokens":
        return token_class_table(run, b, a, partners)
    return answer_table(run, b, a, partners) if b.of == "answer" else class_table(b, a)


def class_table(b: ClassScores, a: ClassScores | None = None) -> FigureTable:
    """Return the labels of the whole text with their probabilities and logits."""
    if b.probabilities is None:
        return _values(b, a)
    rows = [
        (
            words(label, is_bold=column in b.best and len(b.labels) > 1),
            probability(_at(b.probabilities, 0, column)),
            *(compared(_chance(b, 0, column), _chance(a, 0, column)) if a is not None else ()),
            score(_at(b.logits, 0, column)),
        )
        for column, label in enumerate(b.labels)
    ]
    columns = (
        FigureColumn(_verdict(b) or translate("charts", "Label")),
        *_chances(translate("charts", "Probability"), a is not None),
        _logit(translate("charts", "Logit"), a is not None),
    )
    return FigureTable(columns, tuple(rows))


def _values(b: ClassScores, a: ClassScores | None) -> FigureTable:
    """Return the value of a regression."""
    rows = []
    for column, label in enumerate(b.labels):
        mine = _at(b.logits, 0, column)
        other = None if a is None else _at(a.logits, 0, column)
        rest = () if other is None else (number(other), number(mine - other))
        rows.append((words(label), number(mine), *rest))
    value = translate("charts", "Value")
    values = (FigureColumn(value, "number"),) if a is None else of_both_runs(value)
    return FigureTable((FigureColumn(translate("charts", "Label")), *values), tuple(rows))


def token_class_table(
    run: ActivationRun, b: ClassScores, a: ClassScores | None = None, tokens: Tokens | None = None
) -> FigureTable:
    """Return the likeliest label of each token; A's figures are of the same label."""
    rows_of_a = _rows_of(a, tokens)
    rows = []
    for row, (place, best) in enumerate(zip(b.tokens, b.best, strict=True)):
        mine = _chance(b, row, best)
        other = _chance(a, rows_of_a.get(place), best)
        rows.append(
            (
                *_token(run, place),
                words(b.labels[best]),
                probability(mine),
                *(compared(mine, other) if a is not None else ()),
                score(_at(b.logits, row, best)),
            )
        )
    columns = (
        FigureColumn("#", "number"),
        FigureColumn(translate("charts", "Token")),
        FigureColumn(translate("charts", "Label")),
        *_chances(translate("charts", "Probability"), a is not None),
        _logit(translate("charts", "Logit"), a is not None),
    )
    return FigureTable(columns, tuple(rows), tuple(Place(token=place) for place in b.tokens))


def answer_table(
    run: ActivationRun, b: ClassScores, a: ClassScores | None = None, tokens: Tokens | None = None
) -> FigureTable:
    """Return for each token how likely the answer begins there, and ends there."""
    rows_of_a = _rows_of(a, tokens)
    answer = range(0) if b.answer is None else range(b.answer[0], b.answer[1] + 1)
    rows = []
    for row, place in enumerate(b.tokens):
        figures: list[Figure] = []
        for column in (0, 1):
            mine = _chance(b, row, column)
            figures.append(probability(mine))
            if a is not None:
                figures += compared(mine, _chance(a, rows_of_a.get(place), column))
        logits = (score(_at(b.logits, row, column)) for column in (0, 1))
        rows.append((*_token(run, place, place in answer), *figures, *logits))
    is_compared = a is not None
    start, end = translate("charts", "Start"), translate("charts", "End")
    logit = translate("charts", "Logit").lower()
    columns = (
        FigureColumn("#", "number"),
        FigureColumn(translate("charts", "Token")),
        *_chances(start, is_compared, f"{start} "),
        *_chances(end, is_compared, f"{end} "),
        _logit(f"{start} {logit}", is_compared),
        _logit(f"{end} {logit}", is_compared),
    )
    return FigureTable(columns, tuple(rows), tuple(Place(token=place) for place in b.tokens))


def best_line(run: ActivationRun, scores: ClassScores) -> str:
    """Return what the model says in one line, "" where it says something of each token."""
    if scores.of == "tokens":
        return ""
    if scores.of != "answer":
        if scores.probabilities is None:
            return f"{isolated(scores.labels[0])}: {number_text(_at(scores.logits, 0, 0))}"
        best = scores.best[0]
        chance = _at(scores.probabilities, 0, best)
        label = f"{_verdict(scores)} {isolated(scores.labels[best])}".strip()
        says = translate("charts", "{0}, probability {1}")
        return says.format(label, probability_text(chance))
    if scores.answer is None:
        return translate("charts", "No span of this text is a valid answer.")
    first, last = scores.answer
    start = _at(scores.logits, scores.tokens.index(first), 0)
    end = _at(scores.logits, scores.tokens.index(last), 1)
    logits = translate("charts", "logits {0} + {1} = {2}").format(
        *(with_minus(f"{x:.3f}") for x in (start, end, start + end))
    )
    span = isolated(span_text(run, first, last))
    says = translate("charts", "Most likely answer: “{0}” (tokens {1} to {2}), {3}")
    return says.format(span, first, last, logits)


def _verdict(scores: ClassScores) -> str:
    """Return how a sentence begins that the label ends, "" where the label says it alone."""
    if scores.of != "next sentence":
        return ""
    if scores.labels[0].startswith("is"):
        return translate("charts", "The second text")
    return translate("charts", "Both texts are")


def span_text(run: ActivationRun, first: int, last: int) -> str:
    """Return the words of some tokens, their pieces joined."""
    chosen = run.tokens[first : last + 1]
    pieces = groupby(chosen, lambda token: (token.segment, token.word))
    return visible(" ".join(word_text([token.text for token in word]) for _, word in pieces))


def _token(run: ActivationRun, place: int, is_bold: bool = False) -> tuple[Figure, Figure]:
    return Figure(place, str(place)), words(visible(run.tokens[place].text), is_bold=is_bold)


def _chances(title: str, is_compared: bool, prefix: str = "") -> tuple[FigureColumn, ...]:
    measure = f"{prefix}{translate('charts', 'Probability').lower()}" if prefix else title
    if not is_compared:
        return (FigureColumn(title, "bar", measure),)
    return of_both_runs(measure, "bar", prefix)


def _logit(title: str, is_compared: bool) -> FigureColumn:
    """Return the column of B's logits: A's are not shown."""
    return FigureColumn(title, "number", column_header("B", title) if is_compared else title)


def _rows_of(a: ClassScores | None, tokens: Tokens | None) -> dict[int, int]:
    """Return the rows of A that stand for B's tokens."""
    if a is None or tokens is None:
        return {}
    rows = {place: row for row, place in enumerate(a.tokens)}
    return {b: rows[place] for b, place in tokens.items() if place in rows}


def _chance(scores: ClassScores | None, row: int | None, column: int) -> float | None:
    if scores is None or row is None or scores.probabilities is None:
        return None
    return _at(scores.probabilities, row, column)


def _at(values: Scores, row: int, column: int) -> float:
    return float(values[row, column])
