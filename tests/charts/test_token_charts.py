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
from tests.charts.runs import NORMS, make_run
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


# Norms of hidden states.


def test_norms_are_those_of_the_run() -> None:
    chart = norms_chart(make_run())
    assert np.array_equal(chart.values, np.array(NORMS))
    assert chart.rows == ("emb", "0", "1")
    assert chart.row_names == ("embeddings", "layer 0", "layer 1")
    assert chart.columns == ("[CLS]", "it's", "[SEP]")
    assert (chart.x_title, chart.y_title, chart.value_title) == ("Token", "Layer", "Norm")
    assert not chart.is_signed
    missing = norms_chart(make_run(norms=((None, 1.0, 2.0),)))
    assert np.isnan(missing.values[0, 0])
    assert missing.values[0, 1:].tolist() == [1.0, 2.0]
    assert norms_chart(make_run(norms=())).values.size == 0
    assert norms_chart(make_run((), ())).values.size == 0


def test_rows_select_the_modules_of_the_stack_of_a_token() -> None:
    assert norms_chart(make_run()).key(2, 1) == SelectionKey(token=1)
    one = (("embeddings",), ("layer.0",), ("layer.1",))
    two = tuple((f"encoder.{n}", f"decoder.{n}") for n in range(3))
    for paths, modules in (
        (one, ("layer.1", "layer.1", "layer.1")),  # an encoder reads both segments
        (two, ("encoder.2", "encoder.2", "decoder.2")),
    ):
        chart = norms_chart(two_segments(replace(make_run(), state_paths=paths)))
        keys = [chart.key(2, column) for column in range(3)]
        assert keys == [SelectionKey(path, token=n) for n, path in enumerate(modules)]
        assert (chart.row_starts, chart.column_starts) == ((), (2,))
    plain = norms_chart(replace(make_run(), state_paths=one))
    assert (plain.split, plain.column_starts) == (None, ())
    assert plain.table() == norms_chart(two_segments(make_run())).table()


def test_names_of_states_say_that_they_are_after_a_norm() -> None:
    def names(*paths: tuple[str, ...]) -> tuple[str, ...]:
        return names_of_states(replace(make_run(), state_paths=paths))

    plain = ("embeddings", "layer 0", "layer 1")
    assert names(("wte",), ("h.0",), ("ln_f",)) == (*plain[:2], "layer 1, after ln_f")
    both = names(("a", "b"), ("a.0", "b.0"), ("encoder.norm", "decoder.norm"))
    assert both[-1] == "layer 1, after norm"
    # Layers, one layer for all states, and states of unknown modules.
    for paths in (
        (("embeddings",), ("layer.0",), ("layer.1",)),
        (("embeddings",), ("layers.0.a",), ("layers.0.a",)),
        (("",), ("",), ("",)),
        (),
    ):
        assert names(*paths) == plain
    assert names_of_states(make_run(norms=())) == ()
    # A module that contains the only layer is no norm.
    layer = ModuleActivation("encoder.layer.0", "Layer", (1, 3, 2), (1, 3, 2), (NO_ELEMENTS,), None)
    run = make_run(norms=((1.0,) * 3,) * 2)
    run = replace(run, modules=(layer,), state_paths=(("embeddings",), ("encoder",)))
    assert names_of_states(run) == ("embeddings", "layer 0")


def test_labels_of_states_are_short() -> None:
    normed = replace(make_run(), state_paths=((), (), ("ln_f",)))
    assert state_ticks(normed) == ("emb", "0", "1, after ln_f")
    assert norms_chart(normed).rows == axis_labels(normed) == ("emb", "0", "1+ln_f")
    long = replace(make_run(), state_paths=((), (), ("final_layer_norm",)))
    assert axis_labels(long)[-1] == "1+norm"
    assert (norm_after(normed), norm_after(make_run())) == ("ln_f", "")


def test_right_to_left_names_are_isolated() -> None:
    chart = norms_chart(make_run(("[CLS]", "##م", "[SEP]")))
    assert chart.text(1, 1).startswith("layer 0, \u2066##م\u2069 (token 1): ")
    assert chart.columns[1] == "##م"
    names = (f"{text} (token {n})" for n, text in enumerate(chart.columns))
    assert chart.table()[0] == ("Layer × Token: Norm", *names)


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


