"""Attention in colours of square roots: a choice of both plots, in both runs, remembered."""

import csv
import io

import pytest
from PySide6.QtCore import QSettings
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QCheckBox

from bertviewer.charts.chart import GridChart, HeadsChart
from bertviewer.charts.table import csv_text
from bertviewer.core.util.errors import UserError
from bertviewer.plots import export
from bertviewer.plots.head_grid import HeadGrid
from bertviewer.plots.token_matrix import TokenMatrix
from bertviewer.ui.run import jobs
from bertviewer.ui.run.attention_controls import RootScaleCheck
from bertviewer.ui.shell.main_window import MainWindow
from tests.ui.finding import find
from tests.ui.run.attention_window import (
    A,
    Settle,
    cell_pixel,
    charts,
    choose,
    head,
    heads,
    run,
    show_layer_2,
)


@pytest.fixture
def shown(demo_window: MainWindow, settle: Settle) -> MainWindow:
    show_layer_2(demo_window, settle)
    return demo_window


def box(window: MainWindow) -> QCheckBox:
    return find(window, QCheckBox, "rootColors")


def every(window: MainWindow) -> tuple[HeadsChart | GridChart, ...]:
    return *charts(window, "headGrid"), *charts(window, "headPlot")


def _colors(plot: TokenMatrix) -> list[str]:
    """Return the colours of row 4."""
    image = plot.grab().toImage()
    return [image.pixelColor(cell_pixel(plot, 4, key)).name() for key in range(9)]


def _green(name: str) -> int:
    """Return what grows along viridis from its dark end to its bright one."""
    return QColor(name).green()


def test_both_plots_have_them_and_lose_them_again(shown: MainWindow, settle: Settle) -> None:
    plot = find(shown, TokenMatrix, "headPlot")
    before = _colors(plot)
    assert not any(chart.is_root for chart in every(shown))
    box(shown).click()
    settle()
    assert [chart.is_root for chart in every(shown)] == [True, True]
    after = _colors(plot)
    # Small weights are brighter, and none is darker.
    brighter = [_green(new) - _green(old) for new, old in zip(after, before, strict=True)]
    assert min(brighter) >= 0
    assert sum(step > 20 for step in brighter) > 3
    box(shown).click()
    settle()
    assert _colors(plot) == before


def test_what_is_told_and_taken_along_are_the_weights(shown: MainWindow, settle: Settle) -> None:
    grid, plot = find(shown, HeadGrid, "headGrid"), find(shown, TokenMatrix, "headPlot")
    middle = grid.head_rect(3).center()
    tables = [csv_text(chart) for chart in every(shown)]
    told = grid.text_at(middle), plot.text_at(cell_pixel(plot, 2, 2).toPointF())
    pictures = [export.png(plot), export.png(grid)]
    box(shown).click()
    settle()
    assert [csv_text(chart) for chart in every(shown)] == tables
    assert (grid.text_at(middle), plot.text_at(cell_pixel(plot, 2, 2).toPointF())) == told
    assert all(told)
    cells = list(csv.reader(io.StringIO(tables[1])))
    assert float(cells[3][3]) == head(shown).values[2, 2]
    assert [export.png(plot), export.png(grid)] != pictures


def test_both_of_two_runs_and_their_difference(shown: MainWindow, settle: Settle) -> None:
    box(shown).click()
    shown.workspace.runs.keep()
    run(shown, settle, A)
    assert [chart.is_root for chart in every(shown)] == [True] * 4
    shown.workspace.runs.compare("difference")
    settle()
    for chart in (heads(shown), head(shown)):
        assert (chart.is_root, chart.is_signed) == (True, True)
    box(shown).click()
    settle()
    assert [chart.is_root for chart in every(shown)] == [False, False]


def test_it_is_remembered(shown: MainWindow) -> None:
    assert not RootScaleCheck().isChecked()
    box(shown).click()
    assert RootScaleCheck().isChecked()
    box(shown).click()
    assert not RootScaleCheck().isChecked()


@pytest.mark.parametrize("stored", ["", "x", 7, ["a", "b"]])
def test_any_setting_is_read(stored: object) -> None:
    QSettings().setValue("rootColors", stored)
    RootScaleCheck().deleteLater()


def test_where_no_attention_is_shown_there_is_nothing_to_choose(
    shown: MainWindow, settle: Settle, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise UserError("no attention")

    assert box(shown).isEnabled()
    with monkeypatch.context() as patch:
        patch.setattr(jobs, "attention_job", refuse)
        choose(shown, settle, "layer 3")
        assert not charts(shown, "headGrid")
        assert not box(shown).isEnabled()
    choose(shown, settle, "layer 4")
    assert charts(shown, "headGrid")
    assert box(shown).isEnabled()
