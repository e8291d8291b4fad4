"""Tables and charts of classification heads."""

import numpy as np
import pytest

from bertviewer.charts.classification import (
    answer_chart,
    answer_table,
    best_line,
    class_table,
    label_grid,
    span_text,
    token_class_table,
)
from bertviewer.charts.table import DataTable
from bertviewer.core.analysis.predictions import ClassScores, classification
from tests.charts.described import Golden, described
from tests.core.analysis.runs import run_of, tokens_of
from tests.core.replay.model_runs import known

RUN = run_of(tokens_of("[CLS]", "a", "river", "##bank", "[SEP]", words=(None, 0, 1, 1, None)))
LOGITS = np.array([[0.0, 1.0], [3.0, 0.0], [1.0, 5.0], [0.0, 2.0], [0.0, 0.0]])
CHANCES = np.array([[0.25, 0.75], [0.625, 0.375], [0.125, 0.875], [0.5, 0.5], [1.0, 0.0]])
TOKENS = (0, 1, 2, 3, 4)


def labelled(kind: str, labels: tuple[str, ...], *rows: int) -> ClassScores:
    """Return the scores of these rows, which are one text's or tokens'."""
    tokens = rows if kind == "tokens" else ()
    chosen = list(rows)
    return ClassScores(kind, labels, LOGITS[chosen], CHANCES[chosen], tokens)  # type: ignore[arg-type]


def answer(count: int = 5, span: tuple[int, int] | None = (1, 2)) -> ClassScores:
    """Return the scores of the first tokens for an answer."""
    return ClassScores(
        "answer", ("start", "end"), LOGITS[:count], CHANCES[:count], TOKENS[:count], span
    )


def column(table: DataTable, title: str) -> list[object]:
    header, rows = table.table()
    return [row[header.index(title)] for row in rows]


def test_tables(golden: Golden) -> None:
    b, a = (labelled("text", ("bad", "good"), row) for row in (0, 1))
    new, old = (ClassScores("text", ("LABEL_0",), np.array([[x]]), None) for x in (2.5, 1.0))
    next_sentence = labelled(
        "next sentence", ("is the next sentence", "is not the next sentence"), 0
    )
    tokens = labelled("tokens", ("x", "y"), *TOKENS)
    right_to_left = run_of(
        tokens_of("[CLS]", "س", "##م", "على", "[SEP]", words=(None, 0, 0, 1, None))
    )
    charts = {
        "labels of a text": class_table(b),
        "their best": best_line(RUN, b),
        "labels of two texts": class_table(b, a),
        "regression": class_table(new),
        "its best": best_line(RUN, new),
        "two regressions": class_table(new, old),
        "next sentence": class_table(next_sentence),
        "its line": best_line(RUN, next_sentence),
        "labels of tokens": token_class_table(RUN, tokens),
        "their line": best_line(RUN, tokens),
        # Token 1 is A's 0.
        "labels of tokens in two runs": token_class_table(
            RUN, tokens, labelled("tokens", ("x", "y"), 0, 1), {1: 0, 2: 1}
        ),
        "answer": answer_table(RUN, answer()),
        "its words": best_line(RUN, answer()),
        "answers": answer_table(RUN, answer(), answer(), {n: n for n in range(5)}),
        "right-to-left answer": best_line(right_to_left, answer(span=(1, 3))),
        "its tokens": column(answer_table(right_to_left, answer()), "Token"),
        "no answer": best_line(RUN, answer(span=None)),
        "pieces of a word": span_text(RUN, 1, 3),
    }
    golden("charts/classification tables.txt", described(charts))


def test_charts(golden: Golden) -> None:
    charts = {
        "labels": label_grid(RUN, labelled("tokens", ("x", "y"), *TOKENS)),
        # A decoder scores its target tokens only.
        "labels of a second text": label_grid(RUN, labelled("tokens", ("x", "y"), 3, 4)),
        "answer": answer_chart(RUN, TOKENS, answer()),
        "answer of another run": answer_chart(RUN, TOKENS, answer(3), {0: 0, 2: 1, 3: 2}),
        # An answer is in the text of the encoder, which may be longer in run A.
        "answer in a shorter text": answer_chart(RUN, TOKENS[:2], answer(2)),
        "longer answer": answer_chart(RUN, TOKENS[:2], answer(4), {0: 0, 1: 3}),
    }
    golden("charts/classification charts.txt", described(charts))


@pytest.mark.parametrize(
    "task", ["sequence-classification", "token-classification", "question-answering"]
)
def test_scores_are_those_of_a_forward_pass(task: str) -> None:
    it = known("bert", task)
    scores = classification(it.run, it.model.architecture)
    assert scores is not None
    output = it.plain()
    if task == "question-answering":
        table = answer_table(it.run, scores)
        assert column(table, "Start probability") == pytest.approx(
            output.start_logits[0].double().softmax(-1).tolist(), rel=1e-5
        )
        assert column(table, "End logit") == pytest.approx(output.end_logits[0].tolist(), rel=1e-5)
    elif task == "token-classification":
        table = token_class_table(it.run, scores)
        best = output.logits[0].double().softmax(-1).max(-1).values
        assert column(table, "Probability") == pytest.approx(best.tolist(), rel=1e-5)
    else:
        table = class_table(scores)
        expected = output.logits[0].double().softmax(-1).tolist()
        assert column(table, "Probability") == pytest.approx(expected, rel=1e-5)
        assert column(table, "Logit") == pytest.approx(output.logits[0].tolist(), rel=1e-5)