def test_points_of_paths_select_module_and_token() -> None:
    run = run_of(tokens_of("x", "y", segments="01"), np.eye(2), np.eye(2), np.eye(2))
    paths = (("embed",), ("", ""), ("encoder.1", "decoder.1"))
    run = replace(run, state_paths=paths)
    first = (SelectionKey("embed", 0), SelectionKey(token=0), SelectionKey("encoder.1", 0))
    second = (SelectionKey("embed", 1), SelectionKey(token=1), SelectionKey("decoder.1", 1))
    assert state_keys(run, 0) == first
    charts = path_charts(run, (TracedToken(1, "y", 0),))
    assert charts.norms.names == charts.norms.ticks
    assert charts.norms.lines[0].keys == charts.to_before.lines[0].keys == second
    normed = replace(run, state_paths=(*paths[:2], ("ln_f", "ln_f")))
    chart = path_charts(normed, (TracedToken(0, "x", 0),)).to_start
    assert chart.names == ("emb", "0", "1, after ln_f")
    assert chart.ticks == ("emb", "0", "1+ln_f")


def test_paths_have_gaps_where_a_stack_is_shorter() -> None:
    gone = [np.nan, np.nan]
    run = run_of(tokens_of("x", "y"), np.eye(2), [gone, [3.0, 4.0]], [gone, [0.0, 5.0]])
    charts = path_charts(run, (TracedToken(0, "x", 0), TracedToken(1, "y", 1)))
    assert [line.values for line in charts.norms.lines] == [(1.0, None, None), (1.0, 5.0, 5.0)]
    gaps, values = (line.values for line in charts.to_before.lines)
    assert gaps == (None, None, None)
    assert values[1:] == pytest.approx((0.8, 0.8))


# Similarities.


@pytest.mark.parametrize("state", [0, 3])
def test_cosines_of_all_pairs_of_tokens(state: int) -> None:
    run = demo()
    vectors, chart = run.hidden_states[state], similarity_chart(run, state)
    expected = np.array([[plain_cosine(one, other) for other in vectors] for one in vectors])
    assert chart.values == pytest.approx(expected, abs=1e-12)
    assert np.diagonal(chart.values).tolist() == [1.0] * 8
    assert chart.rows == chart.columns
    assert chart.text(0, 2) == f"[CLS] (token 0), cat (token 2): {expected[0, 2]:.7g}"
    assert chart.is_top_down
    assert chart.key(1, 5) == SelectionKey(token=5)
    name = "embeddings" if state == 0 else f"layer {state - 1}"
    assert chart.table()[0][0] == f"Token × Token: Cosine, {name}"


def test_texts_and_colours_of_similarities() -> None:
    pair = tokens_of("[CLS]", "x", "[SEP]", "y", "[SEP]", segments="00011")
    chart = similarity_chart(run_of(pair, np.eye(5)), 0)
    assert (chart.row_starts, chart.column_starts) == ((3,), (3,))
    run = run_of(tokens_of("x", "y", "z"), [[1.0, 0.0], [1.0, 1.0], [0.0, 0.0]])
    whole, close = similarity_chart(run, 0), similarity_chart(run, 0, is_whole=False)
    assert whole.row_starts == whole.column_starts == ()
    assert (whole.is_signed, whole.levels) == (True, (-1.0, 1.0))
    assert not close.is_signed
    assert close.levels == pytest.approx((0.5**0.5, 1.0))
    # A zero vector has no direction.
    assert np.isnan(close.values[2]).all()


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
        states = zip(a.hidden_states, b.hidden_states, strict=True)
        expected = [plain_cosine(x[i], y[j]) for x, y in states]
        assert line.values == pytest.approx(expected, abs=1e-12)
        assert chart.ticks == ("emb", "0", "1", "2", "3", "4", "5")
    assert cases[0][0].lines[0].label == "bank – river"
    # A word that is in both sentences selects neither token.
    assert {key.token for key in cases[1][0].lines[0].keys} == {None}


def test_points_of_a_pair_select_its_first_token() -> None:
    run = run_of(tokens_of("x", "y", segments="01"), np.eye(2), np.eye(2))
    run = replace(run, state_paths=(("embed",), ("encoder.0", "decoder.0")))
    (line,) = pair_chart(run, 1, 0, "").lines
    assert line.keys == (SelectionKey("embed", 1), SelectionKey("decoder.0", 1))
    normed = replace(run, state_paths=(("wte",), ("ln_f",)))
    assert pair_chart(normed, 0, 1, "").names == ("emb", "0, after ln_f")


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
