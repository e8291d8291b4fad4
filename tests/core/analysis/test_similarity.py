"""Cosines of tokens and words, paths through the states, and anisotropy."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from msgspec.structs import replace
from numpy.typing import NDArray

from bertviewer.core.analysis.similarity import (
    anisotropy,
    cosine_matrix,
    cosines,
    nearest_tokens,
    same_words,
    token_pair_path,
    token_path,
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


def test_a_path_worked_by_hand() -> None:
    run = run_of(
        tokens_of("x", "y"),
        [[9.0, 9.0], [3.0, 4.0]],
        [[9.0, 9.0], [0.0, 2.0]],
        [[9.0, 9.0], [-6.0, -8.0]],
    )
    path = token_path(run, 1)
    assert path.norms == (5.0, 2.0, 10.0)
    assert path.to_start == pytest.approx((1.0, 0.8, -1.0))
    assert path.to_before[0] is None
    assert path.to_before[1:] == pytest.approx((0.8, -0.8))


def test_a_state_that_is_not_there_leaves_gaps() -> None:
    path = token_path(run_of(tokens_of("x"), [[1.0, 0.0]], [[np.nan, np.nan]], [[0.0, 0.0]]), 0)
    assert path.norms == (1.0, None, 0.0)
    assert path.to_start == (1.0, None, None)
    assert path.to_before == (None, None, None)


def test_without_states_the_norms_remain() -> None:
    run = run_of(tokens_of("x"), [[3.0, 4.0]], [[0.0, 1.0]])
    path = token_path(replace(run, hidden_states=()), 0)
    assert path.norms == (5.0, 1.0)
    assert path.to_start == path.to_before == (None, None)


def test_the_path_of_the_demo_is_the_plain_one() -> None:
    run = demo_run("the cat sat on the mat")
    path = token_path(run, 2)
    vectors = [state[2] for state in run.hidden_states]
    assert path.norms == pytest.approx([float(np.linalg.norm(v)) for v in vectors])
    starts = [plain_cosine(vectors[0], v) for v in vectors]
    assert path.to_start == pytest.approx(starts, abs=1e-12)
    befores = [plain_cosine(a, b) for a, b in pairwise(vectors)]
    assert path.to_before[1:] == pytest.approx(befores, abs=1e-12)


def test_it_is_the_mean_of_all_cosines_of_different_tokens() -> None:
    state = np.random.default_rng(0).normal(size=(7, 12)) + 0.4
    found = anisotropy(state)
    assert found is not None
    cosines = cosine_matrix(state)
    assert found.mean == pytest.approx(cosines[~np.eye(7, dtype=bool)].mean(), abs=1e-12)
    assert found.parts.sum() == pytest.approx(found.mean, abs=1e-12)


def test_each_feature_has_the_part_that_its_products_have() -> None:
    state = np.random.default_rng(1).normal(size=(5, 4))
    units = state / np.linalg.norm(state, axis=1, keepdims=True)
    pairs = [(i, j) for i in range(5) for j in range(5) if i != j]
    found = anisotropy(state)
    assert found is not None
    for feature in range(4):
        by_hand = np.mean([units[i, feature] * units[j, feature] for i, j in pairs])
        assert found.parts[feature] == pytest.approx(by_hand, abs=1e-12)


def test_a_feature_that_is_large_everywhere_makes_all_alike() -> None:
    state = np.random.default_rng(2).normal(size=(20, 64))
    state[:, 5] = 30.0
    found = anisotropy(state)
    assert found is not None
    assert found.mean > 0.9
    assert found.largest(1) == (5,)
    assert found.share((5,)) == pytest.approx(1.0, abs=0.02)


def test_tokens_without_a_direction_do_not_count() -> None:
    state = np.array([[1.0, 0.0], [0.0, 0.0], [np.nan, 1.0], [1.0, 1.0]])
    found = anisotropy(state)
    assert found is not None
    assert found.mean == pytest.approx(0.5**0.5)
    assert anisotropy(state[1:3]) is None
