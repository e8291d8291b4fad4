"""What a classifier says, as tables.

What a classifier says token by token, as charts.
"""

from collections.abc import Mapping, Sequence
from itertools import groupby

import numpy as np

from bertviewer.charts.chart import GridChart, Line, LineChart
from bertviewer.charts.labels import token_names, visible
from bertviewer.charts.levels import PARTS
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.charts.table import (
    DataTable,
    TableCell,
    TableColumn,
    baseline_cells,
    column_header,
    comparison_columns,
    logit_cell,
    number_cell,
    probability_cell,
    probability_text,
    text_cell,
)
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
) -> DataTable:
    """Return what a head says: of classes, of each token, or where an answer stands.

    ``a`` is what it says of run A, ``partners`` are the tokens of A by those of B.
    """
    if b.of == "tokens":
        return token_class_table(run, b, a, partners)
    return answer_table(run, b, a, partners) if b.of == "answer" else class_table(b, a)


def class_table(b: ClassScores, a: ClassScores | None = None) -> DataTable:
    """Return the labels of the whole text with their probabilities and logits."""
    if b.probabilities is None:
        return _values(b, a)
    rows = [
        (
            text_cell(label, is_bold=column in b.best and len(b.labels) > 1),
            probability_cell(_at(b.probabilities, 0, column)),
            *(
                baseline_cells(_chance(b, 0, column), _chance(a, 0, column))
                if a is not None
                else ()
            ),
            logit_cell(_at(b.logits, 0, column)),
        )
        for column, label in enumerate(b.labels)
    ]
    columns = (
        TableColumn(_verdict(b) or translate("charts", "Label")),
        *_chances(translate("charts", "Probability"), a is not None),
        _logit(translate("charts", "Logit"), a is not None),
    )
    return DataTable(columns, tuple(rows))


def _values(b: ClassScores, a: ClassScores | None) -> DataTable:
    """Return the value of a regression."""
    rows = []
    for column, label in enumerate(b.labels):
        mine = _at(b.logits, 0, column)
        other = None if a is None else _at(a.logits, 0, column)
        rest = () if other is None else (number_cell(other), number_cell(mine - other))
        rows.append((text_cell(label), number_cell(mine), *rest))
    value = translate("charts", "Value")
    values = (TableColumn(value, "number"),) if a is None else comparison_columns(value)
    return DataTable((TableColumn(translate("charts", "Label")), *values), tuple(rows))


def token_class_table(
    run: ActivationRun, b: ClassScores, a: ClassScores | None = None, tokens: Tokens | None = None
) -> DataTable:
    """Return the likeliest label of each token; A's figures are of the same label."""
    rows_of_a = _rows_of(a, tokens)
    rows = []
    for row, (place, best) in enumerate(zip(b.tokens, b.best, strict=True)):
        mine = _chance(b, row, best)
        other = _chance(a, rows_of_a.get(place), best)
        rows.append(
            (
                *_token(run, place),
                text_cell(b.labels[best]),
                probability_cell(mine),
                *(baseline_cells(mine, other) if a is not None else ()),
                logit_cell(_at(b.logits, row, best)),
            )
        )
    columns = (
        TableColumn("#", "number"),
        TableColumn(translate("charts", "Token")),
        TableColumn(translate("charts", "Label")),
        *_chances(translate("charts", "Probability"), a is not None),
        _logit(translate("charts", "Logit"), a is not None),
    )
    return DataTable(columns, tuple(rows), tuple(SelectionKey(token=place) for place in b.tokens))


def answer_table(
    run: ActivationRun, b: ClassScores, a: ClassScores | None = None, tokens: Tokens | None = None
) -> DataTable:
    """Return for each token how likely the answer begins there, and ends there."""
    rows_of_a = _rows_of(a, tokens)
    answer = range(0) if b.answer is None else range(b.answer[0], b.answer[1] + 1)
    rows = []
    for row, place in enumerate(b.tokens):
        figures: list[TableCell] = []
        for column in (0, 1):
            mine = _chance(b, row, column)
            figures.append(probability_cell(mine))
            if a is not None:
                figures += baseline_cells(mine, _chance(a, rows_of_a.get(place), column))
        logits = (logit_cell(_at(b.logits, row, column)) for column in (0, 1))
        rows.append((*_token(run, place, place in answer), *figures, *logits))
    is_compared = a is not None
    start, end = translate("charts", "Start"), translate("charts", "End")
    logit = translate("charts", "Logit").lower()
    columns = (
        TableColumn("#", "number"),
        TableColumn(translate("charts", "Token")),
        *_chances(start, is_compared, f"{start} "),
        *_chances(end, is_compared, f"{end} "),
        _logit(f"{start} {logit}", is_compared),
        _logit(f"{end} {logit}", is_compared),
    )
    return DataTable(columns, tuple(rows), tuple(SelectionKey(token=place) for place in b.tokens))


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


def _token(run: ActivationRun, place: int, is_bold: bool = False) -> tuple[TableCell, TableCell]:
    return TableCell(place, str(place)), text_cell(visible(run.tokens[place].text), is_bold=is_bold)


def _chances(title: str, is_compared: bool, prefix: str = "") -> tuple[TableColumn, ...]:
    measure = f"{prefix}{translate('charts', 'Probability').lower()}" if prefix else title
    if not is_compared:
        return (TableColumn(title, "bar", measure),)
    return comparison_columns(measure, "bar", prefix)


def _logit(title: str, is_compared: bool) -> TableColumn:
    """Return the column of B's logits: A's are not shown."""
    return TableColumn(title, "number", column_header("B", title) if is_compared else title)


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


def label_grid(run: ActivationRun, scores: ClassScores) -> GridChart:
    """Return the probability of each label (rows) at each token (columns)."""
    tokens = [run.tokens[place] for place in scores.tokens]
    names = token_names(run.tokens)
    probabilities = scores.logits if scores.probabilities is None else scores.probabilities
    return GridChart(
        values=np.asarray(probabilities, dtype=np.float64).T,
        rows=scores.labels,
        columns=tuple(token.text for token in tokens),
        column_keys=tuple(SelectionKey(token=place) for place in scores.tokens),
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
            tuple(SelectionKey(token=place) for place in tokens),
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
