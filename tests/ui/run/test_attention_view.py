"""Attention view: weights of the heads, the selection, two runs, and other models."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QSettings
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QCheckBox, QToolButton, QWidget
from pytestqt.qtbot import QtBot

from bertviewer.charts.chart import GridChart, HeadsChart
from bertviewer.charts.table import csv_text
from bertviewer.core.util.errors import UserError
from bertviewer.plots import export
from bertviewer.plots.arc_plot import ArcPlot
from bertviewer.plots.head_grid import HeadGrid
from bertviewer.plots.heatmap import Heatmap
from bertviewer.plots.token_matrix import TokenMatrix
from bertviewer.ui.run import jobs
from bertviewer.ui.run.attention_controls import ROOT_SETTING, RootScaleCheck
from bertviewer.ui.state.pages import Page
from tests.core.formulas.formula_models import TINY
from tests.plots.looking import click, pixel
from tests.ui.run.attention_oracle import distances, eager_attention, entropies
from tests.ui.run.conftest import MakeView
from tests.ui.run.view_harness import ViewHarness

A, B = "the cat sat on the mat", "the bank by the river was closed"


@pytest.fixture
def view(demo_view: MakeView) -> ViewHarness:
    """Return the view of layer 2 after a run of ``B``."""
    view = demo_view(Page.ATTENTION)
    view.run(B)
    view.select("encoder.layer.2")
    return view


def heads(view: ViewHarness) -> HeadsChart:
    return view.chart("headGrid", HeadsChart)


def head(view: ViewHarness) -> GridChart:
    return view.chart("headPlot", GridChart)


def all_charts(view: ViewHarness) -> tuple[Any, ...]:
    return *view.panel("headGrid").charts, *view.panel("headPlot").charts


def cell_pixel(plot: TokenMatrix, row: int, column: int) -> QPoint:
    layout = plot.layout_of_cells()
    assert layout is not None
    return layout.rect(row, column).center().toPoint()


def test_weights_entropies_and_distances_are_those_of_transformers(view: ViewHarness) -> None:
    for layer in (2, 5):
        view.choose("attentionChoice", f"layer {layer}")
        expected = eager_attention(B)[layer]
        assert heads(view).values == pytest.approx(expected, abs=1e-5)
        entropy, distance = entropies(expected), distances(expected)
        assert heads(view).captions[7] == f"H {entropy[7]:.1f}  d {distance[7]:.1f}"
        for number in (0, 7, 11):
            view.select(head=number)
            assert head(view).values == pytest.approx(expected[number], abs=1e-5)
            title = f"Head {number}: H {entropy[number]:.3f} nats, d {distance[number]:.3f} tokens"
            assert title in view.texts()


def test_mean_of_heads_and_attention_without_special_tokens(view: ViewHarness) -> None:
    weights = eager_attention(B)[2]
    words = slice(1, -1)

    def without_special(heads: Any) -> Any:
        kept = heads[:, words, words]
        return kept / kept.sum(axis=2, keepdims=True)

    for choice, expected in (
        ("Mean of all heads", weights.mean(axis=0)),
        ("One head without [CLS], [SEP]", without_special(weights[:1])[0]),
        ("Mean without [CLS], [SEP]", without_special(weights).mean(axis=0)),
        ("One head", weights[0]),
    ):
        view.choose("attentionShown", choice)
        assert head(view).values == pytest.approx(expected, abs=1e-5), choice
        assert len(head(view).rows) == len(expected)


def test_layer_and_tree_follow_each_other(view: ViewHarness) -> None:
    assert view.chosen("attentionChoice") == "layer 2"
    for path, layer in (("encoder.layer.4.output.dense", 4), ("pooler", 4)):
        view.select(path)
        assert view.chosen("attentionChoice") == f"layer {layer}"
        assert heads(view).values == pytest.approx(eager_attention(B)[layer], abs=1e-5)
    view.choose("attentionChoice", "layer 1")
    assert view.place.path == "encoder.layer.1.attention.self"
    assert heads(view).values == pytest.approx(eager_attention(B)[1], abs=1e-5)


def test_without_a_selection_the_first_head_of_the_first_layer_is_shown(
    demo_view: MakeView,
) -> None:
    view = demo_view(Page.ATTENTION)
    view.run(B)
    assert view.chosen("attentionChoice") == "layer 0"
    assert head(view).values == pytest.approx(eager_attention(B)[0][0], abs=1e-5)
    assert view.find(HeadGrid, "headGrid").selection.head == 0
    # Nothing is selected by that.
    assert (view.place.path, view.place.head) == ("", None)


def test_clicks_select_a_head_and_a_token(view: ViewHarness) -> None:
    grid, plot = view.find(HeadGrid, "headGrid"), view.find(TokenMatrix, "headPlot")
    click(grid, grid.head_rect(8).center().toPoint())
    view.settle()
    assert view.place.head == grid.selection.head == 8
    assert head(view).values == pytest.approx(eager_attention(B)[2][8], abs=1e-5)
    click(plot, cell_pixel(plot, 5, 1))
    view.settle()
    assert view.place.token == 5
    row = eager_attention(B)[2][8][5]
    first, second = np.argsort(-row)[:2]
    text = view.text("mostAttended")
    assert text.startswith("river (5) attends most to  ")
    assert f"({first}) {row[first]:.3f}  ·  " in text
    assert text.index(f"({first}) ") < text.index(f"({second}) {row[second]:.3f}")


def test_the_head_as_arcs(view: ViewHarness) -> None:
    view.click("arcsPicture")
    plot = view.find(ArcPlot, "arcPlot")
    assert plot.isVisible()
    assert not view.is_visible("headPlot")
    assert plot.chart is not None
    assert plot.chart.values == pytest.approx(eager_attention(B)[2][0], abs=1e-5)
    layout = plot.layout_of_arcs()
    assert layout is not None
    click(plot, QPoint(int(layout.x(5, layout.rows)), int(layout.top) - 8))
    assert view.place.token == 5
    view.select(head=7)
    assert plot.chart.values == pytest.approx(eager_attention(B)[2][7], abs=1e-5)
    assert QSettings().value("headPicture") == "arcs"
    view.click("matrixPicture")
    assert head(view).values == pytest.approx(eager_attention(B)[2][7], abs=1e-5)
    assert QSettings().value("headPicture") == "matrix"


def test_other_tokens_and_heads_need_no_job(view: ViewHarness, qtbot: QtBot) -> None:
    before = heads(view)
    with qtbot.assertNotEmitted(view.workspace.jobs.worker.busy_changed):
        view.select(token=3)
        view.select(head=3)
        view.view.refresh()
        view.settle()
    assert heads(view) is before


def test_an_error_replaces_the_charts_until_another_layer_is_shown(
    view: ViewHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise UserError("<b> is no attention")

    root_scale = view.find(QCheckBox, "rootColors")
    assert root_scale.isEnabled()
    with monkeypatch.context() as patch:
        patch.setattr(jobs, "attention_job", fail)
        view.choose("attentionChoice", "layer 3")
    assert view.messages() == ["<b> is no attention"]
    assert all_charts(view) == ()
    assert view.text("mostAttended") == ""
    assert not root_scale.isEnabled()
    view.choose("attentionChoice", "layer 4")
    assert heads(view).values == pytest.approx(eager_attention(B)[4], abs=1e-5)
    assert head(view).values == pytest.approx(eager_attention(B)[4][0], abs=1e-5)
    assert root_scale.isEnabled()


def test_square_root_scale_changes_colours_and_no_values(view: ViewHarness) -> None:
    plot = view.find(TokenMatrix, "headPlot")

    def brightness() -> list[int]:
        # Green grows along viridis.
        image = plot.grab().toImage()
        return [QColor(image.pixel(cell_pixel(plot, 4, key))).green() for key in range(9)]

    def values() -> list[str]:
        received = plot.text_at(cell_pixel(plot, 2, 2).toPointF())
        assert received
        return [*map(csv_text, all_charts(view)), received]

    before, data, picture = brightness(), values(), export.png(plot)
    view.click("rootColors")
    assert [chart.is_root for chart in all_charts(view)] == [True, True]
    steps = np.subtract(brightness(), before)
    assert steps.min() >= 0
    assert (steps > 20).sum() > 3
    assert values() == data
    assert export.png(plot) != picture
    assert RootScaleCheck().isChecked()  # it is stored
    view.keep()
    view.run(A)
    assert [chart.is_root for chart in all_charts(view)] == [True] * 4
    view.compare("difference")
    assert all(chart.is_root and chart.is_signed for chart in all_charts(view))
    view.workspace.runs.drop()
    view.click("rootColors")
    assert [chart.is_root for chart in all_charts(view)] == [False, False]
    assert not RootScaleCheck().isChecked()


@pytest.mark.parametrize("stored", ["", "x", 7, ["a", "b"]])
def test_any_stored_scale_is_read(stored: object) -> None:
    QSettings().setValue(ROOT_SETTING, stored)
    RootScaleCheck().deleteLater()


def test_two_runs_side_by_side(view: ViewHarness) -> None:
    view.keep()
    view.run(A)
    b, a = view.charts("headGrid", HeadsChart)
    assert b.values == pytest.approx(eager_attention(A)[2], abs=1e-5)
    assert a.values == pytest.approx(eager_attention(B)[2], abs=1e-5)
    assert b.levels == a.levels == (0.0, 1.0)
    b_head, a_head = view.charts("headPlot", GridChart)
    assert b_head.values == pytest.approx(eager_attention(A)[2][0], abs=1e-5)
    assert a_head.levels == b_head.levels
    both = [entropies(eager_attention(text)[2])[0] for text in (A, B)]
    assert any("H {:.3f} (A {:.3f}) nats".format(*both) in text for text in view.texts())


def test_difference_of_the_same_tokens(view: ViewHarness) -> None:
    other = "the bank by the sea was closed"
    view.keep()
    view.run(other)
    view.compare("difference")
    expected = eager_attention(other)[2] - eager_attention(B)[2]
    expected[:, 5] = expected[:, :, 5] = np.nan  # "sea" is not "river"
    assert heads(view).values == pytest.approx(expected, abs=2e-5, nan_ok=True)
    assert head(view).values == pytest.approx(expected[0], abs=2e-5, nan_ok=True)
    assert heads(view).is_signed


def test_titles_and_accessible_names(view: ViewHarness) -> None:
    def names(kind: type[QWidget]) -> list[str]:
        plots = [plot for plot in view.view.findChildren(kind) if plot.isVisible()]
        return sorted(plot.accessibleName() for plot in plots)

    assert view.title("headGrid") == "Heads: entropy H, distance d"
    assert names(HeadGrid) == ["Heads: entropy H, distance d"]
    assert [name.partition(":")[0] for name in names(TokenMatrix)] == ["Head 0"]
    view.keep()
    view.run(A)
    assert view.title("headGrid") == "Heads"
    assert names(HeadGrid) == ["Heads, A", "Heads, B"]
    assert [name[-3:] for name in names(TokenMatrix)] == [", A", ", B"]
    view.compare("difference")
    assert view.title("headGrid") == "Heads, B − A, each with its own colour range"


def test_of_two_runs_only_the_new_one_is_computed(
    view: ViewHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    computed: list[str] = []
    compute = jobs.attention_job

    def record(layer: Any, model: Any, recorded: Any, progress: Any) -> Any:
        computed.append(recorded.run.sentence.text)
        return compute(layer, model, recorded, progress)

    monkeypatch.setattr(jobs, "attention_job", record)
    view.keep()
    assert computed == []
    view.run(A)
    assert computed == [A]
    view.choose("attentionChoice", "layer 3")
    assert sorted(computed[1:]) == [B, A]
    _, a = view.charts("headGrid", HeadsChart)
    assert a.values == pytest.approx(eager_attention(B)[3], abs=1e-5)
    view.workspace.runs.drop()
    view.settle()
    assert len(computed) == 3


@pytest.fixture
def tiny(
    open_model: Callable[..., object], make_view: MakeView, tmp_path: Path
) -> Callable[..., ViewHarness]:
    """Return a function that shows the attention of a tiny model's run of two texts."""

    def show(family: str, **changes: Any) -> ViewHarness:
        path = tmp_path / "config.json"
        path.write_text(json.dumps({"model_type": family, **TINY.get(family, {}), **changes}))
        open_model(path)
        view = make_view(Page.ATTENTION)
        view.run("a b c d e", "f g")
        return view

    return show


