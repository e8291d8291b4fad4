"""Charts and arcs of attention."""

import numpy as np
import pytest
from msgspec.structs import replace

from bertviewer.charts.arcs import Arc, arcs_from, arcs_of, arcs_text, arcs_to
from bertviewer.charts.attention import (
    RunAttention,
    head_chart,
    head_measures_chart,
    heads_chart,
    token_pairs,
)
from bertviewer.charts.chart import GridChart
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.core.analysis.attention_layers import AttentionLayer
from bertviewer.core.analysis.attention_maps import (
    AttentionMaps,
    HeadMeasures,
    Probabilities,
    head_distances,
    head_entropies,
)
from tests.core.analysis.runs import run_of, tokens_of

TEXTS = ("[CLS]", "a", "b", "[SEP]", "x", "y")
CROSS = "decoder layer 0, cross"
LAYER = AttentionLayer("encoder.layer.3.attention.self", 0, 3)


def probabilities(heads: int, queries: int, keys: int) -> Probabilities:
    values = np.random.default_rng(0).random((heads, queries, keys), dtype=np.float32)
    values /= values.sum(-1, keepdims=True)
    return values


def attended(
    queries: tuple[int, ...], keys: tuple[int, ...], values: Probabilities | None = None
) -> RunAttention:
    values = probabilities(3, len(queries), len(keys)) if values is None else values
    is_cross = queries != keys
    maps = AttentionMaps(
        "x",
        0,
        1,
        values,
        queries,
        keys,
        head_entropies(values),
        None if is_cross else head_distances(values),
    )
    return RunAttention(run_of(tokens_of(*TEXTS)), maps, LAYER)


ALL = tuple(range(6))


@pytest.mark.parametrize(
    ("queries", "keys", "expected"),
    [
        (ALL, ALL, ((4,), (4,))),
        ((4, 5), (0, 1, 2, 3), ((), ())),  # a decoder's to an encoder's
        ((4, 5), (4, 5), ((), ())),
        ((0, 1, 2, 3), ALL, ((), (4,))),
    ],
)
def test_starts_of_a_second_text(
    queries: tuple[int, ...],
    keys: tuple[int, ...],
    expected: tuple[tuple[int, ...], tuple[int, ...]],
) -> None:
    one = attended(queries, keys)
    run = run_of(tokens_of(*TEXTS, segments="000011"))
    one = replace(one, run=run)
    heads, head = heads_chart(one), head_chart(one, 1)
    assert (heads.query_starts, heads.key_starts) == expected
    assert (head.row_starts, head.column_starts) == expected
    plain = attended(queries, keys)
    assert heads_chart(plain).key_starts == head_chart(plain, 1).row_starts == ()
    # Exported data is the same.
    assert repr(head_chart(plain, 1).table()) == repr(head.table())
    assert repr(heads_chart(plain).table()) == repr(heads.table())


def test_all_heads() -> None:
    one = attended(ALL, ALL)
    chart = heads_chart(one)
    assert chart.values is one.maps.probabilities
    assert chart.queries == chart.keys
    assert chart.keys[1] == "a (token 1)"
    assert chart.levels == pytest.approx((0.0, chart.values.max()))
    shares = chart.values[2].astype(np.float64)
    entropy = np.mean([-sum(p * np.log(p) for p in row) for row in shares])
    distance = np.mean(
        [sum(p * abs(i - j) for j, p in enumerate(row)) for i, row in enumerate(shares)]
    )
    assert chart.captions[2] == f"H {entropy:.1f}  d {distance:.1f}"


def test_captions_have_no_distance_between_two_texts() -> None:
    caption = heads_chart(attended((4, 5), (0, 1))).captions[0]
    assert caption.startswith("H ")
    assert " d " not in caption
    far = np.zeros((1, 400, 400), dtype=np.float32)
    far[0, :, 0] = 1
    every = tuple(range(400))
    one = replace(attended(every, every, far), run=run_of(tokens_of(*map(str, every))))
    assert heads_chart(one).captions == ("H 0.0  d 200",)


def test_one_head() -> None:
    one = attended(ALL, ALL)
    chart = head_chart(one, 1)
    assert chart.values.tolist() == one.maps.probabilities[1].tolist()
    assert chart.is_top_down
    assert chart.rows == chart.columns == TEXTS
    assert chart.key(2, 5) == SelectionKey(token=2)
    assert chart.chosen(SelectionKey("layer.1", token=4, head=0)) == ((4,), ())
    assert chart.text(2, 5) == f"query b (token 2) → key y (token 5): {chart.values[2, 5]:.7g}"
    assert chart.levels == pytest.approx((0.0, chart.values.max()))


def test_one_head_of_two_texts() -> None:
    chart = head_chart(attended((4, 5), (0, 1, 2, 3)), 0)
    assert (chart.rows, chart.columns) == (TEXTS[4:], TEXTS[:4])
    assert chart.key(1, 2) == SelectionKey(token=5)
    assert chart.chosen(SelectionKey(token=5)) == ((1,), ())
    assert chart.chosen(SelectionKey(token=2)) == ((), (2,))


def test_measures_of_all_heads() -> None:
    layers = (AttentionLayer("a", 0, 0), AttentionLayer("b", 0, 1), AttentionLayer("c", 0, 2))
    figures: dict[AttentionLayer, HeadMeasures] = {
        layers[0]: {"entropy": np.array([1.0, 2.0]), "distance": np.array([3.0, 4.0])},
        layers[2]: {"entropy": np.array([5.0])},
    }
    chart = head_measures_chart(layers, figures, "entropy")
    assert str(chart.values.tolist()) == "[[1.0, 2.0], [nan, nan], [5.0, nan]]"
    assert chart.value_title == "Entropy (nats)"
    assert chart.text(0, 1) == "layer 0, head 1: 2"
    assert chart.key(2, 1) == SelectionKey(head=1)
    chart = head_measures_chart(layers, figures, "distance")
    assert str(chart.values.tolist()) == "[[3.0, 4.0], [nan, nan], [nan, nan]]"
    assert head_measures_chart(layers, {}, "entropy").values.shape == (3, 0)


