"""Cosines are numpy's, and say nothing where there is no direction."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from numpy.typing import NDArray

from bertviewer.core.analysis.similarity import (
    cosine_matrix,
    cosines,
    nearest_tokens,
    same_words,
    token_pair_path,
    word_path,
)
from tests.core.analysis.runs import demo_run, plain_cosine, run_of, tokens_of

SHAPES = array_shapes(min_dims=2, max_dims=2, max_side=6)
FINITE = st.floats(allow_nan=False, allow_infinity=False)


def test_cosines_worked_by_hand() -> None:
    state = np.array([[3.0, 4.0], [4.0, 3.0], [-3.0, -4.0], [0.0, 2.0]], dtype=np.float32)
    assert cosine_matrix(state) == pytest.approx(
        np.array(
            [
                [1.0, 0.96, -1.0, 0.8],
                [0.96, 1.0, -0.96, 0.6],
                [-1.0, -0.96, 1.0, -0.8],
                [0.8, 0.6, -0.8, 1.0],
            ]
        ),
        abs=1e-15,
    )


@pytest.mark.parametrize("bad", [[0.0, 0.0], [np.nan, 1.0], [1.0, np.inf], [-np.inf, np.nan]])
def test_a_vector_without_direction_has_no_cosine(bad: list[float]) -> None:
    matrix = cosine_matrix(np.array([[1.0, 0.0], bad, [1.0, 1.0]]))
    assert np.isnan(matrix[1]).all()
    assert np.isnan(matrix[:, 1]).all()
    assert matrix[0, 2] == pytest.approx(0.5**0.5)
    assert cosines(np.array([[1.0, 0.0]] * 2), np.array([bad, [1.0, 0.0]])) == (None, 1.0)


def test_very_long_and_very_short_vectors_have_a_direction() -> None:
    state = np.array([[1e300, 1e300], [5e-324, 0.0]])
    assert cosine_matrix(state)[0, 1] == pytest.approx(0.5**0.5)
    assert cosines(state[:1], state[1:]) == pytest.approx((0.5**0.5,))


def test_no_tokens_give_an_empty_matrix() -> None:
    assert cosine_matrix(np.empty((0, 4))).shape == (0, 0)


@settings(max_examples=60)
@given(arrays(np.float64, SHAPES, elements=FINITE))
def test_cosines_of_finite_vectors(state: NDArray[np.float64]) -> None:
    matrix = cosine_matrix(state)
    is_zero = (state == 0).all(axis=1)
    assert (np.isnan(matrix) == (is_zero[:, None] | is_zero)).all()
    inside = matrix[~is_zero][:, ~is_zero]
    assert (inside == inside.T).all()
    assert (np.abs(inside) <= 1.0).all()
    assert (np.diagonal(inside) == 1.0).all()


def test_the_nearest_tokens_worked_by_hand() -> None:
    state = np.array([[3.0, 4.0], [4.0, 3.0], [-3.0, -4.0], [0.0, 2.0], [0.0, 0.0], [4.0, 3.0]])
    nearest = nearest_tokens(state, 0, 3)
    assert [place for place, _ in nearest] == [1, 5, 3]
    assert [value for _, value in nearest] == pytest.approx([0.96, 0.96, 0.8])
    assert [place for place, _ in nearest_tokens(state, 0, 9)] == [1, 5, 3, 2]
    assert nearest_tokens(state, 4, 3) == ()  # it has no direction
    assert nearest_tokens(state[:1], 0, 3) == ()


def test_the_nearest_tokens_of_the_demo() -> None:
    run = demo_run("the cat sat on the mat")
    state = run.hidden_states[-1]
    plain = sorted(
        ((plain_cosine(state[2], vector), n) for n, vector in enumerate(state) if n != 2),
        reverse=True,
    )
    nearest = nearest_tokens(state, 2, 5)
    assert [place for place, _ in nearest] == [n for _, n in plain[:5]]
    assert [value for _, value in nearest] == pytest.approx([c for c, _ in plain[:5]], abs=1e-12)


@settings(max_examples=60)
@given(arrays(np.float64, SHAPES, elements=st.floats()))
def test_cosines_row_by_row_are_those_of_the_matrix(state: NDArray[np.float64]) -> None:
    matrix = cosine_matrix(state)
    places = range(len(state))
    for place, found in zip(places, cosines(state, state[::-1]), strict=True):
        value = matrix[place, places[-1 - place]]
        assert np.isnan(value) if found is None else found == pytest.approx(value, abs=1e-12)


def test_cosines_of_the_demo_are_plain_ones() -> None:
    run = demo_run("the cat sat on the mat")
    for state in run.hidden_states:
        plain = [[plain_cosine(one, other) for other in state] for one in state]
        assert cosine_matrix(state) == pytest.approx(np.array(plain), abs=1e-12)


def test_the_same_word_in_both_sentences() -> None:
    run = demo_run("He sat on the bank of the river.", "The bank lent money.")
    pairs = same_words(run)
    # [CLS] he sat on the bank of the river . [SEP] the bank lent money . [SEP]
    assert [(p.text, p.first.tokens, p.second.tokens) for p in pairs] == [
        ("the", (4,), (11,)),
        ("bank", (5,), (12,)),
    ]  # a full stop is no word to compare
    plain = [plain_cosine(state[5], state[12]) for state in run.hidden_states]
    assert word_path(run, pairs[1]) == pytest.approx(plain, abs=1e-12)
    assert token_pair_path(run, 5, 12) == pytest.approx(plain, abs=1e-12)
    assert len(plain) == 7
    # The two banks start alike, but for position and segment, and part.
    assert plain[0] > plain[-1]


def test_a_word_of_pieces_is_their_mean() -> None:
    run = demo_run("unaffably said", "so unaffably")
    (pair,) = same_words(run)
    assert pair.text == "unaffably"
    assert len(pair.first.tokens) == len(pair.second.tokens) > 1
    for state, value in zip(run.hidden_states, word_path(run, pair), strict=True):
        one, two = (
            sum(state[token].astype(np.float64) for token in word.tokens) / len(word.tokens)
            for word in (pair.first, pair.second)
        )
        assert value == pytest.approx(plain_cosine(one, two), abs=1e-12)


def test_occurrences_are_paired_in_order_and_case_can_matter() -> None:
    tokens = tokens_of("A", "b", "a", "c", "a", "b", "A", segments="0000111")
    run = run_of(tokens, np.eye(7), pair="text")
    assert [(p.text, p.first.tokens, p.second.tokens) for p in same_words(run)] == [
        ("A", (0,), (4,)),
        ("b", (1,), (5,)),
        ("a", (2,), (6,)),
    ]
    exact = same_words(run, ignore_case=False)
    assert [(p.first.tokens, p.second.tokens) for p in exact] == [
        ((0,), (6,)),
        ((1,), (5,)),
        ((2,), (4,)),
    ]


def test_unknown_words_are_not_the_same_word() -> None:
    run = run_of(tokens_of("[UNK]", "x", "[UNK]", "x", segments="0011"), np.eye(4), pair="text")
    assert [pair.text for pair in same_words(run)] == ["x"]


def test_one_sentence_has_no_word_in_the_other() -> None:
    assert same_words(run_of(tokens_of("the", "the"), np.eye(2))) == ()


def test_the_same_word_in_two_runs() -> None:
    one = demo_run("He sat on the bank of the river.")
    other = demo_run("My bank lent money.")
    bank = next(pair for pair in same_words(one, other) if pair.text == "bank")
    assert (bank.first.tokens, bank.second.tokens) == ((5,), (2,))
    plain = [
        plain_cosine(a[5], b[2])
        for a, b in zip(one.hidden_states, other.hidden_states, strict=True)
    ]
    assert word_path(one, bank, other) == pytest.approx(plain, abs=1e-12)
    assert token_pair_path(one, 5, 2, other) == pytest.approx(plain, abs=1e-12)


def test_runs_of_other_sizes() -> None:
    tokens = tokens_of("x")
    one = run_of(tokens, [[1.0, 0.0]], [[1.0, 1.0]], [[0.0, 1.0]])
    assert token_pair_path(one, 0, 0, run_of(tokens, [[1.0, 0.0]], [[0.0, 1.0]])) == pytest.approx(
        (1.0, 0.5**0.5)
    )
    assert token_pair_path(one, 0, 0, run_of(tokens, [[1.0, 0.0, 0.0]])) == ()
    assert token_pair_path(one, 0, 0, run_of(tokens)) == ()


def test_a_path_has_gaps_where_there_is_no_vector() -> None:
    run = run_of(tokens_of("x", "y"), [[1.0, 0.0], [2.0, 0.0]], [[np.nan, np.nan], [1.0, 0.0]])
    assert token_pair_path(run, 0, 1) == (1.0, None)
