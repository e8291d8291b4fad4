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
from bertviewer.charts.levels import Values
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.charts.table import DataTable
from bertviewer.core.analysis.predictions import ClassScores, classification
from tests.charts.runs import make_run
from tests.core.analysis.runs import run_of, tokens_of
from tests.core.replay.model_runs import known

RUN = run_of(tokens_of("[CLS]", "a", "river", "##bank", "[SEP]", words=(None, 0, 1, 1, None)))
LOGITS = np.array([[0.0, 1.0], [3.0, 0.0], [1.0, 5.0], [0.0, 2.0], [0.0, 0.0]])


def softmax(logits: Values, axis: int) -> Values:
    powers = np.exp(logits)
    return np.asarray(powers / powers.sum(axis=axis, keepdims=True))


def column(table: DataTable, title: str) -> list[object]:
    header, rows = table.table()
    return [row[header.index(title)] for row in rows]


def test_labels_of_a_text_in_two_runs() -> None:
    b = ClassScores("text", ("bad", "good"), LOGITS[:1], softmax(LOGITS[:1], 1))
    a = ClassScores("text", ("bad", "good"), LOGITS[1:2], softmax(LOGITS[1:2], 1))
    table = class_table(b, a)
    assert column(table, "Label") == ["bad", "good"]
    assert column(table, "B, Logit") == [0.0, 1.0]
    assert column(table, "B, Probability") == pytest.approx([1 / (1 + np.e), np.e / (1 + np.e)])
    assert column(table, "A, Probability") == pytest.approx(softmax(LOGITS[1:2], 1)[0])
    less = (softmax(LOGITS[:2], 1) * [[1], [-1]]).sum(0)
    assert column(table, "B − A, Probability") == pytest.approx(less)
    assert [row[0].is_bold for row in table.rows] == [False, True]
    assert best_line(RUN, b) == "good, probability 0.7311"


def test_the_value_of_a_regression() -> None:
    b, a = (ClassScores("text", ("LABEL_0",), np.array([[x]]), None) for x in (2.5, 1.0))
    assert class_table(b).table() == (("Label", "Value"), [("LABEL_0", 2.5)])
    header, rows = class_table(b, a).table()
    assert header == ("Label", "B, Value", "A, Value", "B − A, Value")
    assert rows == [("LABEL_0", 2.5, 1.0, 1.5)]
    assert best_line(RUN, b) == "LABEL_0: 2.5"


def test_next_sentence_labels() -> None:
    scores = ClassScores(
        "next sentence",
        ("is the next sentence", "is not the next sentence"),
        LOGITS[:1],
        softmax(LOGITS[:1], 1),
    )
    assert best_line(RUN, scores) == "The second text is not the next sentence, probability 0.7311"
    assert class_table(scores).columns[0].title == "The second text"


def test_labels_of_tokens_in_two_runs() -> None:
    b = ClassScores("tokens", ("x", "y"), LOGITS, softmax(LOGITS, 1), (0, 1, 2, 3, 4))
    a = ClassScores("tokens", ("x", "y"), LOGITS[:2], softmax(LOGITS[:2], 1), (0, 1))
    table = token_class_table(RUN, b, a, {1: 0, 2: 1})
    assert column(table, "Token") == ["[CLS]", "a", "river", "##bank", "[SEP]"]
    assert column(table, "Label") == ["y", "x", "y", "y", "x"]
    assert column(table, "B, Probability") == pytest.approx(softmax(LOGITS, 1).max(1))
    # Token 1 is A's 0, where label x has the lower score.
    expected = [None, softmax(LOGITS, 1)[0, 0], softmax(LOGITS, 1)[1, 1], None, None]
    assert column(table, "A, Probability") == expected
    assert table.keys[3] == SelectionKey(token=3)
    assert best_line(RUN, b) == ""