def test_pairs_of_tokens_in_two_runs() -> None:
    pairs = [(0, 0), (1, 2), (4, 5), (5, 6)]
    assert token_pairs(pairs, (4, 5), (5, 6)) == [(0, 0), (1, 1)]
    assert token_pairs(pairs, (0, 1), (0, 1, 2)) == [(0, 0), (1, 2)]
    assert token_pairs((), (0,), (0,)) == []


def test_roots_change_colours_only() -> None:
    one = attended(ALL, ALL)
    for plain, roots in (
        (heads_chart(one), heads_chart(one, is_root=True)),
        (head_chart(one, 1), head_chart(one, 1, is_root=True)),
    ):
        assert (plain.is_root, roots.is_root) == (False, True)
        assert roots.levels == plain.levels
        assert roots.table() == plain.table()


@pytest.mark.parametrize(
    ("layer", "subject"),
    [
        (LAYER, "layer 3"),
        (AttentionLayer("decoder.layers.0.encoder_attn", 0, 0, "decoder", "cross"), CROSS),
        # The second call of ALBERT's second group is another layer than 1.
        (AttentionLayer("encoder.groups.1.layers.0.attention", 1, 3), "layer 3"),
        (AttentionLayer("attention"), "attention"),
    ],
)
def test_charts_name_their_layer(layer: AttentionLayer, subject: str) -> None:
    one = replace(attended(ALL, ALL), layer=layer)
    assert heads_chart(one).subject == subject
    assert head_chart(one, 2).subject == f"{subject}, head 2"


VALUES = np.array([[0.5, 0.25, 0.25], [0.0, 0.75, 0.25], [0.125, np.nan, 0.875]])
NAMES = ("a", "b", "c")
CHART = GridChart(
    VALUES,
    NAMES,
    NAMES,
    row_names=tuple(f"query {name}" for name in NAMES),
    column_names=tuple(f"key {name}" for name in NAMES),
    joint=" → ",
)


def test_all_weights_have_an_arc_in_ascending_order() -> None:
    arcs = arcs_of(CHART)
    assert arcs.each is None
    weights = [arc.weight for arc in arcs.lines]
    assert weights == sorted(weights)
    drawn = {(arc.row, arc.column): arc.weight for arc in arcs.lines}
    there = np.isfinite(VALUES) & (VALUES != 0)
    assert drawn == {(r, c): VALUES[r, c] for r, c in np.argwhere(there).tolist()}


@pytest.mark.parametrize("most", [3, 6, 8])
def test_of_many_weights_each_token_has_its_largest(most: int) -> None:
    rng = np.random.default_rng(0)
    values = rng.dirichlet(np.ones(20), size=3)
    names = tuple(map(str, range(20)))
    arcs = arcs_of(GridChart(values, names[:3], names), most)
    each = most // 3
    assert arcs.each == each
    for row in range(3):
        drawn = sorted(arc.column for arc in arcs.lines if arc.row == row)
        assert drawn == sorted(np.argsort(-values[row])[:each].tolist())


def test_tiny_weights_have_no_arc() -> None:
    values = np.full((1, 400), 0.001)
    values[0, 7], values[0, 8] = 0.62, 0.0012
    names = tuple(map(str, range(400)))
    arcs = arcs_of(GridChart(values, ("a",), names))
    assert arcs.least == 0.5 / 400
    assert [arc.column for arc in arcs.lines] == [7]
    # Unless all are equal.
    assert len(arcs_of(GridChart(np.full((1, 400), 1 / 400), ("a",), names)).lines) == 400
    assert arcs_of(CHART).least == 0.005


def test_masked_cells_have_no_arc_and_differences_may_be_negative() -> None:
    masked = np.triu(np.ones((3, 3), dtype=np.bool_), 1)
    assert {(arc.row, arc.column) for arc in arcs_of(replace(CHART, masked=masked)).lines} == {
        (0, 0), (1, 1), (2, 0), (2, 2)
    }  # fmt: skip
    signed = replace(CHART, values=np.array([[-0.5, 0.25], [0.125, 0.0]]), is_signed=True)
    assert [arc.weight for arc in arcs_of(signed).lines] == [0.125, 0.25, -0.5]


def test_arcs_of_one_token() -> None:
    assert arcs_from(CHART, 2) == (Arc(2, 0, 0.125), Arc(2, 2, 0.875))
    assert arcs_to(CHART, 1) == (Arc(0, 1, 0.25), Arc(1, 1, 0.75))
    assert arcs_text(CHART, 2, True) == "query c → key c 0.875  ·  key a 0.125"
    assert arcs_text(CHART, 1, False) == "query b 0.75  ·  query a 0.25 → key b"
    assert arcs_text(replace(CHART, values=np.zeros((3, 3))), 0, True) == ""
    # Masked weights are not measured zeros.
    masked = np.triu(np.ones((3, 3), dtype=np.bool_), 1)
    hidden = replace(CHART, masked=masked)
    assert arcs_text(hidden, 0, True) == "query a → key a 0.5  ·  2 masked"
    assert arcs_text(hidden, 2, False) == "query c 0.875  ·  2 masked → key c"
    assert arcs_text(hidden, 2, True) == "query c → key c 0.875  ·  key a 0.125"
