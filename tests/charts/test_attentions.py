"""Attention as charts, against the numbers put in."""

import numpy as np
import pytest
from msgspec.structs import replace

from bertviewer.charts.attention import (
    RunAttention,
    head_chart,
    head_measures_chart,
    heads_chart,
    token_pairs,
)
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
def test_a_second_text_is_set_off(
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
    # The data that is taken along does not tell.
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


def test_captions_stay_short() -> None:
    far = np.zeros((1, 400, 400), dtype=np.float32)
    far[0, :, 0] = 1
    (caption,) = heads_chart(
        RunAttention(
            run_of(tokens_of(*map(str, range(400)))),
            AttentionMaps(
                "x",
                0,
                1,
                far,
                tuple(range(400)),
                tuple(range(400)),
                head_entropies(far),
                head_distances(far),
            ),
            LAYER,
        )
    ).captions
    assert caption == "H 0.0  d 200"
    assert heads_chart(attended((4, 5), (0, 1))).captions[0].startswith("H ")
    assert " d " not in heads_chart(attended((4, 5), (0, 1))).captions[0]


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


def test_figures_of_all_heads() -> None:
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


def test_partners_by_their_indices() -> None:
    pairs = [(0, 0), (1, 2), (4, 5), (5, 6)]
    assert token_pairs(pairs, (4, 5), (5, 6)) == [(0, 0), (1, 1)]
    assert token_pairs(pairs, (0, 1), (0, 1, 2)) == [(0, 0), (1, 2)]
    assert token_pairs((), (0,), (0,)) == []


def test_roots_are_a_matter_of_colours_alone() -> None:
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
def test_charts_tell_of_which_layer_they_are(layer: AttentionLayer, subject: str) -> None:
    one = replace(attended(ALL, ALL), layer=layer)
    assert heads_chart(one).subject == subject
    assert head_chart(one, 2).subject == f"{subject}, head 2"
