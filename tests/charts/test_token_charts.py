"""Charts of tokens in hidden states: norms, paths, similarities and features."""

from itertools import pairwise

import numpy as np
import pytest
from msgspec.structs import replace

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
from tests.charts.test_layers import given
from tests.core.analysis.runs import demo_run, plain_cosine, run_of, tokens_of
from tests.core.replay.model_runs import Opened, known


def test_the_runs_own_norms() -> None:
    chart = norms_chart(make_run())
    assert np.array_equal(chart.values, np.array(NORMS))
    assert chart.rows == ("emb", "0", "1")
    assert chart.row_names == ("embeddings", "layer 0", "layer 1")
    assert chart.columns == ("[CLS]", "it's", "[SEP]")
    assert (chart.x_title, chart.y_title, chart.value_title) == ("Token", "Layer", "Norm")
    assert chart.key(2, 1) == SelectionKey(token=1)
    assert not chart.is_signed


def test_what_is_not_finite_is_nan() -> None:
    chart = norms_chart(make_run(norms=((None, 1.0, 2.0),)))
    assert np.isnan(chart.values[0, 0])
    assert chart.values[0, 1:].tolist() == [1.0, 2.0]


def test_rows_stand_for_the_modules_that_gave_them() -> None:
    paths = (("embeddings",), ("encoder.layer.0",), ("encoder.layer.1",))
    chart = norms_chart(replace(make_run(), state_paths=paths))
    assert chart.key(1, 2) == SelectionKey("encoder.layer.0", token=2)
    assert chart.split is None


def pair(paths: tuple[tuple[str, ...], ...]) -> tuple[SelectionKey, ...]:
    """Return what the last row stands for, where the last token is of a second segment."""
    run = make_run()
    tokens = (*run.tokens[:2], Token(7, "[SEP]", 1))
    chart = norms_chart(replace(run, tokens=tokens, state_paths=paths))
    return tuple(chart.key(2, column) for column in range(3))


def test_encoder_and_decoder_tokens_have_their_own_modules() -> None:
    paths = tuple((f"encoder.{n}", f"decoder.{n}") for n in range(3))
    first, second, third = pair(paths)
    assert (first, second) == (
        SelectionKey("encoder.2", token=0),
        SelectionKey("encoder.2", token=1),
    )
    assert third == SelectionKey("decoder.2", token=2)


def test_a_pair_that_one_stack_reads_has_one_module_a_row() -> None:
    places = pair((("embeddings",), ("layer.0",), ("layer.1",)))
    assert places == tuple(SelectionKey("layer.1", token=n) for n in range(3))


def test_a_second_text_is_set_off() -> None:
    run = make_run()
    assert norms_chart(run).column_starts == ()
    tokens = (*run.tokens[:2], Token(7, "[SEP]", 1))
    chart = norms_chart(replace(run, tokens=tokens))
    assert (chart.row_starts, chart.column_starts) == ((), (2,))
    assert chart.table() == norms_chart(run).table()


def test_nothing_in_a_run() -> None:
    assert norms_chart(make_run(norms=())).values.size == 0
    assert norms_chart(make_run((), ())).values.size == 0


def test_a_state_after_the_final_norm_says_so() -> None:
    def names(*paths: tuple[str, ...]) -> tuple[str, ...]:
        return names_of_states(replace(make_run(), state_paths=paths))

    plain = ("embeddings", "layer 0", "layer 1")
    assert names(("wte",), ("h.0",), ("ln_f",)) == (*plain[:2], "layer 1, after ln_f")
    both = names(("a", "b"), ("a.0", "b.0"), ("encoder.norm", "decoder.norm"))
    assert both[-1] == "layer 1, after norm"
    # Layers themselves, one layer for all states, and states of which no module is known.
    assert names(("embeddings",), ("layer.0",), ("layer.1",)) == plain
    assert names(("embeddings",), ("layers.0.a",), ("layers.0.a",)) == plain
    assert names(("",), ("",), ("",)) == names() == plain
    assert names_of_states(make_run(norms=())) == ()
    assert state_ticks(replace(make_run(), state_paths=((), (), ("ln_f",)))) == (
        "emb",
        "0",
        "1, after ln_f",
    )


