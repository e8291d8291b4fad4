"""Tables and charts of classification heads: classes, labels of tokens, and answers."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby

import numpy as np
from msgspec import Struct

from bertviewer.charts.chart import GridChart, Line, LineChart
from bertviewer.charts.labels import token_names, visible
from bertviewer.charts.levels import PARTS
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.charts.table import (
    DataTable,
    Field,
    TableCell,
    column_header,
    data_table,
    field,
    logit_cell,
    probability_text,
    runs_field,
    text_cell,
)
from bertviewer.charts.translation import translate
from bertviewer.core.analysis.predictions import ClassScores, Scores
from bertviewer.core.analysis.tokens import word_text
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.util.numbers import number_text, with_minus
from bertviewer.core.util.text import isolated

Tokens = Mapping[int, int]
"""Positions of the tokens of A by those of B."""
Cell = Callable[[int], tuple[int, int]]


def scores_table(
    run: ActivationRun,
    b: ClassScores,
    a: ClassScores | None = None,
    partners: Tokens | None = None,
) -> DataTable:
    """Return the scores of a head, compared with those of run A if given."""
    if b.of == "tokens":
        return token_class_table(run, b, a, partners)
    return answer_table(run, b, a, partners) if b.of == "answer" else class_table(b, a)


def class_table(b: ClassScores, a: ClassScores | None = None) -> DataTable:
    """Return the labels of the whole text with probabilities and logits, or regression values."""
    label, columns = translate("charts", "Label"), range(len(b.labels))
    if b.probabilities is None:
        fields = [
            field(label, lambda n: text_cell(b.labels[n])),
            runs_field(
                translate("charts", "Value"),
                lambda n: (_at(b.logits, 0, n), None if a is None else _at(a.logits, 0, n)),
                is_compared=a is not None,
            ),
        ]
        return data_table(fields, columns)
    best = b.best if len(columns) > 1 else ()
    scores = _ScoreFields(b, a, {0: 0})
    fields = [
        field(_verdict(b) or label, lambda n: text_cell(b.labels[n], is_bold=n in best)),
        scores.probability(translate("charts", "Probability"), lambda n: (0, n)),
        scores.logit(translate("charts", "Logit"), lambda n: (0, n)),
    ]
    return data_table(fields, columns)


def token_class_table(
    run: ActivationRun, b: ClassScores, a: ClassScores | None = None, tokens: Tokens | None = None
) -> DataTable:
    """Return the most probable label of each token; A's numbers are of the same label."""
    best, scores = b.best, _ScoreFields(b, a, _rows_of(a, b, tokens))
    fields = [
        *_token_fields(run, b),
        field(translate("charts", "Label"), lambda row: text_cell(b.labels[best[row]])),
        scores.probability(translate("charts", "Probability"), lambda row: (row, best[row])),
        scores.logit(translate("charts", "Logit"), lambda row: (row, best[row])),
    ]
    return data_table(fields, range(len(b.tokens)), _keys(b.tokens))


def answer_table(
    run: ActivationRun, b: ClassScores, a: ClassScores | None = None, tokens: Tokens | None = None
) -> DataTable:
    """Return for each token the probabilities that the answer begins and ends there."""
    probability = translate("charts", "Probability").lower()
    logit = translate("charts", "Logit").lower()
    start, end = translate("charts", "Start"), translate("charts", "End")
    answer = range(0) if b.answer is None else range(b.answer[0], b.answer[1] + 1)
    scores = _ScoreFields(b, a, _rows_of(a, b, tokens))
    fields = [
        *_token_fields(run, b, answer),
        scores.probability(f"{start} {probability}", lambda row: (row, 0), f"{start} "),
        scores.probability(f"{end} {probability}", lambda row: (row, 1), f"{end} "),
        scores.logit(f"{start} {logit}", lambda row: (row, 0)),
        scores.logit(f"{end} {logit}", lambda row: (row, 1)),
    ]
    return data_table(fields, range(len(b.tokens)), _keys(b.tokens))


def best_line(run: ActivationRun, scores: ClassScores) -> str:
    """Return the prediction in one line, "" for labels of tokens."""
    if scores.of == "tokens":
        return ""
    if scores.of != "answer":
        if scores.probabilities is None:
            return f"{isolated(scores.labels[0])}: {number_text(_at(scores.logits, 0, 0))}"
        best = scores.best[0]
        probability = probability_text(_at(scores.probabilities, 0, best))
        label = f"{_verdict(scores)} {isolated(scores.labels[best])}".strip()
        return translate("charts", "{0}, probability {1}").format(label, probability)
    if scores.answer is None:
        return translate("charts", "No span of this text is a valid answer.")
    first, last = scores.answer
    start = _at(scores.logits, scores.tokens.index(first), 0)
    end = _at(scores.logits, scores.tokens.index(last), 1)
    logits = translate("charts", "logits {0} + {1} = {2}").format(
        *(with_minus(f"{x:.3f}") for x in (start, end, start + end))
    )
    text = translate("charts", "Most likely answer: “{0}” (tokens {1} to {2}), {3}")
    return text.format(isolated(span_text(run, first, last)), first, last, logits)


