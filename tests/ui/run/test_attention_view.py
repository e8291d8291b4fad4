"""The attention view, in the window: its numbers, and how it follows the one selection."""

from typing import Any

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QSettings
from PySide6.QtWidgets import QComboBox, QLabel, QTabWidget, QToolButton
from pytestqt.qtbot import QtBot

from bertviewer.charts.selection_key import SelectionKey
from bertviewer.core.util.errors import UserError
from bertviewer.plots.arc_plot import ArcPlot
from bertviewer.plots.head_grid import HeadGrid
from bertviewer.plots.heatmap import Heatmap
from bertviewer.plots.token_matrix import TokenMatrix
from bertviewer.ui.run import jobs
from bertviewer.ui.shell.main_window import MainWindow
from tests.plots.looking import click, pixel
from tests.ui.finding import find, last_run
from tests.ui.run.attention_window import (
    A,
    B,
    Settle,
    cell_pixel,
    charts,
    choice,
    choose,
    eager,
    head,
    heads,
    plain_distances,
    plain_entropies,
    run,
    show,
    show_layer_2,
    titles,
)


@pytest.fixture
def shown(demo_window: MainWindow, settle: Settle) -> MainWindow:
    show_layer_2(demo_window, settle)
    return demo_window


def test_the_mean_and_words_alone_are_shown_large(shown: MainWindow, settle: Settle) -> None:
    expected = eager(B)[2]
    box = find(shown, QComboBox, "attentionShown")
    texts = [box.itemText(number) for number in range(box.count())]
    assert texts[3] == "Mean without [CLS], [SEP]"
    words = [place for place, token in enumerate(last_run(shown).tokens) if not token.is_special]
    for number, at in ((1, slice(None)), (2, words), (3, words)):
        box.setCurrentIndex(number)
        settle()
        values = expected[0] if number == 2 else expected.mean(axis=0)
        if number > 1:
            values = (expected if number == 3 else expected[:1])[:, at][:, :, at]
            values = (values / values.sum(axis=2, keepdims=True)).mean(axis=0)
        assert head(shown).values == pytest.approx(values, abs=1e-5)
        assert len(head(shown).rows) == len(values)
    box.setCurrentIndex(0)
    settle()
    assert head(shown).values == pytest.approx(expected[0], abs=1e-5)


def test_all_is_what_transformers_gives_under_eager(shown: MainWindow, settle: Settle) -> None:
    for layer in (2, 5):
        choose(shown, settle, f"layer {layer}")
        expected = eager(B)[layer]
        assert heads(shown).values == pytest.approx(expected, abs=1e-5)
        entropies, distances = plain_entropies(expected), plain_distances(expected)
        assert heads(shown).captions[7] == f"H {entropies[7]:.1f}  d {distances[7]:.1f}"
        for number in (0, 7, 11):
            shown.workspace.selection.go(SelectionKey(head=number))
            settle()
            assert head(shown).values == pytest.approx(expected[number], abs=1e-5)
            assert (
                f"Head {number}: H {entropies[number]:.3f} nats, d {distances[number]:.3f} tokens"
            ) in titles(shown)


def test_the_layer_follows_the_tree_and_the_tree_the_layer(
    shown: MainWindow, settle: Settle
) -> None:
    assert choice(shown).currentText() == "layer 2"
    shown.workspace.selection.select("encoder.layer.4.output.dense")
    settle()
    assert choice(shown).currentText() == "layer 4"
    assert heads(shown).values == pytest.approx(eager(B)[4], abs=1e-5)
    shown.workspace.selection.select("pooler")
    settle()
    assert choice(shown).currentText() == "layer 4"
    choose(shown, settle, "layer 1")
    assert shown.workspace.selection.place.path == "encoder.layer.1.attention.self"
    assert heads(shown).values == pytest.approx(eager(B)[1], abs=1e-5)


def test_without_a_layer_the_first_one_is_shown(demo_window: MainWindow, settle: Settle) -> None:
    run(demo_window, settle, B)
    show(demo_window, settle)
    assert choice(demo_window).currentText() == "layer 0"
    assert demo_window.workspace.selection.place.path == ""
    assert heads(demo_window).values == pytest.approx(eager(B)[0], abs=1e-5)
    # Its first head is shown large, and nobody has selected one.
    assert head(demo_window).values == pytest.approx(eager(B)[0][0], abs=1e-5)
    assert find(demo_window, HeadGrid, "headGrid").selection.head == 0
    assert demo_window.workspace.selection.head is None


def test_a_click_on_a_head_shows_it(shown: MainWindow, settle: Settle) -> None:
    grid = find(shown, HeadGrid, "headGrid")
    click(grid, grid.head_rect(8).center().toPoint())
    settle()
    assert shown.workspace.selection.head == grid.selection.head == 8
    assert head(shown).values == pytest.approx(eager(B)[2][8], abs=1e-5)


