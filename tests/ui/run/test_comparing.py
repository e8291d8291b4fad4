"""Keeping a run as A and comparing the next one with it, in the window."""

import csv
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFileDialog, QMenu, QToolButton
from pytestqt.qtbot import QtBot

from bertviewer.charts.chart import GridChart, LineChart
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.plots.heatmap import Heatmap
from bertviewer.plots.line_plot import LinePlot
from bertviewer.ui.jobs.worker import Worker
from bertviewer.ui.shell.main_window import MainWindow
from bertviewer.ui.views.chart_panel import ChartPanel
from tests.plots.looking import box, position
from tests.ui.finding import find, last_run, shown_error
from tests.ui.run.layers_window import run, settle


def panels(window: MainWindow) -> tuple[ChartPanel, ChartPanel]:
    """Return the panels of the layers and of the norms."""
    found = {
        panel.plot.objectName(): panel
        for panel in window.findChildren(ChartPanel)
        if panel.plot.objectName()
    }
    return found["layerPlot"], found["tokenHeatmap"]


def test_lines_of_both_runs_over_one_another(compared: MainWindow) -> None:
    layers, _ = panels(compared)
    (chart,) = layers.charts
    assert isinstance(chart, LineChart)
    assert {line.label[0] for line in chart.lines} == {"A", "B"}
    assert {line.style for line in chart.lines if line.label[0] == "A"} == {"dashed"}


def test_heatmaps_side_by_side_in_the_same_colours(compared: MainWindow) -> None:
    _, norms = panels(compared)
    b, a = norms.charts
    assert isinstance(a, GridChart)
    assert isinstance(b, GridChart)
    assert (a.values.shape, b.values.shape) == ((7, 8), (7, 9))
    assert a.levels == b.levels is not None


def test_the_difference_is_of_the_same_tokens(
    compared: MainWindow, worker: Worker, qtbot: QtBot
) -> None:
    find(compared, QToolButton, "difference").click()
    settle(compared, worker, qtbot)
    _, norms = panels(compared)
    (chart,) = norms.charts
    assert isinstance(chart, GridChart)
    b, run_a = last_run(compared), compared.workspace.runs.baseline
    assert run_a is not None
    mine, other = np.array(b.token_norms), np.array(run_a.run.token_norms)
    assert chart.values[:, 1] == pytest.approx(mine[:, 1] - other[:, 1])
    # "old" has no partner; "mat" after it has one at another place.
    assert np.isnan(chart.values[:, 6]).all()
    assert chart.values[:, 7] == pytest.approx(mine[:, 7] - other[:, 6])


def test_a_click_on_a_selects_the_same_token_of_b(compared: MainWindow) -> None:
    _, norms = panels(compared)
    (of_a,) = (plot for plot in norms.findChildren(Heatmap) if plot is not norms.plot)
    of_a.clicked.emit(SelectionKey(token=6))
    assert compared.workspace.selection.token == 7
    assert of_a.selection.token == 6


def test_compare_no_longer(compared: MainWindow, worker: Worker, qtbot: QtBot) -> None:
    find(compared, QToolButton, "dropRun").click()
    settle(compared, worker, qtbot)
    layers, norms = panels(compared)
    assert len(norms.charts) == 1
    (chart,) = layers.charts
    assert isinstance(chart, LineChart)
    assert {line.style for line in chart.lines} == {"solid"}
    assert compared.workspace.runs.baseline is None


def test_another_model_takes_run_a_away(compared: MainWindow, worker: Worker, qtbot: QtBot) -> None:
    compared.open_named("albert-base-v2")
    qtbot.waitUntil(lambda: compared.workspace.runs.run is None and not worker.busy)
    assert compared.workspace.runs.baseline is None


