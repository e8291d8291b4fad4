"""Charts as plain data: what a place means, and every chart as a table."""

import numpy as np
from msgspec.structs import replace

from bertviewer.charts.chart import Bars, GridChart, HeadsChart, HistogramChart, Line, LineChart
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.core.util.text import isolated


def test_merged_places_keep_what_the_first_says() -> None:
    merged = SelectionKey("a", token=0).merged(SelectionKey("b", token=5, head=0))
    assert merged == SelectionKey("a", token=0, head=0)
    assert SelectionKey().merged(SelectionKey(feature=3)) == SelectionKey(feature=3)


def test_lines_as_a_table() -> None:
    chart = LineChart(
        (
            Line(
                "mean", (1.0, None), low=(0.5, None), high=(1.5, 2.0), min=(0.0, 0.25), max=(3.0,)
            ),
            Line("short", (7.0,)),
        ),
        "Layer",
        "std",
        ("emb", "0"),
    )
    assert chart.table() == (
        ("Layer", "mean, std", "mean, low", "mean, high", "mean, min", "mean, max", "short, std"),
        [("emb", 1.0, 0.5, 1.5, 0.0, 3.0, 7.0), ("0", None, None, 2.0, 0.25, None, None)],
    )


def test_a_table_names_its_figures_once() -> None:
    band = Line("x", (1.0,), low=(0.0,), high=(2.0,), max=(9.0,), measure="mean", reach="std")
    shown = LineChart((band, Line("feature 5", (1.0,))), "Layer", "feature 5", ("0",))
    header, _ = shown.table()
    assert header[1:] == ("x, mean", "x, mean − std", "x, mean + std", "x, max", "feature 5")
    parts = HistogramChart((0.0, 1.0), (Bars("B", (1,)), Bars("A", (2,))), y_title="Elements")
    assert parts.table()[0] == ("from", "to", "B, Elements", "A, Elements")
    less = HistogramChart((0.0, 1.0), (Bars("B − A", (1,)),), y_title="Part, B − A")
    assert less.table()[0] == ("from", "to", "Part, B − A")


def test_a_table_says_what_a_grid_is_of() -> None:
    norms = replace(grid(), x_title="Token", value_title="Norm, B − A")
    assert norms.table()[0][0] == "Layer × Token: Norm, B − A"
    heads = HeadsChart(np.zeros((1, 1, 1)), ("",), ("q",), ("k",), "Attention", subject="layer 3")
    assert heads.table()[0] == ("Head", "Query × Key: Attention, layer 3", "k")


def test_tables_have_names_without_what_only_helps_to_draw_them() -> None:
    name = f"{isolated('##م')} (3)"
    lines = LineChart((Line(name, (1.0,)),), "Token", "Norm", ("##م",), tick_names=(name,))
    assert lines.table() == (("Token", "##م (3), Norm"), [("##م (3)", 1.0)])
    cells = GridChart(np.zeros((1, 1)), (), (), row_names=(name,), column_names=(name,))
    assert cells.table() == (("", "##م (3)"), [("##م (3)", 0.0)])
    heads = HeadsChart(np.zeros((1, 1, 1)), ("",), (name,), (name,))
    assert heads.table() == (("Head", "Query × Key", "##م (3)"), [(0, "##م (3)", 0.0)])


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


def test_a_grid_as_a_table() -> None:
    header, rows = grid().table()
    assert header == ("Layer", "a (token 0)", "b (token 1)")
    assert rows[0] == ("emb", 1.0, 2.5)
    assert str(rows[1]) == "('0', nan, 4.0)"
    assert {type(cell) for row in rows for cell in row[1:]} == {float}


def test_a_cell_stands_for_its_row_and_its_column() -> None:
    assert grid().key(1, 0) == SelectionKey("layer.0", token=0)
    assert grid().text(0, 1) == "emb, b (token 1): 2.5"
    assert grid().chosen(SelectionKey("layer.0.output", token=1)) == ((1,), (1,))
    bare = GridChart(np.zeros((1, 1)), ("x",), ("y",))
    assert bare.key(0, 0) == SelectionKey()
    assert bare.chosen(SelectionKey("layer.0", token=1)) == ((), ())


def test_rows_may_stand_for_something_else_from_a_column_on() -> None:
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


def test_heads_as_a_table_and_in_words() -> None:
    values = np.arange(12, dtype=np.float64).reshape(2, 2, 3) / 8
    chart = HeadsChart(values, ("", ""), ("q0", "q1"), ("k0", "k1", "k2"))
    header, rows = chart.table()
    assert header == ("Head", "Query × Key", "k0", "k1", "k2")
    assert rows == [
        (0, "q0", 0.0, 0.125, 0.25),
        (0, "q1", 0.375, 0.5, 0.625),
        (1, "q0", 0.75, 0.875, 1.0),
        (1, "q1", 1.125, 1.25, 1.375),
    ]
    assert chart.text(1, 0, 2) == "head 1, query q0 → key k2: 1"


def test_a_histogram_as_a_table() -> None:
    chart = HistogramChart((0.0, 0.5, 1.0), (Bars("B", (3, 4), nan_count=2), Bars("A", (1, 0))))
    assert chart.table() == (
        ("from", "to", "B", "A"),
        [(0.0, 0.5, 3, 1), (0.5, 1.0, 4, 0), ("NaN", None, 2, 0)],
    )
    assert [bars.total for bars in chart.series] == [9, 1]
