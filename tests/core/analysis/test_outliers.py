"""Outlier features are those that a plain search finds."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from bertviewer.core.analysis.outliers import (
    MeanStd,
    feature_path,
    outlier_features,
    state_mean_stds,
)
from bertviewer.core.schema.activation_run import ActivationRun
from tests.core.analysis.runs import demo_run, run_of, tokens_of


def spiked(tokens: int, width: int, *spikes: tuple[int, int, float]) -> NDArray[np.float64]:
    """Return zeros, but for some values at (token, feature)."""
    state = np.zeros((tokens, width))
    for token, feature, value in spikes:
        state[token, feature] = value
    return state


def run_with(*states: NDArray[Any], dtype: Any = np.float64) -> ActivationRun:
    tokens = tokens_of(*(f"t{number}" for number in range(len(states[0]))))
    return run_of(tokens, *(state.astype(dtype) for state in states))


def plain_outliers(run: ActivationRun) -> dict[int, list[tuple[int, int, float, int]]]:
    """Search value by value: feature to (state, tokens, largest deviation, its token)."""
    found: dict[int, list[tuple[int, int, float, int]]] = {}
    for number, state in enumerate(run.hidden_states):
        values = [float(v) for v in state.ravel() if math.isfinite(v)]
        if not values:
            continue
        mean = math.fsum(values) / len(values)
        std = math.sqrt(math.fsum((v - mean) ** 2 for v in values) / len(values))
        for feature in range(state.shape[1]):
            far = [
                ((float(v) - mean) / std, token)
                for token, v in enumerate(state[:, feature])
                if std and math.isfinite(v) and abs(float(v) - mean) > 6 * std
            ]
            if far:
                deviation, token = max(far, key=lambda two: abs(two[0]))
                found.setdefault(feature, []).append((number, len(far), deviation, token))
    return found


def assert_plain(run: ActivationRun) -> None:
    plain, features = plain_outliers(run), outlier_features(run)
    assert {feature.index for feature in features} == set(plain)
    for feature in features:
        expected = plain[feature.index]
        assert [(o.state, o.tokens, o.token) for o in feature.outliers] == [
            (state, tokens, token) for state, tokens, _, token in expected
        ]
        deviations = [o.deviation for o in feature.outliers]
        assert deviations == pytest.approx([deviation for _, _, deviation, _ in expected])


def test_one_value_among_n_zeros_is_sqrt_of_n_minus_1_deviations_away() -> None:
    # Mean a/n, variance a²/n - a²/n², so (a - a/n) / std = sqrt(n - 1): 6.08 at 38, 5.92 at 36.
    assert outlier_features(run_with(spiked(18, 2, (3, 1, 5.0)))) == ()
    (feature,) = outlier_features(run_with(spiked(19, 2, (3, 1, -5.0))))
    assert feature.index == 1
    assert feature.states == (0,)
    (outlier,) = feature.outliers
    assert (outlier.tokens, outlier.token) == (1, 3)
    assert outlier.deviation == pytest.approx(-(37**0.5))


def test_features_of_more_states_come_first_then_the_farther_ones() -> None:
    # Of a few spikes among 1000 zeros, one twice as large is about twice as far away.
    run = run_with(
        spiked(100, 10, (5, 7, 30.0), (6, 2, -9.0), (8, 2, -8.0), (9, 4, 10.0), (9, 3, 12.0)),
        spiked(100, 10, (5, 2, 1.0)),
        spiked(100, 10),
        spiked(100, 10, (4, 2, 6.0), (1, 4, 6.0)),
    )
    features = outlier_features(run)
    assert [(feature.index, feature.states) for feature in features] == [
        (2, (0, 1, 3)),
        (4, (0, 3)),
        (7, (0,)),
        (3, (0,)),
    ]
    assert [(o.tokens, o.token) for o in features[0].outliers] == [(2, 6), (1, 5), (1, 4)]
    # A lone spike is the farthest from the mean: sqrt(999) standard deviations.
    assert features[0].largest.state == 1
    assert features[0].largest.deviation == pytest.approx(999**0.5)
    assert_plain(run)


def test_what_is_not_finite_is_left_out() -> None:
    state = spiked(40, 3, (2, 1, 9.0))
    state[0], state[1, 1], state[5, 0] = np.nan, np.inf, -np.inf
    run = run_with(state, np.full((40, 3), np.nan), np.full((40, 3), 0.1))
    ((outlier,),) = [feature.outliers for feature in outlier_features(run)]
    # 120 values less five that are not finite.
    assert outlier.deviation == pytest.approx(114**0.5)
    assert (outlier.state, outlier.token) == (0, 2)
    assert_plain(run)


@pytest.mark.parametrize("value", [0.1, 1e300, 5e-324])
def test_a_state_of_equal_values_has_none(value: float) -> None:
    assert outlier_features(run_with(np.full((50, 7), value))) == ()


def test_a_run_without_states_has_none() -> None:
    run = run_of(tokens_of("x"))
    assert outlier_features(run) == ()
    assert feature_path(run, 3).means == ()


@settings(max_examples=40)
@given(st.lists(st.tuples(st.integers(0, 24), st.integers(0, 3), st.floats(width=32)), max_size=12))
def test_any_spikes(spikes: list[tuple[int, int, float]]) -> None:
    state = np.random.default_rng(0).standard_normal((25, 4))
    for token, feature, value in spikes:
        state[token, feature] = value
    assert_plain(run_with(state, dtype=np.float32))


@pytest.mark.parametrize("text", ["the cat sat on the mat", "unaffably 12212121 …"])
def test_outliers_of_the_demo_are_those_of_a_plain_search(text: str) -> None:
    run = demo_run(text)
    assert outlier_features(run)
    assert_plain(run)


def test_a_feature_of_the_demo_through_the_states() -> None:
    run = demo_run("the cat sat on the mat")
    feature = outlier_features(run)[0].index
    path = feature_path(run, feature)
    assert path.values.shape == (7, 8)
    for number, state in enumerate(run.hidden_states):
        column = state.astype(np.float64)[:, feature]
        assert (path.values[number] == column).all()
        assert path.means[number] == pytest.approx(np.mean(column))
        assert path.mins[number] == np.min(column)
        assert path.maxs[number] == np.max(column)
    some = feature_path(run, feature, [0, 7])
    assert (some.values == path.values[:, [0, 7]]).all()
    assert some.means == pytest.approx(np.mean(path.values[:, [0, 7]], axis=1).tolist())
    assert some.mins == tuple(np.min(path.values[:, [0, 7]], axis=1))


def test_the_levels_of_the_demos_states() -> None:
    run = demo_run("the cat sat on the mat")
    levels = state_mean_stds(run)
    assert len(levels) == 7
    for level, state in zip(levels, run.hidden_states, strict=True):
        assert level is not None
        assert level.mean == pytest.approx(np.mean(state.astype(np.float64)))
        assert level.std == pytest.approx(np.std(state.astype(np.float64)))


def test_a_feature_with_gaps() -> None:
    nan, inf = np.nan, np.inf
    run = run_with(
        np.array([[1.0, nan], [3.0, nan]]),
        np.array([[inf, 0.0], [2.0, 4.0]]),
        np.array([[5.0, 5.0], [5.0, 5.0]]),
        np.array([[1e308, 1e308], [1e308, 1e308]]),
    )
    path = feature_path(run, 0)
    assert path.means == pytest.approx((2.0, 2.0, 5.0, 1e308))
    assert path.mins == (1.0, 2.0, 5.0, 1e308)
    assert path.maxs == (3.0, 2.0, 5.0, 1e308)
    levels = state_mean_stds(run)
    assert levels[2:] == (MeanStd(5.0, 0.0), MeanStd(1e308, 0.0))
    assert levels[1] is not None
    # The second state's finite values are 0, 2 and 4.
    assert (levels[1].mean, levels[1].std) == pytest.approx((2.0, (8 / 3) ** 0.5))
    assert path.values[1, 0] == inf
    gone = feature_path(run, 1)
    assert gone.means[0] is gone.mins[0] is gone.maxs[0] is None
    assert state_mean_stds(run_with(np.full((2, 3), nan))) == (None,)