def test_an_answer() -> None:
    chances = softmax(LOGITS, 0)
    b = ClassScores("answer", ("start", "end"), LOGITS, chances, (0, 1, 2, 3, 4), (1, 2))
    table = answer_table(RUN, b)
    assert column(table, "Start probability") == chances[:, 0].tolist()
    assert column(table, "End probability") == chances[:, 1].tolist()
    assert column(table, "Start logit") == LOGITS[:, 0].tolist()
    assert column(table, "End logit") == LOGITS[:, 1].tolist()
    assert [row[1].is_bold for row in table.rows] == [False, True, True, False, False]
    line = best_line(RUN, b)
    assert "“a river” (tokens 1 to 2)" in line
    assert "3.000 + 5.000 = 8.000" in line
    compared = answer_table(RUN, b, b, {n: n for n in range(5)})
    assert column(compared, "A, End probability") == chances[:, 1].tolist()
    assert column(compared, "B, End logit") == LOGITS[:, 1].tolist()
    assert set(column(compared, "B − A, Start probability")) == {0.0}
    # Titles on the screen are shorter.
    assert [one.title for one in compared.columns[2:5]] == ["Start B", "Start A", "Start B − A"]


def test_a_right_to_left_answer_is_isolated() -> None:
    tokens = tokens_of("[CLS]", "س", "##م", "على", "[SEP]", words=(None, 0, 0, 1, None))
    chances = softmax(LOGITS, 0)
    b = ClassScores("answer", ("start", "end"), LOGITS, chances, (0, 1, 2, 3, 4), (1, 3))
    line = best_line(run_of(tokens), b)
    assert "“\u2068سم على\u2069” (tokens 1 to 3)" in line
    # A cell contains nothing else.
    assert column(answer_table(run_of(tokens), b), "Token")[1] == "س"


def test_no_answer() -> None:
    scores = ClassScores("answer", ("start", "end"), LOGITS, softmax(LOGITS, 0), tuple(range(5)))
    assert best_line(RUN, scores) == "No span of this text is a valid answer."


def test_pieces_of_a_word_are_joined() -> None:
    assert span_text(RUN, 1, 3) == "a riverbank"


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


FOUR = make_run(("[CLS]", "a", "b", "[SEP]"))
PAIRS = np.arange(8.0).reshape(4, 2)
CHANCES = np.array([[0.1, 0.9], [0.2, 0.8], [0.3, 0.7], [0.4, 0.6]])
TOKENS = (0, 1, 2, 3)


def test_a_row_for_each_label_and_a_column_for_each_token() -> None:
    chart = label_grid(FOUR, ClassScores("tokens", ("x", "y"), PAIRS, CHANCES, TOKENS))
    assert chart.rows == ("x", "y")
    assert chart.columns == ("[CLS]", "a", "b", "[SEP]")
    assert np.array_equal(chart.values, CHANCES.T)
    assert chart.levels == (0.0, 1.0)
    assert chart.key(1, 2) == SelectionKey(token=2)
    # A decoder has scores of its own tokens only.
    chart = label_grid(FOUR, ClassScores("tokens", ("x", "y"), PAIRS[2:], CHANCES[2:], (2, 3)))
    assert chart.columns == ("b", "[SEP]")
    assert chart.key(0, 0) == SelectionKey(token=2)


def answer(count: int) -> ClassScores:
    """Return the scores of the first tokens for an answer."""
    return ClassScores("answer", ("start", "end"), PAIRS[:count], CHANCES[:count], TOKENS[:count])


def test_the_chart_of_an_answer() -> None:
    chart = answer_chart(FOUR, TOKENS, answer(4))
    start, end = chart.lines
    assert start.values == tuple(CHANCES[:, 0])
    assert end.values == tuple(CHANCES[:, 1])
    assert start.keys[2] == SelectionKey(token=2)
    # A text may have the same token twice.
    assert chart.names == ("[CLS] (0)", "a (1)", "b (2)", "[SEP] (3)")
    assert chart.table()[0] == ("Token", "start, Probability", "end, Probability")


def test_scores_of_another_run_are_at_the_partners_of_its_tokens() -> None:
    chart = answer_chart(FOUR, TOKENS, answer(3), {0: 0, 2: 1, 3: 2})
    assert chart.ticks == ("[CLS]", "a", "b", "[SEP]")
    assert chart.lines[1].values == (0.9, None, 0.8, 0.7)
    # An answer is in the text of the encoder, which may be longer in run A.
    chart = answer_chart(FOUR, TOKENS[:2], answer(2))
    assert chart.ticks == ("[CLS]", "a")
    assert [len(line.values) for line in chart.lines] == [2, 2]
    assert answer_chart(FOUR, TOKENS[:2], answer(4), {0: 0, 1: 3}).lines[0].values == (0.1, 0.4)
