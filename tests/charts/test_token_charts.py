"""Charts of tokens in hidden states: norms, paths, similarities and features."""

from itertools import pairwise

import numpy as np
import pytest
from msgspec.structs import replace
from numpy.typing import NDArray

from bertviewer.charts.chart import LineChart
from bertviewer.charts.labels import axis_labels, names_of_states, norm_after, state_ticks
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.charts.token_charts import (
    TracedToken,
    feature_chart,
    feature_grid,
    has_norms,
    norms_chart,
    pair_chart,
    part_norms_chart,
    path_charts,
    similarity_chart,
    state_keys,
    word_chart,
)
from bertviewer.core.analysis.layers import Series, layer_series
from bertviewer.core.analysis.outliers import state_mean_stds
from bertviewer.core.analysis.similarity import same_words
from bertviewer.core.analysis.tokens import token_classes
from bertviewer.core.replay.outputs import call_statistics
from bertviewer.core.schema.activation_run import ActivationRun, ModuleActivation, Token
from bertviewer.core.schema.statistics import NO_ELEMENTS
from tests.charts.described import Golden, described
from tests.charts.runs import make_run
from tests.charts.test_layers import outputs
from tests.core.analysis.runs import demo_run, plain_cosine, run_of, tokens_of
from tests.core.replay.model_runs import known

CAT, MAT = TracedToken(2, "cat", 0), TracedToken(6, "mat", 3)
FIRST, SECOND = "He sat on the bank of the river.", "The bank lent money."
FEATURE = 5


def demo() -> ActivationRun:
    return demo_run("the cat sat on the mat")


def two_segments(run: ActivationRun) -> ActivationRun:
    """Return a run whose last token is of a second segment."""
    return replace(run, tokens=(*run.tokens[:2], Token(7, "[SEP]", 1)))


def states(*paths: tuple[str, ...]) -> ActivationRun:
    """Return a run whose states are outputs of these modules, one for each stack."""
    return replace(make_run(), state_paths=paths)


ENCODER = (("embeddings",), ("layer.0",), ("layer.1",))
BOTH = tuple((f"encoder.{n}", f"decoder.{n}") for n in range(3))


def test_charts_of_made_runs(golden: Golden) -> None:
    pair = tokens_of("x", "y", segments="01")
    made = replace(
        run_of(pair, np.eye(2), np.eye(2), np.eye(2)),
        state_paths=(("embed",), ("", ""), ("encoder.1", "decoder.1")),
    )
    normed = replace(made, state_paths=(("embed",), ("", ""), ("ln_f", "ln_f")))
    gone = [np.nan, np.nan]
    shorter = run_of(tokens_of("x", "y"), np.eye(2), [gone, [3.0, 4.0]], [gone, [0.0, 5.0]])
    # A zero vector has no direction.
    three = run_of(tokens_of("x", "y", "z"), [[1.0, 0.0], [3.0, 4.0], [0.0, 0.0]])
    x, y = TracedToken(0, "x", 0), TracedToken(1, "y", 1)
    charts = {
        "norms": norms_chart(states(*ENCODER)),
        "norms with gaps": norms_chart(make_run(norms=((None, 1.0, 2.0),))),
        "no norms": norms_chart(make_run(norms=())),
        "no tokens": norms_chart(make_run((), ())),
        "norms of a right-to-left word": norms_chart(make_run(("[CLS]", "##م", "[SEP]"))),
        # An encoder reads both segments; a decoder has its own states.
        "norms of two segments": norms_chart(two_segments(states(*ENCODER))),
        "norms of two stacks": norms_chart(two_segments(states(*BOTH))),
        "norms after a norm": norms_chart(states((), (), ("ln_f",))),
        "keys of a first token": state_keys(made, 0),
        "path of a token of a second stack": path_charts(made, (y,)).to_before,
        "path up to a norm": path_charts(normed, (x,)).to_start,
        "norms of a shorter stack": path_charts(shorter, (x, y)).norms,
        "path of a shorter stack": path_charts(shorter, (x, y)).to_before,
        "similarities": similarity_chart(three, 0),
        "similarities with close colours": similarity_chart(three, 0, is_whole=False),
        "similarities of two segments": similarity_chart(made, 1),
        "similarity of two tokens": pair_chart(made, 1, 0, "x – y"),
        "similarity up to a norm": pair_chart(normed, 0, 1, ""),
    }
    golden("charts/tokens.txt", described(charts))


