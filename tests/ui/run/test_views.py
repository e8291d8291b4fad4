"""The views of a run: built when they are first looked at, and then like those before them."""

from pytestqt.qtbot import QtBot

from bertviewer.charts.theme import DARK, LIGHT
from bertviewer.plots.heatmap import Heatmap
from bertviewer.plots.histogram_plot import HistogramPlot
from bertviewer.ui.run.views import VIEWS, RunViews
from bertviewer.ui.shell.main_window import MainWindow
from bertviewer.ui.views.chart_panel import ChartPanel
from tests.ui.finding import bring_view, find, is_drawn


def test_a_view_is_built_when_it_is_first_looked_at(window: MainWindow) -> None:
    assert window.findChildren(RunViews) == []
    window.workspace.views_ready.emit()
    assert find(window, RunViews).count() == len(VIEWS)
    pages = find(window, RunViews).pages
    (layers,) = pages.all_built
    bring_view(window, "Histogram")
    assert len(pages.all_built) == 2
    bring_view(window, "Layers")
    bring_view(window, "Histogram")
    assert len(pages.all_built) == 2
    assert layers in pages.all_built


def test_it_has_the_colours_that_were_chosen_before(window: MainWindow) -> None:
    window.set_appearance("dark")
    window.workspace.views_ready.emit()
    bring_view(window, "Histogram")
    plot = find(find(window, RunViews), HistogramPlot)
    assert plot.theme == DARK
    window.set_appearance("light")
    assert plot.theme == LIGHT


def test_run_a_gets_a_plot_when_there_is_one_to_show(demo_window: MainWindow, qtbot: QtBot) -> None:
    window, workspace = demo_window, demo_window.workspace
    window.set_appearance("dark")
    views = find(window, RunViews)

    def run(text: str) -> None:
        before = workspace.runs.current
        window.set_sentence(text, None)
        window.run()
        qtbot.waitUntil(lambda: workspace.runs.current is not before and is_drawn(window))

    run("a dog")
    assert len(views.findChildren(Heatmap)) == 1
    workspace.runs.keep()
    run("a cat sat")
    norms = next(p for p in views.findChildren(ChartPanel) if p.plot.objectName() == "tokenHeatmap")
    assert [chart is not None for chart in norms.charts] == [True, True]
    (a,) = (plot for plot in norms.findChildren(Heatmap) if plot is not norms.plot)
    assert a.isVisible()
    assert a.theme == DARK
    workspace.runs.drop()
    qtbot.waitUntil(lambda: is_drawn(window))
    assert [chart is not None for chart in norms.charts] == [True]
    assert not a.isVisible()