def span_text(run: ActivationRun, first: int, last: int) -> str:
    """Return the text of some tokens, with the pieces of words joined."""
    chosen = run.tokens[first : last + 1]
    pieces = groupby(chosen, lambda token: (token.segment, token.word))
    return visible(" ".join(word_text([token.text for token in word]) for _, word in pieces))


def label_grid(run: ActivationRun, scores: ClassScores) -> GridChart:
    """Return the probability of each label (rows) at each token (columns)."""
    names = token_names(run.tokens)
    return GridChart(
        values=np.asarray(_probabilities(scores), dtype=np.float64).T,
        rows=scores.labels,
        columns=tuple(run.tokens[token].text for token in scores.tokens),
        column_keys=tuple(_keys(scores.tokens)),
        x_title=translate("charts", "Token"),
        y_title=translate("charts", "Label"),
        value_title=translate("charts", "Probability"),
        is_top_down=True,
        levels=PARTS,
        column_names=tuple(names[token] for token in scores.tokens),
    )


def answer_chart(
    run: ActivationRun,
    tokens: Sequence[int],
    scores: ClassScores,
    partners: Mapping[int, int] | None = None,
) -> LineChart:
    """Return the probabilities that the answer begins and ends at each token, as two lines.

    Args:
        run: the run whose tokens are on the axis.
        tokens: their positions: those that the run has scores for.
        scores: of this run, or of another one.
        partners: the positions of the tokens in the other run.
    """
    rows = dict(zip(scores.tokens, _probabilities(scores).tolist(), strict=True))
    found = [rows.get(n if partners is None else partners.get(n, -1)) for n in tokens]
    lines = tuple(
        Line(
            label,
            tuple(None if row is None else row[column] for row in found),
            tuple(_keys(tokens)),
        )
        for column, label in enumerate(scores.labels)
    )
    ticks = tuple(run.tokens[token].text for token in tokens)
    names = tuple(f"{isolated(text)} ({token})" for text, token in zip(ticks, tokens, strict=True))
    titles = translate("charts", "Token"), translate("charts", "Probability")
    return LineChart(lines, *titles, ticks, tick_names=names, bounds=PARTS)


class _ScoreFields(Struct, frozen=True, eq=False):
    """Makes fields of the scores of B, and of A if given; ``rows`` are those of A by B's.

    ``cell`` returns the row and column of B's score for a record.
    """

    b: ClassScores
    a: ClassScores | None
    rows: Mapping[int, int]

    def probability(self, title: str, cell: Cell, prefix: str = "") -> Field:
        """Return the field of probabilities."""

        def values(record: int) -> tuple[float | None, float | None]:
            row, column = cell(record)
            return _probability(self.b, row, column), _probability(
                self.a, self.rows.get(row), column
            )

        is_compared = self.a is not None
        return runs_field(title, values, is_compared=is_compared, kind="bar", prefix=prefix)

    def logit(self, title: str, cell: Cell) -> Field:
        """Return the field of B's logits; A's are not displayed."""
        name = title if self.a is None else column_header("B", title)
        return field(title, lambda n: logit_cell(_at(self.b.logits, *cell(n))), "number", name)


def _token_fields(run: ActivationRun, scores: ClassScores, bold: range = range(0)) -> list[Field]:
    """Return the positions and texts of tokens."""

    def text(row: int) -> TableCell:
        token = scores.tokens[row]
        return text_cell(visible(run.tokens[token].text), is_bold=token in bold)

    def position(row: int) -> TableCell:
        return TableCell(scores.tokens[row], str(scores.tokens[row]))

    return [field("#", position, "number"), field(translate("charts", "Token"), text)]


def _keys(tokens: Sequence[int]) -> Iterator[SelectionKey]:
    return (SelectionKey(token=token) for token in tokens)


def _verdict(scores: ClassScores) -> str:
    """Return the beginning of a sentence that the label completes, "" for other labels."""
    if scores.of != "next sentence":
        return ""
    if scores.labels[0].startswith("is"):
        return translate("charts", "The second text")
    return translate("charts", "Both texts are")


def _rows_of(a: ClassScores | None, b: ClassScores, tokens: Tokens | None) -> dict[int, int]:
    """Return the rows of A by those of B for the same tokens."""
    if a is None or tokens is None:
        return {}
    rows = {token: row for row, token in enumerate(a.tokens)}
    pairs = ((row, rows.get(tokens.get(token, -1))) for row, token in enumerate(b.tokens))
    return {row: other for row, other in pairs if other is not None}


def _probabilities(scores: ClassScores) -> Scores:
    return scores.logits if scores.probabilities is None else scores.probabilities


def _probability(scores: ClassScores | None, row: int | None, column: int) -> float | None:
    if scores is None or row is None or scores.probabilities is None:
        return None
    return _at(scores.probabilities, row, column)


def _at(values: Scores, row: int, column: int) -> float:
    return float(values[row, column])