def test_names_of_states_say_that_they_are_after_a_norm() -> None:
    def names(*paths: tuple[str, ...]) -> tuple[str, ...]:
        return names_of_states(states(*paths))

    plain = ("embeddings", "layer 0", "layer 1")
    assert names(("wte",), ("h.0",), ("ln_f",)) == (*plain[:2], "layer 1, after ln_f")
    both = names(("a", "b"), ("a.0", "b.0"), ("encoder.norm", "decoder.norm"))
    assert both[-1] == "layer 1, after norm"
    # Layers, one layer for all states, and states of unknown modules.
    shared = (("embeddings",), ("layers.0.a",), ("layers.0.a",))
    for paths in (ENCODER, shared, (("",), ("",), ("",)), ()):
        assert names(*paths) == plain
    assert names_of_states(make_run(norms=())) == ()
    # Mamba's states do not begin with the embeddings.
    layers = names(("layers.0",), ("layers.1",), ("norm_f",))
    assert layers == ("layer 0", "layer 1", "layer 1, after norm_f")
    assert names(("layers.0",), ("layers.1",), ("layers.2",)) == ("layer 0", "layer 1", "layer 2")
    # A module that contains the only layer is no norm.
    layer = ModuleActivation("encoder.layer.0", "Layer", (1, 3, 2), (1, 3, 2), (NO_ELEMENTS,), None)
    run = make_run(norms=((1.0,) * 3,) * 2)
    run = replace(run, modules=(layer,), state_paths=(("embeddings",), ("encoder",)))
    assert names_of_states(run) == ("embeddings", "layer 0")
    # Labels of axes are short.
    long = states((), (), ("final_layer_norm",))
    assert axis_labels(long)[-1] == "1+norm"
    assert state_ticks(long)[-1] == "1, after final_layer_norm"
    assert (norm_after(long), norm_after(make_run())) == ("final_layer_norm", "")


# Norms of parts of layers, against a plain forward pass.


def series_of(family: str, part: str) -> tuple[Series, ...]:
    return layer_series(known(family).model.architecture, known(family).run, part)


def norms_of(family: str, path: str) -> list[NDArray[np.float64]]:
    return [np.linalg.norm(rows, axis=1) for rows in outputs(family, path)]


def test_norms_of_a_part() -> None:
    run, series = known("bert").run, series_of("bert", "intermediate")
    chart = part_norms_chart(run, series)
    for layer in (0, 1):
        path = f"encoder.layer.{layer}.intermediate"
        (norms,) = norms_of("bert", path)
        assert chart.values[layer] == pytest.approx(norms, rel=1e-5)
        assert chart.key(layer, 3) == SelectionKey(path, token=3)
    assert chart.rows == ("0", "1")
    assert chart.row_names == ("layer 0", "layer 1")
    assert chart.table()[0][0] == "Layer × Token: Norm, intermediate"
    assert chart.columns == tuple(token.text for token in run.tokens)
    assert chart.split is None
    assert has_norms(run, series)
    pooler = (Series("x", "y", ("pooler",)),)
    assert not has_norms(run, ())
    assert not has_norms(run, pooler)
    assert np.isnan(part_norms_chart(run, pooler).values).all()
    assert part_norms_chart(run, ()).values.size == 0


