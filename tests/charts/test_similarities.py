"""Cosines as charts, against plain computations on the demo model."""

import numpy as np
import pytest
from msgspec.structs import replace

from bertviewer.charts.selection_key import SelectionKey
from bertviewer.charts.token_charts import pair_chart, similarity_chart, word_chart
from bertviewer.core.analysis.similarity import same_words
from tests.core.analysis.runs import demo_run, plain_cosine, run_of, tokens_of

FIRST, SECOND = "He sat on the bank of the river.", "The bank lent money."


@pytest.mark.parametrize("state", [0, 3, 6])
def test_all_cosines_of_the_demo(state: int) -> None:
    run = demo_run("the cat sat on the mat")
    vectors = run.hidden_states[state]
    chart = similarity_chart(run, state)
    plain = np.array([[plain_cosine(one, other) for other in vectors] for one in vectors])
    assert chart.values == pytest.approx(plain, abs=1e-12)
    assert np.diagonal(chart.values).tolist() == [1.0] * 8
    assert chart.rows == chart.columns
    assert chart.text(0, 2) == f"[CLS] (token 0), cat (token 2): {plain[0, 2]:.7g}"
    assert chart.is_top_down
    name = "embeddings" if state == 0 else f"layer {state - 1}"
    assert chart.table()[0][0] == f"Token × Token: Cosine, {name}"


def test_the_last_state_after_a_norm_says_so() -> None:
    run = run_of(tokens_of("x", "y"), np.eye(2), np.eye(2))
    run = replace(run, state_paths=(("wte",), ("ln_f",)))
    assert pair_chart(run, 0, 1, "").names == ("emb", "0, after ln_f")


def test_a_second_text_is_set_off_both_ways() -> None:
    pair = tokens_of("[CLS]", "x", "[SEP]", "y", "[SEP]", segments="00011")
    vectors = np.eye(5)
    chart = similarity_chart(run_of(pair, vectors), 0)
    assert (chart.row_starts, chart.column_starts) == ((3,), (3,))
    alone = similarity_chart(run_of(tokens_of("x", "y"), np.eye(2)), 0)
    assert alone.row_starts == alone.column_starts == ()


def test_a_cell_stands_for_the_token_of_its_column() -> None:
    chart = similarity_chart(demo_run("the cat sat on the mat"), 0)
    assert chart.key(1, 5) == SelectionKey(token=5)


def test_colours_cover_all_cosines_or_those_that_there_are() -> None:
    run = run_of(tokens_of("x", "y", "z"), [[1.0, 0.0], [1.0, 1.0], [0.0, 0.0]])
    whole = similarity_chart(run, 0)
    assert (whole.is_signed, whole.levels) == (True, (-1.0, 1.0))
    close = similarity_chart(run, 0, is_whole=False)
    assert not close.is_signed
    assert close.levels == pytest.approx((0.5**0.5, 1.0))
    # A vector without a direction has an empty row and column.
    assert np.isnan(close.values[2]).all()


def test_two_tokens_of_the_demo() -> None:
    run = demo_run(FIRST)
    chart = pair_chart(run, 5, 8, "bank – river")
    (line,) = chart.lines
    plain = [plain_cosine(state[5], state[8]) for state in run.hidden_states]
    assert line.values == pytest.approx(plain, abs=1e-12)
    assert line.label == "bank – river"
    assert chart.ticks == ("emb", "0", "1", "2", "3", "4", "5")


def test_its_points_stand_for_the_first_token() -> None:
    run = run_of(tokens_of("x", "y", segments="01"), np.eye(2), np.eye(2))
    run = replace(run, state_paths=(("embed",), ("encoder.0", "decoder.0")))
    (line,) = pair_chart(run, 1, 0, "").lines
    assert line.keys == (SelectionKey("embed", 1), SelectionKey("decoder.0", 1))


def test_a_word_in_both_sentences_of_the_demo() -> None:
    run = demo_run(FIRST, SECOND)
    bank = next(pair for pair in same_words(run) if pair.text == "bank")
    (line,) = word_chart(run, bank, "bank").lines
    plain = [plain_cosine(state[5], state[12]) for state in run.hidden_states]
    assert line.values == pytest.approx(plain, abs=1e-12)
    # Neither of its two tokens is meant more than the other.
    assert {place.token for place in line.keys} == {None}


def test_a_word_in_two_runs_of_the_demo() -> None:
    one, other = demo_run(FIRST), demo_run("My bank lent money.")
    bank = next(pair for pair in same_words(one, other) if pair.text == "bank")
    (line,) = word_chart(one, bank, "bank", other).lines
    plain = [
        plain_cosine(a[5], b[2])
        for a, b in zip(one.hidden_states, other.hidden_states, strict=True)
    ]
    assert line.values == pytest.approx(plain, abs=1e-12)
