"""One feature through the hidden states, as charts, against the states themselves."""

import numpy as np
import pytest

from bertviewer.charts.selection_key import SelectionKey
from bertviewer.charts.token_charts import feature_chart, feature_grid
from bertviewer.core.analysis.outliers import state_mean_stds
from bertviewer.core.analysis.tokens import token_classes
from bertviewer.core.schema.activation_run import ActivationRun
from tests.core.replay.model_runs import known

FEATURE = 5


def columns(run: ActivationRun) -> np.ndarray:
    return np.stack([state[:, FEATURE].astype(np.float64) for state in run.hidden_states])


def test_all_tokens_with_the_limits() -> None:
    run = known("bert").run
    every = token_classes(run)[:1]
    chart = feature_chart(run, FEATURE, every, state_mean_stds(run))
    line, limits = chart.lines
    values = columns(run)
    assert line.label == "feature 5"
    assert chart.y_title == "feature 5: mean, min, max"
    assert chart.ticks == ("emb", "0", "1")
    assert line.values == pytest.approx(values.mean(axis=1).tolist())
    assert (line.min, line.max) == (tuple(values.min(axis=1)), tuple(values.max(axis=1)))
    assert line.keys == tuple(SelectionKey(run.state_path(n, 0)) for n in range(3))
    for n, state in enumerate(run.hidden_states):
        mean, std = state.astype(np.float64).mean(), state.astype(np.float64).std()
        found = [part[n] for _, part in limits.columns()]
        assert found == pytest.approx([mean, mean - 6 * std, mean + 6 * std])
    assert limits.label == "all features ± 6 std"
    assert chart.table()[0] == (
        "Layer",
        "feature 5, mean",
        "feature 5, min",
        "feature 5, max",
        "all features ± 6 std, mean",
        "all features ± 6 std, mean − 6 std",
        "all features ± 6 std, mean + 6 std",
    )


def test_by_class() -> None:
    run = known("bert").run
    classes = token_classes(run)[1:]
    chart = feature_chart(run, FEATURE, classes)
    assert [line.label for line in chart.lines] == [kind.label for kind in classes]
    for line, kind in zip(chart.lines, classes, strict=True):
        plain = columns(run)[:, list(kind.tokens)].mean(axis=1)
        assert line.values == pytest.approx(plain.tolist())
        assert line.min is line.max is None
    assert chart.y_title == "feature 5"
    assert chart.table()[0][1] == f"{classes[0].label}, feature 5, mean"
    (alone,) = feature_chart(run, FEATURE, classes[:1]).lines
    assert alone.max == tuple(columns(run)[:, list(classes[0].tokens)].max(axis=1))


def test_a_decoders_tokens_stand_for_the_decoders_layers() -> None:
    run = known("bart").run
    second = next(kind for kind in token_classes(run) if kind.name == "second")
    (line,) = feature_chart(run, FEATURE, (second,)).lines
    assert line.keys[1:] == (SelectionKey("decoder.layers.0"), SelectionKey("decoder.layers.1"))


def test_the_grid() -> None:
    run = known("bert").run
    chart = feature_grid(run, FEATURE)
    assert (chart.values == columns(run)).all()
    assert chart.is_signed
    assert chart.value_title == "feature 5"
    assert chart.key(2, 1) == SelectionKey("encoder.layer.1", token=1)
    assert chart.rows == ("emb", "0", "1")