def test_what_holds_the_only_layer_is_no_norm() -> None:
    run = make_run(norms=((1.0,) * 3,) * 2)
    shape = 1, 3, 2
    layer = ModuleActivation("encoder.layer.0", "Layer", shape, shape, (NO_ELEMENTS,), None)
    given = replace(run, modules=(layer,), state_paths=(("embeddings",), ("encoder",)))
    assert names_of_states(given) == ("embeddings", "layer 0")


def test_names_from_right_to_left_keep_to_their_places() -> None:
    chart = norms_chart(make_run(("[CLS]", "##م", "[SEP]")))
    assert chart.text(1, 1).startswith("layer 0, \u2066##م\u2069 (token 1): ")
    assert chart.columns[1] == "##م"
    assert chart.table()[0] == ("Layer × Token: Norm", *(
        f"{text} (token {n})" for n, text in enumerate(chart.columns)
    ))  # fmt: skip


def test_the_row_after_the_final_norm_is_not_called_a_layer() -> None:
    normed = replace(make_run(), state_paths=((), (), ("ln_f",)))
    assert norms_chart(normed).rows == axis_labels(normed) == ("emb", "0", "1+ln_f")
    long = replace(make_run(), state_paths=((), (), ("final_layer_norm",)))
    assert axis_labels(long)[-1] == "1+norm"
    assert norms_chart(make_run()).rows == ("emb", "0", "1")
    assert (norm_after(normed), norm_after(make_run())) == ("ln_f", "")


def series_of(it: Opened, part: str) -> tuple[Series, ...]:
    return layer_series(it.model.architecture, it.run, part)


def plain_norms(it: Opened, path: str) -> list[np.ndarray]:
    return [np.linalg.norm(rows, axis=1) for rows in given(it, path)]


def test_one_stack() -> None:
    it = known("bert")
    chart = part_norms_chart(it.run, series_of(it, "intermediate"))
    for layer in (0, 1):
        (norms,) = plain_norms(it, f"encoder.layer.{layer}.intermediate")
        assert chart.values[layer] == pytest.approx(norms, rel=1e-5)
        assert chart.key(layer, 3) == SelectionKey(f"encoder.layer.{layer}.intermediate", token=3)
    assert chart.rows == ("0", "1")
    assert chart.row_names == ("layer 0", "layer 1")
    assert chart.table()[0][0] == "Layer × Token: Norm, intermediate"
    assert chart.columns == tuple(token.text for token in it.run.tokens)
    assert chart.split is None


def test_two_stacks_side_by_side() -> None:
    it = known("bart")
    chart = part_norms_chart(it.run, series_of(it, "fc1"))
    split = sum(token.segment == 0 for token in it.run.tokens)
    assert chart.split == split
    assert chart.column_starts == (split,)
    for layer in (0, 1):
        (encoder,) = plain_norms(it, f"encoder.layers.{layer}.fc1")
        (decoder,) = plain_norms(it, f"decoder.layers.{layer}.fc1")
        assert chart.values[layer] == pytest.approx([*encoder, *decoder], rel=1e-5)
        assert chart.key(layer, 0).path == f"encoder.layers.{layer}.fc1"
        assert chart.key(layer, split).path == f"decoder.layers.{layer}.fc1"


def test_what_only_the_decoder_has() -> None:
    it = known("bart")
    chart = part_norms_chart(it.run, series_of(it, "encoder_attn"))
    split = sum(token.segment == 0 for token in it.run.tokens)
    assert np.isnan(chart.values[:, :split]).all()
    assert np.isfinite(chart.values[:, split:]).all()
    assert chart.key(1, 0) == SelectionKey(token=0)
    assert chart.key(1, split).path == "decoder.layers.1.encoder_attn"