def test_a_click_on_a_row_selects_its_token(shown: MainWindow, settle: Settle) -> None:
    plot = find(shown, TokenMatrix, "headPlot")
    click(plot, cell_pixel(plot, 5, 1))
    settle()
    assert shown.workspace.selection.token == 5
    assert plot.chart is not None
    assert plot.chart.chosen(plot.selection) == ((5,), ())
    row = eager(B)[2][0][5]
    first, second = np.argsort(-row)[:2]
    words = find(shown, QLabel, "mostAttended").text()
    assert words.startswith("river (5) attends most to  ")
    assert f"({first}) {row[first]:.3f}  ·  " in words
    assert words.index(f"({first}) ") < words.index(f"({second}) {row[second]:.3f}")


def test_the_head_as_arcs(shown: MainWindow, settle: Settle) -> None:
    find(shown, QToolButton, "arcsPicture").click()
    settle()
    plot = find(shown, ArcPlot, "arcPlot")
    assert plot.isVisible()
    assert not find(shown, TokenMatrix, "headPlot").isVisible()
    assert plot.chart is not None
    assert plot.chart.values == pytest.approx(eager(B)[2][0], abs=1e-5)
    layout = plot.layout_of_arcs()
    assert layout is not None
    click(plot, QPoint(int(layout.x(5, layout.rows)), int(layout.top) - 8))
    assert shown.workspace.selection.token == 5
    shown.workspace.selection.go(SelectionKey(head=7))
    settle()
    assert plot.chart.values == pytest.approx(eager(B)[2][7], abs=1e-5)
    # It is remembered.
    assert QSettings().value("headPicture") == "arcs"
    find(shown, QToolButton, "matrixPicture").click()
    settle()
    assert head(shown).values == pytest.approx(eager(B)[2][7], abs=1e-5)
    assert QSettings().value("headPicture") == "matrix"


def test_what_is_seen_again_is_not_computed_again(
    shown: MainWindow, settle: Settle, qtbot: QtBot
) -> None:
    before = heads(shown)
    tabs = find(shown, QTabWidget, "runViews")
    with qtbot.assertNotEmitted(shown.workspace.jobs.worker.busy_changed):
        shown.workspace.selection.go(SelectionKey(token=3))
        shown.workspace.selection.go(SelectionKey(head=3))
        settle()
        index = tabs.currentIndex()
        tabs.setCurrentIndex(0)
        settle()
        tabs.setCurrentIndex(index)
        settle()
    assert heads(shown) is before


def test_figures_of_all_layers(shown: MainWindow, settle: Settle) -> None:
    find(shown, QToolButton, "allLayers").click()
    settle()
    (chart,) = charts(shown, "allHeads")
    expected = np.array([plain_entropies(weights) for weights in eager(B)])
    assert chart.values == pytest.approx(expected, abs=1e-4)
    find(shown, QComboBox, "headMeasure").setCurrentIndex(1)
    (chart,) = charts(shown, "allHeads")
    expected = np.array([plain_distances(weights) for weights in eager(B)])
    assert chart.values == pytest.approx(expected, abs=1e-4)
    plot = find(shown, Heatmap, "allHeads")
    click(plot, pixel(plot, 9.5, 4.5))
    settle()
    assert shown.workspace.selection.place.path == "encoder.layer.4.attention.self"
    assert shown.workspace.selection.head == 9
    assert head(shown).values == pytest.approx(eager(B)[4][9], abs=1e-5)


def test_all_layers_stop_when_nobody_looks(
    shown: MainWindow, settle: Settle, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[str] = []
    compute = jobs.attention_job

    def seen(layer: Any, *args: Any) -> Any:
        looked.append(layer.name)
        return compute(layer, *args)

    monkeypatch.setattr(jobs, "attention_job", seen)
    button = find(shown, QToolButton, "allLayers")
    button.click()
    button.click()
    settle()
    assert len(looked) <= 1
    button.click()
    settle()
    # What was known already is not looked for again, but for the one that was interrupted.
    assert list(dict.fromkeys(looked)) == [f"layer {n}" for n in range(6)]
    assert len(looked) <= 7


def test_a_run_that_is_gone_is_forgotten(shown: MainWindow, settle: Settle) -> None:
    find(shown, QTabWidget, "runViews").setCurrentIndex(0)
    settle()
    run(shown, settle, A)
    assert not charts(shown, "headGrid")
    assert not charts(shown, "headPlot")
    show(shown, settle)
    assert heads(shown).values == pytest.approx(eager(A)[2], abs=1e-5)


def test_what_cannot_be_shown_says_why(
    shown: MainWindow, settle: Settle, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = jobs.attention_job

    def refuse(*_: Any) -> None:
        raise UserError("<b> is no attention")

    monkeypatch.setattr(jobs, "attention_job", refuse)
    choose(shown, settle, "layer 3")
    assert "<b> is no attention" in titles(shown)
    assert not charts(shown, "headGrid")
    assert find(shown, QLabel, "mostAttended").text() == ""
    monkeypatch.setattr(jobs, "attention_job", known)
    choose(shown, settle, "layer 4")
    assert heads(shown).values == pytest.approx(eager(B)[4], abs=1e-5)
    assert head(shown).values == pytest.approx(eager(B)[4][0], abs=1e-5)
