"""Tensors compared by a check, and the ways that lead to values from other views."""

import pytest
from PySide6.QtGui import QAction
from PySide6.QtWidgets import (
    QAbstractButton,
    QComboBox,
    QLabel,
    QMenu,
    QTableView,
    QToolButton,
    QWidget,
)
from pytestqt.qtbot import QtBot

from bertviewer.charts.tensor_charts import cell_text
from bertviewer.plots.heatmap import Heatmap
from bertviewer.ui.jobs.worker import Worker
from bertviewer.ui.shell.main_window import MainWindow
from bertviewer.ui.tensors.views import TensorViews
from tests.plots.looking import pixel
from tests.ui.finding import bring_view, find, show_tab
from tests.ui.tensors.tensor_tab import (
    ACROSS,
    LAYER,
    cell,
    has_values,
    inspect_tensor,
    recorded_output,
    short_title,
    wait_until_idle,
)


def test_a_check_shows_three_numbers_and_goes_to_the_largest_difference(
    ready: MainWindow, worker: Worker, qtbot: QtBot
) -> None:
    window, workspace = ready, ready.workspace
    workspace.check(LAYER)
    qtbot.waitUntil(lambda: LAYER in workspace.runs.checks)
    group = "Verified: given, recomputed, difference"
    inspect_tensor(window, qtbot, group, "= next hidden state")
    step = next(s for s in workspace.runs.checks[LAYER].steps if s.step == "= next hidden state")
    text = find(window, QLabel, "largestDifferenceText").text()
    assert text.startswith(f"Max difference {step.max_abs_error:.3g}".replace("-", "−"))
    assert text.endswith(f"tolerance {step.tolerance:.3g}".replace("-", "−"))
    table = find(window, QTableView, "valuesTable")
    model = table.model()
    assert (model.rowCount(), model.columnCount()) == (7, 3 * 384)
    row, column = table.currentIndex().row(), table.currentIndex().column()
    assert column % 3 == 0
    titles = [model.headerData(column + n, ACROSS) for n in range(3)]
    feature = column // 3
    assert titles == [f"{feature} {word}" for word in ("given", "recomputed", "difference")]
    assert f"[0, {row}, {feature}] token {row} “" in text
    assert cell(window, row, column) == cell_text(
        recorded_output(window, LAYER)[row, feature].item()
    )
    assert abs(float(cell(window, row, column + 2).replace("−", "-"))) == pytest.approx(
        step.max_abs_error, rel=1e-3
    )
    # From elsewhere, and from a single token, it is one click away.
    table.setCurrentIndex(model.index((row + 1) % 7, 0))
    find(window, QToolButton, "largestDifference").click()
    assert (table.currentIndex().row(), table.currentIndex().column()) == (row, column)
    find(window, QComboBox, "tokenChoice").setCurrentIndex((row + 1) % 7 + 1)
    assert [model.headerData(n, ACROSS) for n in range(3)] == ["given", "recomputed", "difference"]
    find(window, QToolButton, "largestDifference").click()
    assert find(window, QComboBox, "tokenChoice").currentIndex() == row + 1
    assert table.currentIndex().row() == feature
    # The other views have one of the three.
    choice = find(window, QComboBox, "comparedChoice")
    assert choice.currentText() == "difference"
    choice.setCurrentText("given")
    part = find(window, TensorViews).part
    assert part is not None
    assert part.matrix.values.dtype == "float32"


def test_the_formula_leads_to_the_numbers_of_the_worst_step(
    ready: MainWindow, worker: Worker, qtbot: QtBot
) -> None:
    window, workspace = ready, ready.workspace
    path = f"{LAYER}.output.LayerNorm"
    workspace.selection.select(path)
    show_tab(window, "Formula")
    workspace.check(path)
    qtbot.waitUntil(lambda: path in workspace.runs.checks)

    def button() -> QAbstractButton:
        # The panels of rows before it wait for the event loop to delete them.
        found = window.findChildren(QAbstractButton, "checkValuesButton")
        return [one for one in found if one.isVisibleTo(window)][-1]

    qtbot.waitUntil(lambda: button().isEnabled())
    button().click()
    qtbot.waitUntil(lambda: short_title(window).startswith("output"))
    qtbot.waitUntil(lambda: find(window, QWidget, "largestDifferenceText").isVisible())


def test_a_hidden_state_leads_to_its_numbers(
    ready: MainWindow, worker: Worker, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The offscreen platform has no menus that come up.
    monkeypatch.setattr(QMenu, "popup", lambda *_: None)
    window = ready
    show_tab(window, "Map")
    bring_view(window, "Layers")
    plot = find(window, Heatmap, "tokenHeatmap")
    qtbot.waitUntil(lambda: plot.chart is not None and plot.isVisible())
    # Of token 2 what layer 4 gave: state 0 is that of the embeddings.
    plot.customContextMenuRequested.emit(pixel(plot, 2.5, 5.5))
    find(plot, QAction, "pointedValues").trigger()
    assert window.workspace.selection.place.path == "encoder.layer.4"
    model = find(window, QTableView, "valuesTable").model()
    qtbot.waitUntil(lambda: model.headerData(0, ACROSS) == "2 bank")
    assert model.rowCount() == 384
    wait_until_idle(worker, qtbot)
    assert cell(window, 7, 0) == cell_text(recorded_output(window, "encoder.layer.4")[2, 7].item())


def test_an_action_shows_the_values_of_the_selected_module(ready: MainWindow, qtbot: QtBot) -> None:
    window = ready
    show_tab(window, "Map")
    window.workspace.selection.select("pooler")
    find(window, QAction, "showValues").trigger()
    qtbot.waitUntil(lambda: has_values(window) and short_title(window).startswith("output"))
    assert find(window, QLabel, "tensorTitle").text() == "output · [1, 384]  float32"
    model = find(window, QTableView, "valuesTable").model()
    assert (model.rowCount(), model.columnCount()) == (384, 1)
