"""Cosines of tokens and words, paths through the states, and anisotropy."""

from itertools import pairwise
from typing import Any

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

Floats = NDArray[np.float64]
SHAPES = array_shapes(min_dims=2, max_dims=2, max_side=6)


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
    assert cosine_matrix(np.empty((0, 4))).shape == (0, 0)


@settings(max_examples=60)
@given(arrays(np.float64, SHAPES, elements=st.floats()))
def test_cosine_matrices_are_symmetric_with_ones_on_the_diagonal(state: Floats) -> None:
    matrix = cosine_matrix(state)
    is_defined = np.isfinite(state).all(axis=1) & (state != 0).any(axis=1)
    assert (np.isnan(matrix) == ~(is_defined[:, None] & is_defined)).all()
    defined = matrix[is_defined][:, is_defined]
    assert (defined == defined.T).all()
    assert (np.abs(defined) <= 1.0).all()
    assert (np.diagonal(defined) == 1.0).all()
    for place, found in enumerate(cosines(state, state[::-1])):
        value = matrix[place, len(state) - 1 - place]
        assert np.isnan(value) if found is None else found == pytest.approx(value, abs=1e-12)


def test_cosines_of_the_demo_are_the_plain_ones() -> None:
    run = demo_run("the cat sat on the mat")
    for state in run.hidden_states:
        plain = [[plain_cosine(one, other) for other in state] for one in state]
        assert cosine_matrix(state) == pytest.approx(np.array(plain), abs=1e-12)
        nearest = nearest_tokens(state, 2, 5)
        expected = sorted(((c, n) for n, c in enumerate(plain[2]) if n != 2), reverse=True)[:5]
        assert [place for place, _ in nearest] == [n for _, n in expected]
        assert [value for _, value in nearest] == pytest.approx([c for c, _ in expected])


def test_nearest_tokens_keep_their_order_and_need_a_direction() -> None:
    state = np.array([[3.0, 4.0], [4.0, 3.0], [-3.0, -4.0], [0.0, 2.0], [0.0, 0.0], [4.0, 3.0]])
    nearest = nearest_tokens(state, 0, 3)
    assert [place for place, _ in nearest] == [1, 5, 3]
    assert [value for _, value in nearest] == pytest.approx([0.96, 0.96, 0.8])
    assert [place for place, _ in nearest_tokens(state, 0, 9)] == [1, 5, 3, 2]
    assert nearest_tokens(state, 4, 3) == ()
    assert nearest_tokens(state[:1], 0, 3) == ()


def test_the_same_word_in_both_sentences() -> None:
    run = demo_run("He sat on the bank of the river.", "The bank lent money.")
    pairs = same_words(run)
    # [CLS] he sat on the bank of the river . [SEP] the bank lent money . [SEP]
    assert [(p.text, p.first.tokens, p.second.tokens) for p in pairs] == [
        ("the", (4,), (11,)),
        ("bank", (5,), (12,)),
    ]
    plain = [plain_cosine(state[5], state[12]) for state in run.hidden_states]
    assert word_path(run, pairs[1]) == pytest.approx(plain, abs=1e-12)
    assert token_pair_path(run, 5, 12) == pytest.approx(plain, abs=1e-12)
    # The two banks have equal word embeddings; only position and segment differ.
    assert plain[0] > plain[-1]


def test_the_same_word_in_two_runs() -> None:
    one = demo_run("He sat on the bank of the river.")
    other = demo_run("My bank lent money.")
    bank = next(pair for pair in same_words(one, other) if pair.text == "bank")
    assert (bank.first.tokens, bank.second.tokens) == ((5,), (2,))
    states = zip(one.hidden_states, other.hidden_states, strict=True)
    plain = [plain_cosine(a[5], b[2]) for a, b in states]
    assert word_path(one, bank, other) == pytest.approx(plain, abs=1e-12)
    assert token_pair_path(one, 5, 2, other) == pytest.approx(plain, abs=1e-12)


def test_the_vector_of_a_word_is_the_mean_of_its_pieces() -> None:
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


