"""The views of a run in the main window: room in a low one, text size, and the report."""

import re
from pathlib import Path

from PySide6.QtWidgets import QApplication, QComboBox, QTabWidget, QWidget
from pytestqt.qtbot import QtBot

from bertviewer.charts.theme import SMALL
from bertviewer.plots.export import svg
from bertviewer.plots.fonts import sized
from bertviewer.plots.heatmap import Heatmap
from bertviewer.plots.line_plot import LinePlot
from bertviewer.ui.jobs.worker import Worker
from bertviewer.ui.shell.main_window import MainWindow
from bertviewer.ui.views.choice_box import ChoiceBox
from tests.tools.pdf_text import text_of
from tests.ui.finding import bring_view, find, is_drawn

TEXT = "the cat sat on the mat"
PLOTS = {
    "Layers": ("layerPlot", "tokenHeatmap"),
    "Attention": ("headGrid", "headPlot"),
    "Similarity": ("similarityGrid", "pairPath"),
    "Token": ("normPath", "startPath", "beforePath"),
}


def run(window: MainWindow, worker: Worker, qtbot: QtBot, text: str = TEXT) -> None:
    before = window.workspace.runs.run
    window.set_sentence(text, None)
    window.run()
    qtbot.waitUntil(lambda: window.workspace.runs.run is not before)
    qtbot.waitUntil(lambda: is_drawn(window) and not worker.busy)


def test_plots_have_room_in_a_low_window_with_a_baseline(
    demo_window: MainWindow, worker: Worker, qtbot: QtBot
) -> None:
    window = demo_window
    run(window, worker, qtbot)
    window.workspace.runs.keep()
    run(window, worker, qtbot, "the cat sat on the old mat")
    window.resize(1024, 700)
    for view, names in PLOTS.items():
        bring_view(window, view)
        qtbot.waitUntil(lambda: is_drawn(window) and not worker.busy)
        plots = [find(window, QWidget, name) for name in names]
        # A quarter of the window, and none of it is clipped.
        qtbot.waitUntil(lambda plots=plots: all(plot.height() >= 155 for plot in plots))  # type: ignore[misc]
        for plot in plots:
            assert window.rect().contains(plot.mapTo(window, plot.rect().bottomRight()))
        assert window.width() == 1024
        if view not in ("Layers", "Attention"):
            continue
        page = find(window, QTabWidget, "runViews").currentWidget()
        for box in page.findChildren(ChoiceBox):
            assert not box.isVisible() or box.shown_text == box.currentText()


def test_text_size_and_report(
    demo_window: MainWindow, worker: Worker, qtbot: QtBot, tmp_path: Path
) -> None:
    window = demo_window
    run(window, worker, qtbot)

    def text_sizes() -> set[str]:
        plots = find(window, LinePlot, "layerPlot"), find(window, Heatmap, "tokenHeatmap")
        return {
            size
            for plot in plots
            for size in re.findall(r'font-size="([^"]*)"', svg(plot).decode())
        }

    for step in (0, 1, 0):
        window.step_text_size(step)
        assert text_sizes() == {str(sized(QApplication.font(), SMALL).pixelSize())}
    # The report shows the chosen statistic.
    find(window, QComboBox, "statisticChoice").setCurrentText("mean ± std")
    path = tmp_path / "report.pdf"
    with qtbot.waitSignal(window.workspace.exported):
        window.exporting.write_report(path)
    assert "The mean ± std of each layer’s output" in text_of(path)
    qtbot.waitUntil(lambda: is_drawn(window) and not worker.busy)
