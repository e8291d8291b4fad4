"""Charts of what a classifier says token by token."""

import numpy as np

from bertviewer.charts.classification import answer_chart, label_grid
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.core.analysis.predictions import ClassScores
from tests.charts.runs import make_run

RUN = make_run(("[CLS]", "a", "b", "[SEP]"))
LOGITS = np.arange(8.0).reshape(4, 2)
CHANCES = np.array([[0.1, 0.9], [0.2, 0.8], [0.3, 0.7], [0.4, 0.6]])
TOKENS = (0, 1, 2, 3)


def test_a_row_for_each_label_and_a_column_for_each_token() -> None:
    chart = label_grid(RUN, ClassScores("tokens", ("x", "y"), LOGITS, CHANCES, TOKENS))
    assert chart.rows == ("x", "y")
    assert chart.columns == ("[CLS]", "a", "b", "[SEP]")
    assert np.array_equal(chart.values, CHANCES.T)
    assert chart.levels == (0.0, 1.0)
    assert chart.key(1, 2) == SelectionKey(token=2)


def test_the_tokens_of_a_decoder_alone() -> None:
    scores = ClassScores("tokens", ("x", "y"), LOGITS[2:], CHANCES[2:], (2, 3))
    chart = label_grid(RUN, scores)
    assert chart.columns == ("b", "[SEP]")
    assert chart.key(0, 0) == SelectionKey(token=2)


def test_where_an_answer_begins_and_ends() -> None:
    scores = ClassScores("answer", ("start", "end"), LOGITS, CHANCES, TOKENS)
    start, end = answer_chart(RUN, TOKENS, scores).lines
    assert start.values == tuple(CHANCES[:, 0])
    assert end.values == tuple(CHANCES[:, 1])
    assert start.keys[2] == SelectionKey(token=2)
    chart = answer_chart(RUN, TOKENS, scores)
    # A text may have the same token twice.
    assert chart.names == ("[CLS] (0)", "a (1)", "b (2)", "[SEP] (3)")
    assert chart.table()[0] == ("Token", "start, Probability", "end, Probability")


def test_another_runs_figures_stand_at_the_partners_of_its_tokens() -> None:
    other = ClassScores("answer", ("start", "end"), LOGITS[:3], CHANCES[:3], (0, 1, 2))
    chart = answer_chart(RUN, TOKENS, other, {0: 0, 2: 1, 3: 2})
    assert chart.ticks == ("[CLS]", "a", "b", "[SEP]")
    assert chart.lines[1].values == (0.9, None, 0.8, 0.7)


def test_an_answer_stands_at_the_tokens_of_the_encoder_alone() -> None:
    scores = ClassScores("answer", ("start", "end"), LOGITS[:2], CHANCES[:2], (0, 1))
    chart = answer_chart(RUN, scores.tokens, scores)
    assert chart.ticks == ("[CLS]", "a")
    assert [len(line.values) for line in chart.lines] == [2, 2]
    # So does what run A says, which may have a longer text.
    other = ClassScores("answer", ("start", "end"), LOGITS, CHANCES, TOKENS)
    assert answer_chart(RUN, scores.tokens, other, {0: 0, 1: 3}).lines[0].values == (0.1, 0.4)
