"""The norms of tokens in a part of every layer, against numpy."""

import numpy as np
import pytest

from bertviewer.charts.selection_key import SelectionKey
from bertviewer.charts.token_charts import has_norms, part_norms_chart
from bertviewer.core.analysis.layers import Series, layer_series
from bertviewer.core.replay.outputs import call_statistics
from tests.charts.test_token_classes import given
from tests.core.replay.model_runs import Opened, known


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