@pytest.mark.parametrize(
    ("texts", "segments", "pairs"),
    [
        # In order, and without regard to case.
        ("A b a c a b A", "0000111", [("A", 0, 4), ("b", 1, 5), ("a", 2, 6)]),
        # Unknown words may differ.
        ("[UNK] x [UNK] x", "0011", [("x", 1, 3)]),
        ("the the", "00", []),
    ],
)
def test_pairs_of_words(texts: str, segments: str, pairs: list[tuple[Any, ...]]) -> None:
    tokens = tokens_of(*texts.split(), segments=segments)
    found = same_words(run_of(tokens, np.eye(len(tokens)), pair="text"))
    assert [(p.text, *p.first.tokens, *p.second.tokens) for p in found] == pairs


def test_runs_of_other_sizes() -> None:
    tokens = tokens_of("x")
    one = run_of(tokens, [[1.0, 0.0]], [[1.0, 1.0]], [[0.0, 1.0]])
    shorter = run_of(tokens, [[1.0, 0.0]], [[0.0, 1.0]])
    assert token_pair_path(one, 0, 0, shorter) == pytest.approx((1.0, 0.5**0.5))
    assert token_pair_path(one, 0, 0, run_of(tokens, [[1.0, 0.0, 0.0]])) == ()
    assert token_pair_path(one, 0, 0, run_of(tokens)) == ()


def test_paths_have_gaps_where_a_vector_is_undefined() -> None:
    run = run_of(tokens_of("x", "y"), [[1.0, 0.0], [2.0, 0.0]], [[np.nan, np.nan], [1.0, 0.0]])
    assert token_pair_path(run, 0, 1) == (1.0, None)
    path = token_path(run_of(tokens_of("x"), [[1.0, 0.0]], [[np.nan, np.nan]], [[0.0, 0.0]]), 0)
    assert path.norms == (1.0, None, 0.0)
    assert path.to_start == (1.0, None, None)
    assert path.to_before == (None, None, None)


def test_the_path_of_a_token() -> None:
    run = demo_run("the cat sat on the mat")
    path = token_path(run, 2)
    vectors = [state[2] for state in run.hidden_states]
    assert path.norms == pytest.approx([float(np.linalg.norm(v)) for v in vectors])
    starts = [plain_cosine(vectors[0], v) for v in vectors]
    assert path.to_start == pytest.approx(starts, abs=1e-12)
    assert path.to_before[0] is None
    befores = [plain_cosine(a, b) for a, b in pairwise(vectors)]
    assert path.to_before[1:] == pytest.approx(befores, abs=1e-12)
    # Norms are stored with every run, states are not.
    without = token_path(replace(run, hidden_states=()), 2)
    assert without.norms == path.norms
    assert without.to_start == without.to_before == (None,) * 7


def test_anisotropy_is_the_mean_cosine_and_the_part_of_each_feature() -> None:
    state = np.random.default_rng(0).normal(size=(7, 12)) + 0.4
    found = anisotropy(state)
    assert found is not None
    pairs = [(i, j) for i in range(7) for j in range(7) if i != j]
    assert found.mean == pytest.approx(
        np.mean([plain_cosine(state[i], state[j]) for i, j in pairs])
    )
    units = state / np.linalg.norm(state, axis=1, keepdims=True)
    parts = np.mean([units[i] * units[j] for i, j in pairs], axis=0)
    assert found.parts == pytest.approx(parts, abs=1e-12)


def test_a_large_feature_makes_all_tokens_similar() -> None:
    state = np.random.default_rng(2).normal(size=(20, 64))
    state[:, 5] = 30.0
    found = anisotropy(state)
    assert found is not None
    assert found.mean > 0.9
    assert found.largest(1) == (5,)
    assert found.share((5,)) == pytest.approx(1.0, abs=0.02)


def test_undefined_vectors_do_not_count_in_anisotropy() -> None:
    state = np.array([[1.0, 0.0], [0.0, 0.0], [np.nan, 1.0], [1.0, 1.0]])
    found = anisotropy(state)
    assert found is not None
    assert found.mean == pytest.approx(0.5**0.5)
    assert anisotropy(state[1:3]) is None
