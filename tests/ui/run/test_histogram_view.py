"""The histogram of the selected module, in the window."""

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
import torch
import transformers
from PySide6.QtWidgets import QCheckBox, QLabel, QTableView, QTabWidget, QToolButton
from pytestqt.qtbot import QtBot

from bertviewer.charts.chart import HistogramChart
from bertviewer.charts.levels import Values
from bertviewer.core.sources.presets import demo_folder
from bertviewer.plots.histogram_plot import HistogramPlot
from bertviewer.ui.jobs.worker import Worker
from bertviewer.ui.run.histogram_view import HistogramView
from bertviewer.ui.shell.main_window import MainWindow
from bertviewer.ui.views.chart_panel import ChartPanel
from bertviewer.ui.views.figure_view import FigureView
from tests.ui.finding import bring_view, find, is_drawn

A, B = "the cat sat on the mat", "the river by the bank was closed"
PATH = "encoder.layer.2.intermediate"


@pytest.fixture
def settle(window: MainWindow, worker: Worker, qtbot: QtBot) -> Callable[[], None]:
    def settled() -> bool:
        return is_drawn(window) and not worker.busy

    return partial(qtbot.waitUntil, settled)


@pytest.fixture
def shown(demo_window: MainWindow, settle: Callable[[], None]) -> MainWindow:
    """Return a window with a run and the view in sight."""
    demo_window.set_sentence(B, None)
    demo_window.run()
    settle()
    bring_view(demo_window, "Histogram")
    demo_window.workspace.selection.select(PATH)
    settle()
    return demo_window


def panel(window: MainWindow) -> ChartPanel:
    return find(find(window, HistogramView), ChartPanel)


def chart_of(window: MainWindow) -> HistogramChart:
    (chart,) = panel(window).charts
    assert isinstance(chart, HistogramChart)
    return chart


def rows_of(window: MainWindow) -> dict[object, tuple[object, ...]]:
    table = find(find(window, HistogramView), FigureView).shown
    return {row[0]: row[1:] for row in table.table()[1]}


def plain_output(text: str) -> Values:
    """Return what the module gives when transformers calls the model plainly."""
    folder = demo_folder()
    encoding = transformers.AutoTokenizer.from_pretrained(folder)(text, return_tensors="pt")
    model = transformers.AutoModel.from_pretrained(folder).eval()
    found = []
    handle = model.get_submodule(PATH).register_forward_hook(
        lambda _module, _args, output: found.append(output.detach())
    )
    with torch.no_grad():
        model(**encoding)
    handle.remove()
    return np.asarray(found[0].numpy().ravel())


def test_figures_are_those_of_a_plain_computation(shown: MainWindow) -> None:
    chart, values = chart_of(shown), plain_output(B)
    counts, edges = np.histogram(values, 64)
    assert chart.edges == pytest.approx(edges.tolist(), rel=1e-5)
    # A value beside an edge may fall to the other side of it, by the last digit.
    assert np.abs(np.subtract(chart.series[0].counts, counts)).sum() <= 4
    assert sum(chart.series[0].counts) == values.size
    rows = rows_of(shown)
    exact = values.astype(np.float64)
    for name, expected in (
        ("mean", exact.mean()),
        ("std", exact.std()),
        ("min", exact.min()),
        ("max", exact.max()),
        ("rms", np.sqrt((exact**2).mean())),
    ):
        assert rows[name][0] == pytest.approx(expected, rel=1e-4, abs=1e-6)
    assert (rows["elements"][0], rows["NaN"][0], rows["Inf"][0]) == (values.size, 0, 0)
    assert rows["shape"][0] == f"[1, {values.size // 1536}, 1536]"
    assert chart.series[0].mean == rows["mean"][0]
    header, _ = chart.table()
    assert header == (f"Value of {PATH}, from", f"Value of {PATH}, to", "Elements")


def test_counts_on_a_logarithmic_axis(shown: MainWindow) -> None:
    before = chart_of(shown)
    find(shown, QCheckBox, "logCounts").click()
    after = chart_of(shown)
    assert (before.is_log, after.is_log) == (False, True)
    assert before.series == after.series


def test_both_runs_share_their_bins(shown: MainWindow, settle: Callable[[], None]) -> None:
    shown.workspace.runs.keep()
    shown.set_sentence(A, None)
    shown.run()
    settle()
    shown.workspace.selection.select(PATH)
    settle()
    chart = chart_of(shown)
    b, a = chart.series
    values = plain_output(A), plain_output(B)
    low, high = (f(f(part) for part in values) for f in (min, max))
    assert (chart.edges[0], chart.edges[-1]) == pytest.approx((low, high), rel=1e-5)
    assert (sum(b.counts), sum(a.counts)) == pytest.approx((1, 1))
    find(shown, QCheckBox, "logCounts").click()
    counted = chart_of(shown).series
    assert [sum(bars.counts) for bars in counted] == [part.size for part in values]
    rows = rows_of(shown)
    assert rows["elements"] == (values[0].size, values[1].size, values[0].size - values[1].size)
    find(shown, QToolButton, "difference").click()
    settle()
    (bars,) = chart_of(shown).series
    parts = [np.array(one.counts) / sum(one.counts) for one in (b, a)]
    assert bars.counts == pytest.approx((parts[0] - parts[1]).tolist())
    assert not find(shown, QCheckBox, "logCounts").isEnabled()


def test_the_old_histogram_stays_until_the_new_one_comes(
    shown: MainWindow, settle: Callable[[], None]
) -> None:
    before = chart_of(shown)
    shown.workspace.selection.select("encoder.layer.4.output")
    assert chart_of(shown) is before
    settle()
    assert chart_of(shown) is not before
    assert find(shown, HistogramPlot, "histogramPlot").chart is chart_of(shown)


def test_a_folded_row_says_which_layer_is_shown(
    shown: MainWindow, settle: Callable[[], None]
) -> None:
    shown.workspace.selection.select("encoder.layer[0–5]")
    settle()
    texts = [label.text() for label in panel(shown).findChildren(QLabel)]
    assert "Output of encoder.layer.0, the first of 0–5" in texts


def test_a_list_of_modules_is_not_called(shown: MainWindow, settle: Callable[[], None]) -> None:
    shown.workspace.selection.select("encoder.layer")
    settle()
    message = find(panel(shown), QLabel, "chartMessage")
    assert "which is never called itself" in message.text()
    assert message.isVisible()
    assert not find(shown, QTableView, "statisticsTable").isVisible()
    shown.workspace.selection.select(PATH)
    settle()
    assert find(shown, QTableView, "statisticsTable").isVisible()
    assert chart_of(shown).series[0].total == rows_of(shown)["elements"][0]


def test_nothing_of_a_run_that_is_gone_is_kept(
    shown: MainWindow, settle: Callable[[], None]
) -> None:
    find(shown, QTabWidget, "runViews").setCurrentIndex(0)
    shown.set_sentence(A, None)
    shown.run()
    settle()
    assert find(shown, HistogramView).request.result is None
