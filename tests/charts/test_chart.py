"""Charts as plain data: keys and texts of their points, and their tables."""

import numpy as np
import pytest
from msgspec.structs import replace

from bertviewer.charts.chart import Bars, GridChart, HeadsChart, HistogramChart, Line, LineChart
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.core.util.text import isolated
from tests.charts.described import Golden, described

NAME = f"{isolated('##م')} (3)"  # isolates only help to draw it


def grid() -> GridChart:
    return GridChart(
        np.array([[1, 2.5], [np.nan, 4]], dtype=np.float32),
        ("emb", "0"),
        ("a", "b"),
        (SelectionKey("embeddings"), SelectionKey("layer.0")),
        (SelectionKey(token=0), SelectionKey(token=1)),
        y_title="Layer",
        column_names=("a (token 0)", "b (token 1)"),
    )


def heads() -> HeadsChart:
    values = np.arange(12, dtype=np.float64).reshape(2, 2, 3) / 8
    return HeadsChart(values, ("", ""), ("q0", "q1"), ("k0", "k1", "k2"))


def test_tables(golden: Golden) -> None:
    band = Line("mean", (1.0, None), low=(0.5, None), high=(1.5, 2.0), min=(0.0, 0.25), max=(3.0,))
    named = Line("x", (1.0,), low=(0.0,), high=(2.0,), max=(9.0,), measure="mean", reach="std")
    hidden = np.array([[[False, True, False]] * 2, [[True, False, False]] * 2])
    edges, counted = (0.0, 0.5, 1.0), (Bars("B", (3, 4), nan_count=2), Bars("A", (1, 0)))
    charts = {
        "lines": LineChart((band, Line("short", (7.0,))), "Layer", "std", ("emb", "0")),
        "named band": LineChart((named, Line("feature", (1.0,))), "Layer", "feature", ("0",)),
        "right-to-left lines": LineChart(
            (Line(NAME, (1.0,)),), "Token", "Norm", ("##م",), tick_names=(NAME,)
        ),
        "grid": grid(),
        "titled grid": replace(grid(), x_title="Token", value_title="Norm, B − A"),
        "right-to-left grid": GridChart(
            np.zeros((1, 1)), (), (), row_names=(NAME,), column_names=(NAME,)
        ),
        "heads": replace(heads(), masked=hidden),
        "titled heads": replace(heads(), value_title="Attention", subject="layer 3"),
        "right-to-left heads": HeadsChart(np.zeros((1, 1, 1)), ("",), (NAME,), (NAME,)),
        "histogram": HistogramChart(edges, counted),
        "titled histogram": HistogramChart(edges, counted, y_title="Elements"),
        "difference": HistogramChart(edges, (Bars("B − A", (1, 2)),), y_title="Part, B − A"),
        "totals": [bars.total for bars in counted],
    }
    golden("charts/tables.txt", described(charts))
    cells = [cell for row in grid().table()[1] for cell in row[1:]]
    assert {type(cell) for cell in cells} == {float}  # not numpy's


def test_a_cell_selects_its_row_and_column() -> None:
    assert grid().key(1, 0) == SelectionKey("layer.0", token=0)
    assert grid().text(0, 1) == "emb, b (token 1): 2.5"
    assert grid().chosen(SelectionKey("layer.0.output", token=1)) == ((1,), (1,))
    bare = GridChart(np.zeros((1, 1)), ("x",), ("y",))
    assert bare.key(0, 0) == SelectionKey()
    assert bare.chosen(SelectionKey("layer.0", token=1)) == ((), ())
    assert heads().text(1, 0, 2) == "head 1, query q0 → key k2: 1"


def test_rows_of_an_encoder_and_a_decoder_select_other_modules() -> None:
    chart = GridChart(
        np.zeros((2, 3)),
        ("emb", "0"),
        ("a", "b", "c"),
        (SelectionKey("enc.emb"), SelectionKey("enc.0")),
        tuple(SelectionKey(token=n) for n in range(3)),
        split=1,
        split_keys=(SelectionKey("dec.emb"), SelectionKey("dec.0")),
    )
    assert chart.key(1, 0) == SelectionKey("enc.0", token=0)
    assert chart.key(1, 1) == SelectionKey("dec.0", token=1)
    assert chart.key(0, 2) == SelectionKey("dec.emb", token=2)
    assert chart.chosen(SelectionKey("dec.0.attention"))[0] == (1,)
    assert chart.chosen(SelectionKey("enc.emb"))[0] == (0,)


def test_a_chart_of_equal_values_has_a_constant() -> None:
    flat = Line("std", (1.0, None, 1.0 + 1e-6))
    chart = LineChart((flat, Line("other", (1.0, 1.0))), "Layer", "std", ("0", "1", "2"))
    assert chart.constant == pytest.approx(1.0, abs=1e-6)
    assert replace(chart, lines=(replace(flat, max=(3.0, 4.0)),)).constant is None
    assert replace(chart, lines=(flat, Line("other", (2.0,)))).constant is None
    means = LineChart((Line("mean", (-7e-9, 8e-9)),), "Layer", "mean", ("0", "1"))
    assert means.constant is None
    assert replace(means, scale=1.0).constant == 0.0
    assert grid().constant is None
    masked = np.array([[False, True], [True, True]])
    assert replace(grid(), masked=masked).constant == 1.0
    entropies = replace(grid(), values=np.array([[1e-9, 2e-9]]))
    assert entropies.constant is None
    assert replace(entropies, levels=(0.0, 2.3)).constant == 0.0