def test_norms_of_a_part_of_two_stacks() -> None:
    run = known("bart").run
    split = sum(token.segment == 0 for token in run.tokens)
    chart = part_norms_chart(run, series_of("bart", "fc1"))
    assert (chart.split, chart.column_starts) == (split, (split,))
    for layer in (0, 1):
        paths = [f"{stack}.layers.{layer}.fc1" for stack in ("encoder", "decoder")]
        (encoder,), (decoder,) = (norms_of("bart", path) for path in paths)
        assert chart.values[layer] == pytest.approx([*encoder, *decoder], rel=1e-5)
        assert [chart.key(layer, column).path for column in (0, split)] == paths
    cross = part_norms_chart(run, series_of("bart", "encoder_attn"))
    assert np.isnan(cross.values[:, :split]).all()
    assert np.isfinite(cross.values[:, split:]).all()
    assert cross.key(1, 0) == SelectionKey(token=0)
    assert cross.key(1, split).path == "decoder.layers.1.encoder_attn"


def test_norms_of_a_shared_layer_have_a_row_for_each_call() -> None:
    opened, series = known("albert"), series_of("albert", "albert_layers.0.ffn")
    path = series[0].paths[0]
    first, last = norms_of("albert", path)
    without = part_norms_chart(opened.run, series)
    assert np.isnan(without.values[0]).all()
    assert without.values[1] == pytest.approx(last, rel=1e-5)
    whole = part_norms_chart(opened.run, series, call_statistics(opened, (path,)))
    assert whole.values == pytest.approx(np.stack([first, last]), rel=1e-5)
    # The module is both rows, so neither is marked.
    assert whole.chosen(SelectionKey(path, token=1)) == ((), (1,))


# Paths of tokens.


def test_paths_of_two_tokens() -> None:
    run = demo()
    charts = path_charts(run, (CAT, MAT))
    every = (charts.norms, charts.to_start, charts.to_before)
    for number, token in enumerate((2, 6)):
        vectors = [state[token] for state in run.hidden_states]
        assert len(vectors) == 7
        norms, starts, befores = (chart.lines[number].values for chart in every)
        assert norms == pytest.approx([float(np.linalg.norm(v)) for v in vectors])
        expected = [plain_cosine(vectors[0], v) for v in vectors]
        assert starts == pytest.approx(expected, abs=1e-12)
        assert befores[0] is None
        expected = [plain_cosine(*two) for two in pairwise(vectors)]
        assert befores[1:] == pytest.approx(expected, abs=1e-12)
    titles = ("Norm", "Cosine to embedding", "Cosine to previous layer")
    bounds = ((0.0, np.inf), (-1.0, 1.0), (-1.0, 1.0))
    for chart, title, limits in zip(every, titles, bounds, strict=True):
        assert [(line.label, line.color) for line in chart.lines] == [("cat", 0), ("mat", 3)]
        assert chart.ticks == ("emb", "0", "1", "2", "3", "4", "5")
        assert (chart.x_title, chart.y_title, chart.bounds) == ("Layer", title, limits)


# Similarities.


@pytest.mark.parametrize("state", [0, 3])
def test_cosines_of_all_pairs_of_tokens(state: int) -> None:
    run = demo()
    vectors, chart = run.hidden_states[state], similarity_chart(run, state)
    expected = np.array([[plain_cosine(one, other) for other in vectors] for one in vectors])
    assert chart.values == pytest.approx(expected, abs=1e-12)
    assert np.diagonal(chart.values).tolist() == [1.0] * 8
    name = "embeddings" if state == 0 else f"layer {state - 1}"
    assert chart.table()[0][0] == f"Token × Token: Cosine, {name}"


def bank(run: ActivationRun, other: ActivationRun | None = None) -> LineChart:
    word = next(pair for pair in same_words(run, other) if pair.text == "bank")
    return word_chart(run, word, "bank", other)


