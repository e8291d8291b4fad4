"""The mean cosine of different tokens is a sum over the features."""

import numpy as np
import pytest

from bertviewer.core.analysis.similarity import anisotropy, cosine_matrix


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