def test_calls_of_a_shared_layer(tiny: Callable[..., ViewHarness]) -> None:
    view = tiny("albert", num_hidden_layers=3)
    assert view.items("attentionChoice") == ["layer 0", "layer 1", "layer 2"]
    first = np.asarray(heads(view).values)
    view.choose("attentionChoice", "layer 2")
    assert str(view.place.path).endswith("albert_layers.0.attention")
    assert view.chosen("attentionChoice") == "layer 2"
    assert np.abs(np.asarray(heads(view).values) - first).max() > 1e-6
    view.click("allLayers")
    assert view.chart("allHeads", GridChart).values.shape == (3, 3)
    plot = view.find(Heatmap, "allHeads")
    click(plot, pixel(plot, 1.5, 0.5))
    view.settle()
    assert view.chosen("attentionChoice") == "layer 0"
    assert np.array_equal(np.asarray(heads(view).values), first)


def test_self_and_cross_attention_of_a_decoder(tiny: Callable[..., ViewHarness]) -> None:
    view = tiny("bart")
    run = view.workspace.runs.run
    assert run is not None
    source, target = (
        [n for n, token in enumerate(run.tokens) if token.segment == segment] for segment in (0, 1)
    )
    view.select("decoder.layers.1")
    assert view.chosen("attentionChoice") == "decoder layer 1, self"
    assert head(view).values.shape == (len(target), len(target))
    view.choose("attentionChoice", "decoder layer 1, cross")
    assert view.place.path == "decoder.layers.1.encoder_attn"
    assert head(view).values.shape == (len(target), len(source))
    assert not any("distance" in text for text in view.texts())
    view.select(token=source[0])
    assert " is attended to most by " in view.text("mostAttended")
    view.select(token=target[0])
    assert " attends most to " in view.text("mostAttended")