def test_the_similarity_of_two_tokens_by_layer() -> None:
    one, both = demo_run(FIRST), demo_run(FIRST, SECOND)
    other = demo_run("My bank lent money.")
    cases: list[tuple[LineChart, ActivationRun, int, ActivationRun, int]] = [
        (pair_chart(one, 5, 8, "bank – river"), one, 5, one, 8),
        (bank(both), both, 5, both, 12),
        (bank(one, other), one, 5, other, 2),
    ]
    for chart, a, i, b, j in cases:
        (line,) = chart.lines
        pairs = zip(a.hidden_states, b.hidden_states, strict=True)
        expected = [plain_cosine(x[i], y[j]) for x, y in pairs]
        assert line.values == pytest.approx(expected, abs=1e-12)
        assert chart.ticks == ("emb", "0", "1", "2", "3", "4", "5")
    assert cases[0][0].lines[0].label == "bank – river"
    # A word that is in both sentences selects neither token.
    assert {key.token for key in cases[1][0].lines[0].keys} == {None}


# Features.


def feature_values(run: ActivationRun) -> NDArray[np.float64]:
    return np.stack([state[:, FEATURE].astype(np.float64) for state in run.hidden_states])


def test_a_feature_of_all_tokens_with_the_limits_of_all_features() -> None:
    run = known("bert").run
    chart = feature_chart(run, FEATURE, token_classes(run)[:1], state_mean_stds(run))
    line, limits = chart.lines
    values = feature_values(run)
    assert (line.label, limits.label) == ("feature 5", "all features ± 6 std")
    assert chart.y_title == "feature 5: mean, min, max"
    assert chart.ticks == ("emb", "0", "1")
    assert line.values == pytest.approx(values.mean(axis=1).tolist())
    assert (line.min, line.max) == (tuple(values.min(axis=1)), tuple(values.max(axis=1)))
    assert line.keys == tuple(SelectionKey(run.state_path(n, 0)) for n in range(3))
    for n, state in enumerate(run.hidden_states):
        mean, std = state.astype(np.float64).mean(), state.astype(np.float64).std()
        found = [part[n] for _, part in limits.columns()]
        assert found == pytest.approx([mean, mean - 6 * std, mean + 6 * std])
    assert chart.table()[0] == (
        "Layer",
        *(f"feature 5, {name}" for name in ("mean", "min", "max")),
        *(f"all features ± 6 std, {name}" for name in ("mean", "mean − 6 std", "mean + 6 std")),
    )


def test_a_feature_of_classes_of_tokens() -> None:
    run = known("bert").run
    classes = token_classes(run)[1:]
    chart = feature_chart(run, FEATURE, classes)
    assert [line.label for line in chart.lines] == [kind.label for kind in classes]
    for line, kind in zip(chart.lines, classes, strict=True):
        expected = feature_values(run)[:, list(kind.tokens)].mean(axis=1)
        assert line.values == pytest.approx(expected.tolist())
        assert line.min is line.max is None
    assert chart.y_title == "feature 5"
    assert chart.table()[0][1] == f"{classes[0].label}, feature 5, mean"
    (alone,) = feature_chart(run, FEATURE, classes[:1]).lines
    assert alone.max == tuple(feature_values(run)[:, list(classes[0].tokens)].max(axis=1))
    decoded = known("bart").run
    second = next(kind for kind in token_classes(decoded) if kind.name == "second")
    (line,) = feature_chart(decoded, FEATURE, (second,)).lines
    assert line.keys[1:] == (SelectionKey("decoder.layers.0"), SelectionKey("decoder.layers.1"))


def test_the_grid_of_a_feature() -> None:
    run = known("bert").run
    chart = feature_grid(run, FEATURE)
    assert (chart.values == feature_values(run)).all()
    assert chart.is_signed
    assert chart.value_title == "feature 5"
    assert chart.key(2, 1) == SelectionKey("encoder.layer.1", token=1)
    assert chart.rows == ("emb", "0", "1")
