"""Outlier features and paths of features, compared with a plain search."""

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


def with_spikes(tokens: int, width: int, *spikes: tuple[int, int, float]) -> NDArray[np.float64]:
    """Return zeros, except for values at (token, feature)."""
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


def test_the_limit_is_six_standard_deviations() -> None:
    # One value a among n - 1 zeros: mean a/n, variance a²/n - a²/n², so (a - a/n) / std is
    # sqrt(n - 1): 5.92 at 36 values, 6.08 at 38.
    assert outlier_features(run_with(with_spikes(18, 2, (3, 1, 5.0)))) == ()
    (feature,) = outlier_features(run_with(with_spikes(19, 2, (3, 1, -5.0))))
    assert (feature.index, feature.states) == (1, (0,))
    (outlier,) = feature.outliers
    assert (outlier.tokens, outlier.token) == (1, 3)
    assert outlier.deviation == pytest.approx(-(37**0.5))


def test_features_are_ordered_by_states_and_then_by_deviation() -> None:
    # Of a few spikes among 1000 zeros, one twice as large is about twice as far away.
    run = run_with(
        with_spikes(100, 10, (5, 7, 30.0), (6, 2, -9.0), (8, 2, -8.0), (9, 4, 10.0), (9, 3, 12.0)),
        with_spikes(100, 10, (5, 2, 1.0)),
        with_spikes(100, 10),
        with_spikes(100, 10, (4, 2, 6.0), (1, 4, 6.0)),
    )
    features = outlier_features(run)
    assert [(feature.index, feature.states) for feature in features] == [
        (2, (0, 1, 3)),
        (4, (0, 3)),
        (7, (0,)),
        (3, (0,)),
    ]
    assert [(o.tokens, o.token) for o in features[0].outliers] == [(2, 6), (1, 5), (1, 4)]
    # The single spike of the second state is the farthest from its mean.
    assert features[0].largest.state == 1
    assert features[0].largest.deviation == pytest.approx(999**0.5)
    assert_plain(run)


def test_equal_values_and_no_states_have_no_outliers() -> None:
    for value in (0.1, 1e300, 5e-324):
        assert outlier_features(run_with(np.full((50, 7), value))) == ()
    run = run_of(tokens_of("x"))
    assert outlier_features(run) == ()
    assert feature_path(run, 3).means == ()


SPIKES = st.tuples(st.integers(0, 24), st.integers(0, 3), st.floats(width=32))


@settings(max_examples=40)
@given(st.lists(SPIKES, max_size=12))
def test_outliers_are_those_of_a_plain_search(spikes: list[tuple[int, int, float]]) -> None:
    state = np.random.default_rng(0).standard_normal((25, 4))
    for token, feature, value in spikes:
        state[token, feature] = value
    assert_plain(run_with(state, dtype=np.float32))


def test_outliers_levels_and_a_feature_of_the_demo() -> None:
    run = demo_run("the cat sat on the mat")
    assert_plain(run)
    feature = outlier_features(run)[0].index
    path = feature_path(run, feature)
    levels = state_mean_stds(run)
    assert path.values.shape == (7, 8)
    for number, (state, level) in enumerate(zip(run.hidden_states, levels, strict=True)):
        exact = state.astype(np.float64)
        assert level is not None
        assert (level.mean, level.std) == pytest.approx((np.mean(exact), np.std(exact)))
        column = exact[:, feature]
        assert (path.values[number] == column).all()
        assert path.means[number] == pytest.approx(np.mean(column))
        assert (path.mins[number], path.maxs[number]) == (np.min(column), np.max(column))
    some = feature_path(run, feature, [0, 7])
    assert (some.values == path.values[:, [0, 7]]).all()
    assert some.means == pytest.approx(np.mean(some.values, axis=1).tolist())
    assert some.mins == tuple(np.min(some.values, axis=1))


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
    assert path.values[1, 0] == inf
    empty = feature_path(run, 1)
    assert empty.means[0] is empty.mins[0] is empty.maxs[0] is None
    levels = state_mean_stds(run)
    assert levels[1] is not None
    # The second state's finite values are 0, 2 and 4.
    assert (levels[1].mean, levels[1].std) == pytest.approx((2.0, (8 / 3) ** 0.5))
    assert levels[2:] == (MeanStd(5.0, 0.0), MeanStd(1e308, 0.0))
    assert state_mean_stds(run_with(np.full((2, 3), nan))) == (None,)