def test_a_single_head_needs_no_grid_of_heads(tiny: Callable[..., ViewHarness]) -> None:
    view = tiny("bert", num_attention_heads=1)
    grid = view.find(HeadGrid, "headGrid")
    assert view.is_visible("headPlot")
    assert not grid.isVisible()
    view.click("allLayers")
    assert view.is_visible("allHeads")
    view.click("allLayers")
    assert not grid.isVisible()


def test_a_model_without_attention(tiny: Callable[..., ViewHarness]) -> None:
    view = tiny("fnet", vocab_size=97, hidden_size=24, num_hidden_layers=2, pad_token_id=0)
    assert view.messages() == ["This model has no attention whose heads can be shown."]
    assert not view.is_visible("attentionChoice")


def test_controls_go_to_the_visible_chart_and_keep_the_focus(view: ViewHarness) -> None:
    view.window.activateWindow()
    all_layers = view.find(QToolButton, "allLayers")
    all_layers.setFocus()
    for _ in range(2):
        view.click("allLayers")
        assert all_layers.isVisible()
        assert all_layers.hasFocus()
        assert view.is_visible("attentionChoice")
    view.click("arcsPicture")
    assert view.is_visible("arcsPicture")
    view.click("matrixPicture")


def test_the_large_head_is_next_to_the_heads_or_below(view: ViewHarness) -> None:
    grid, plot = view.find(HeadGrid, "headGrid"), view.find(TokenMatrix, "headPlot")
    for size, is_below in (((1000, 300), False), ((500, 900), True)):
        view.resize(*size)
        first, second = (each.mapTo(view.window, QPoint()) for each in (grid, plot))
        assert (second.y() > first.y() + grid.height() / 2) == is_below
        assert (second.x() > first.x() + grid.width() / 2) != is_below