def test_a_shared_layer_has_a_row_for_each_call() -> None:
    it = known("albert")
    series = series_of(it, "albert_layers.0.ffn")
    path = series[0].paths[0]
    first, last = plain_norms(it, path)
    bare = part_norms_chart(it.run, series)
    assert np.isnan(bare.values[0]).all()
    assert bare.values[1] == pytest.approx(last, rel=1e-5)
    measured = call_statistics(it, (path,))
    whole = part_norms_chart(it.run, series, measured)
    assert whole.values == pytest.approx(np.stack([first, last]), rel=1e-5)
    # The module is both of them, so neither is marked.
    assert whole.chosen(SelectionKey(path, token=1)) == ((), (1,))


def test_what_has_no_norms() -> None:
    it = known("bert")
    assert has_norms(it.run, series_of(it, "attention"))
    assert not has_norms(it.run, ())
    pooler = (Series("x", "y", ("pooler",)),)
    assert not has_norms(it.run, pooler)
    assert np.isnan(part_norms_chart(it.run, pooler).values).all()
    assert part_norms_chart(it.run, ()).values.size == 0


X = TracedToken(0, "x", 0)
CAT, MAT = TracedToken(2, "cat", 0), TracedToken(6, "mat", 3)


def test_the_ways_of_two_tokens_of_the_demo() -> None:
    run = demo_run("the cat sat on the mat")
    charts = path_charts(run, (CAT, MAT))
    for token, norms, starts, befores in zip(
        (2, 6), charts.norms.lines, charts.to_start.lines, charts.to_before.lines, strict=True
    ):
        vectors = [state[token] for state in run.hidden_states]
        assert len(vectors) == 7
        assert norms.values == pytest.approx([float(np.linalg.norm(v)) for v in vectors])
        plain = [plain_cosine(vectors[0], v) for v in vectors]
        assert starts.values == pytest.approx(plain, abs=1e-12)
        assert befores.values[0] is None
        plain = [plain_cosine(*two) for two in pairwise(vectors)]
        assert befores.values[1:] == pytest.approx(plain, abs=1e-12)


def test_names_and_colours_are_those_that_were_asked_for() -> None:
    charts = path_charts(demo_run("the cat sat on the mat"), (CAT, MAT))
    for chart in (charts.norms, charts.to_start, charts.to_before):
        assert [(line.label, line.color) for line in chart.lines] == [("cat", 0), ("mat", 3)]
        assert chart.ticks == ("emb", "0", "1", "2", "3", "4", "5")
        assert chart.x_title == "Layer"
    assert charts.norms.y_title == "Norm"
    assert charts.to_start.y_title == "Cosine to embedding"
    assert charts.to_before.y_title == "Cosine to previous layer"


def test_points_stand_for_the_module_and_the_token() -> None:
    run = run_of(tokens_of("x", "y", segments="01"), np.eye(2), np.eye(2), np.eye(2))
    paths = (("embed",), ("", ""), ("encoder.1", "decoder.1"))
    run = replace(run, state_paths=paths)
    assert state_keys(run, 0) == (
        SelectionKey("embed", 0),
        SelectionKey(token=0),
        SelectionKey("encoder.1", 0),
    )
    charts = path_charts(run, (TracedToken(1, "y", 0),))
    assert charts.norms.names == charts.norms.ticks
    normed = path_charts(replace(run, state_paths=(*paths[:2], ("ln_f", "ln_f"))), (X,))
    assert normed.to_start.names == ("emb", "0", "1, after ln_f")
    assert normed.to_start.ticks == ("emb", "0", "1+ln_f")
    places = (SelectionKey("embed", 1), SelectionKey(token=1), SelectionKey("decoder.1", 1))
    assert charts.norms.lines[0].keys == charts.to_before.lines[0].keys == places


def test_where_one_stack_is_shorter_there_are_gaps() -> None:
    gone = [np.nan, np.nan]
    run = run_of(tokens_of("x", "y"), np.eye(2), [gone, [3.0, 4.0]], [gone, [0.0, 5.0]])
    charts = path_charts(run, (TracedToken(0, "x", 0), TracedToken(1, "y", 1)))
    assert [line.values for line in charts.norms.lines] == [(1.0, None, None), (1.0, 5.0, 5.0)]
    gaps, values = (line.values for line in charts.to_before.lines)
    assert gaps == (None, None, None)
    assert values[1:] == pytest.approx((0.8, 0.8))


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
