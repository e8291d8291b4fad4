"""Charts and arcs of attention."""

import numpy as np
import pytest
from msgspec.structs import replace

from bertviewer.charts.arcs import Arc, arcs_from, arcs_of, arcs_text, arcs_to
from bertviewer.charts.attention import (
    head_chart,
    head_measures_chart,
    heads_chart,
    token_pairs,
)
from bertviewer.charts.chart import GridChart
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.core.analysis.attention_layers import AttentionLayer
from bertviewer.core.analysis.attention_maps import (
    HeadMeasures,
)
from tests.charts.described import Golden, described
from tests.charts.runs import LAYER, attended

EVERY, FIRST, SECOND = (0, 1, 2, 3, 4, 5), (0, 1, 2, 3), (4, 5)
LAYERS = (
    LAYER,
    AttentionLayer("decoder.layers.0.encoder_attn", 0, 0, "decoder", "cross"),
    # The second call of ALBERT's second group is another layer than 1.
    AttentionLayer("encoder.groups.1.layers.0.attention", 1, 3),
    AttentionLayer("attention"),
)


def test_charts_of_heads(golden: Golden) -> None:
    two_texts = attended(SECOND, (0, 1, 2))
    charts: dict[str, object] = {
        "all heads": heads_chart(attended(FIRST, FIRST)),
        "all heads of two texts": heads_chart(two_texts),
        "a head of two texts": head_chart(two_texts, 1),
        "roots": heads_chart(attended(SECOND, SECOND), is_root=True),
    }
    for layer in LAYERS:
        one = attended(SECOND, SECOND, layer)
        charts[layer.path] = heads_chart(one).subject, head_chart(one, 2).subject
    charts["roots of a head"] = head_chart(attended(FIRST, FIRST), 1, is_root=True)
    layers = [AttentionLayer(name, 0, number) for number, name in enumerate("abc")]
    figures: dict[AttentionLayer, HeadMeasures] = {
        layers[0]: {"entropy": np.array([1.0, 2.0]), "distance": np.array([3.0, 4.0])},
        layers[2]: {"entropy": np.array([5.0])},
    }
    for measure in ("entropy", "distance"):
        charts[measure] = head_measures_chart(layers, figures, measure)
    charts["entropy of 200 keys"] = head_measures_chart(layers, figures, "entropy", keys=200)
    charts["no measures"] = head_measures_chart(layers, {}, "entropy")
    golden("charts/attention.txt", described(charts))


@pytest.mark.parametrize(
    ("queries", "keys", "expected"),
    [
        (EVERY, EVERY, ((4,), (4,))),
        (SECOND, FIRST, ((), ())),  # a decoder's to an encoder's
        (SECOND, SECOND, ((), ())),
        (FIRST, EVERY, ((), (4,))),
    ],
)
def test_starts_of_a_second_text(
    queries: tuple[int, ...],
    keys: tuple[int, ...],
    expected: tuple[tuple[int, ...], tuple[int, ...]],
) -> None:
    one, plain = (attended(queries, keys, segments=each) for each in ("000011", ""))
    heads, head = heads_chart(one), head_chart(one, 1)
    assert (heads.query_starts, heads.key_starts) == expected
    assert (head.row_starts, head.column_starts) == expected
    assert heads_chart(plain).key_starts == head_chart(plain, 1).row_starts == ()
    # Exported data is the same.
    assert repr(head_chart(plain, 1).table()) == repr(head.table())
    assert repr(heads_chart(plain).table()) == repr(heads.table())


def test_a_token_is_marked_as_query() -> None:
    chart = head_chart(attended(EVERY, EVERY), 1)
    assert chart.chosen(SelectionKey("layer.1", token=4, head=0)) == ((4,), ())
    chart = head_chart(attended(SECOND, FIRST), 0)
    assert chart.chosen(SelectionKey(token=5)) == ((1,), ())
    assert chart.chosen(SelectionKey(token=2)) == ((), (2,))


def test_pairs_of_tokens_in_two_runs() -> None:
    pairs = [(0, 0), (1, 2), (4, 5), (5, 6)]
    assert token_pairs(pairs, (4, 5), (5, 6)) == [(0, 0), (1, 1)]
    assert token_pairs(pairs, (0, 1), (0, 1, 2)) == [(0, 0), (1, 2)]
    assert token_pairs((), (0,), (0,)) == []


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