def test_a_plot_is_taken_along(
    demo_window: MainWindow,
    worker: Worker,
    qtbot: QtBot,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run(demo_window, worker, qtbot)
    _, norms = panels(demo_window)
    menu = find(norms, QToolButton, "chartMenu").menu()
    actions = {action.objectName(): action for action in menu.actions()}
    clipboard = QGuiApplication.clipboard()
    actions["copyData"].trigger()
    header, *rows = clipboard.text().splitlines()
    names = ["Layer × Token: Norm", "[CLS] (token 0)", "the (token 1)"]
    assert header.split("\t")[:3] == names
    (chart,) = norms.charts
    assert isinstance(chart, GridChart)
    assert [float(row.split("\t")[2]) for row in rows] == chart.values[:, 1].tolist()
    actions["copyPicture"].trigger()
    image, size = clipboard.image(), norms.plot.size()
    # Twice as large, and titles that the plot has on paper alone.
    assert image.width() > 2 * size.width()
    assert image.height() > 2 * size.height()
    for suffix, beginning in ((".png", b"\x89PNG"), (".svg", b"<svg"), (".pdf", b"%PDF")):
        path = tmp_path / f"plot{suffix}"
        monkeypatch.setattr(
            QFileDialog, "getSaveFileName", lambda *_, path=path: (str(path), "PNG (*.png)")
        )
        actions["savePicture"].trigger()
        assert beginning in path.read_bytes()[:300]
    path = tmp_path / "no" / "plot.png"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(path), "PNG (*.png)"))
    actions["savePicture"].trigger()
    box = shown_error(demo_window)
    assert "no such folder:" in box.text() or "No such file" in box.text()
    box.close()


def test_files_are_called_after_what_is_shown(
    compared: MainWindow, worker: Worker, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    proposed: list[str] = []

    def cancel(_parent: object, _title: str, name: str, _kinds: str) -> tuple[str, str]:
        proposed.append(name)
        return "", ""

    monkeypatch.setattr(QFileDialog, "getSaveFileName", cancel)

    def propose() -> list[str]:
        proposed.clear()
        for panel in panels(compared):
            menu = find(panel, QToolButton, "chartMenu").menu()
            for below in (menu, *menu.findChildren(QMenu)):
                for action in below.actions():
                    if action.objectName() in ("savePicture", "saveData"):
                        action.trigger()
        return [*proposed]

    lines = "std-of-each-layer-output-encoder"
    assert propose() == [
        f"{lines}-b-a.png",
        f"{lines}-b-a.csv",
        "token-norms-h-by-layer-a.png",
        "token-norms-h-by-layer-a.csv",
        "token-norms-h-by-layer-b.png",
        "token-norms-h-by-layer-b.csv",
    ]
    find(compared, QToolButton, "difference").click()
    settle(compared, worker, qtbot)
    pictures = [name for name in propose() if name.endswith("png")]
    assert pictures == [
        "std-of-each-layer-output-b-minus-a-encoder.png",
        "token-norms-h-by-layer-b-minus-a.png",
    ]


def test_each_of_two_plots_is_taken_along(
    compared: MainWindow, worker: Worker, qtbot: QtBot
) -> None:
    _, norms = panels(compared)

    def menu() -> QMenu:
        found = find(norms, QToolButton, "chartMenu").menu()
        assert isinstance(found, QMenu)
        return found

    def copied(entries: QMenu) -> list[str]:
        entry = next(one for one in entries.actions() if one.objectName() == "copyData")
        entry.trigger()
        return QGuiApplication.clipboard().text().splitlines()

    of_a, of_b = (action.menu() for action in menu().actions())
    assert isinstance(of_a, QMenu)
    assert isinstance(of_b, QMenu)
    assert (of_a.title(), of_b.title()) == ("A", "B")
    header_of_a, header_of_b = (
        next(csv.reader(copied(one), delimiter="\t")) for one in (of_a, of_b)
    )
    assert (len(header_of_a), len(header_of_b)) == (9, 10)
    assert (header_of_a[0], header_of_b[0]) == (
        "Layer × Token: A · Norm",
        "Layer × Token: B · Norm",
    )
    find(compared, QToolButton, "difference").click()
    settle(compared, worker, qtbot)
    header = next(csv.reader(copied(menu()), delimiter="\t"))
    assert (len(header), header[0]) == (10, "Layer × Token: Norm, B − A")


def test_the_value_under_the_mouse_is_told(
    demo_window: MainWindow, worker: Worker, qtbot: QtBot
) -> None:
    run(demo_window, worker, qtbot)
    layers, norms = panels(demo_window)
    assert isinstance(layers.plot, LinePlot)
    assert isinstance(norms.plot, Heatmap)
    plot = norms.plot
    qtbot.waitUntil(lambda: box(plot).width() > 50)
    norm = last_run(demo_window).token_norms[3][2]
    assert plot.text_at(position(plot, 2.5, 3.5)).endswith(f"{norm:.7g}")
