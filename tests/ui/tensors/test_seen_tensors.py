"""What a run's modules took and gave, and what was checked of them, in the tab of tensors."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QComboBox,
    QLabel,
    QTableView,
)
from pytestqt.qtbot import QtBot
from safetensors import safe_open

from bertviewer.charts.selection_key import SelectionKey
from bertviewer.charts.tensor_charts import cell_text
from bertviewer.plots.heatmap import RegionHeatmap
from bertviewer.ui.jobs.worker import Worker
from bertviewer.ui.shell.main_window import MainWindow
from bertviewer.ui.tensors.views import SaveButton
from tests.ui.finding import find
from tests.ui.tensors.seen_window import (
    ACROSS,
    LAYER,
    cell,
    given,
    has_values,
    look,
    names,
    shown,
    tokens,
)
from tests.ui.tensors.tensor_window import (
    HEATMAP,
    HISTOGRAM,
    NORMS,
    told,
    view,
)


def test_what_a_layer_gave_stands_below_its_parameters(ready: MainWindow, qtbot: QtBot) -> None:
    window = ready
    look(window, qtbot, "Output", "output")
    listed = names(window)
    assert listed[0] == "Parameters"
    assert listed[-4:] == ["Inputs", "hidden_states", "Output", "output"]
    table = find(window, QTableView, "tensorTable").model()
    assert [table.index(len(listed) - 1, column).data() for column in range(5)] == [
        "output", "[1, 7, 384]", "[B, S, D]", "2,688", "float32",
    ]  # fmt: skip
    assert find(window, QLabel, "tensorTitle").text() == "output · [1, 7, 384]  float32"
    assert tokens(window)[:3] == ["0  [CLS]", "1  the", "2  bank"]
    expected = given(window, LAYER)
    assert cell(window, 2, 211) == cell_text(expected[2, 211].item())
    values_table = find(window, QTableView, "valuesTable")
    values_table.setCurrentIndex(values_table.model().index(2, 211))
    assert told(window).startswith("token 2 “bank”, feature 211  [0, 2, 211] = ")


def test_all_views_show_it(ready: MainWindow, worker: Worker, qtbot: QtBot) -> None:
    window = ready
    look(window, qtbot, "Output", "output")
    expected = given(window, LAYER)
    view(window, worker, qtbot, HEATMAP)
    plot = find(window, RegionHeatmap, "tensorHeatmap")
    qtbot.waitUntil(lambda: plot.chart is not None)
    assert plot.chart is not None
    assert plot.chart.rows[:3] == ("[CLS]", "the", "bank")
    assert (plot.chart.y_title, plot.chart.x_title) == ("Token", "Feature")
    assert plot.chart.row_keys[2] == SelectionKey(token=2)
    view(window, worker, qtbot, HISTOGRAM)
    statistics = find(window, QTableView, "tensorStatistics").model()
    qtbot.waitUntil(lambda: statistics.rowCount() > 0)
    mean = float(statistics.index(0, 1).data().replace("−", "-"))
    assert mean == pytest.approx(expected.mean(dtype=float), rel=1e-3)
    view(window, worker, qtbot, NORMS)
    norms = find(window, QTableView, "normsTable").model()
    qtbot.waitUntil(lambda: norms.rowCount() == 7)
    assert norms.index(2, 1).data() == "bank"


def test_a_token_is_read_downwards_and_is_the_windows_own(ready: MainWindow, qtbot: QtBot) -> None:
    window, selection = ready, ready.workspace.selection
    look(window, qtbot, "Output", "output")
    choice = find(window, QComboBox, "tokenChoice")
    assert [choice.itemText(row) for row in range(3)] == ["all tokens", "0  [CLS]", "1  the"]
    choice.setCurrentIndex(6)
    assert selection.token == 5
    model = find(window, QTableView, "valuesTable").model()
    assert (model.rowCount(), model.columnCount()) == (384, 1)
    assert model.headerData(0, ACROSS) == "5 river"
    assert cell(window, 211, 0) == cell_text(given(window, LAYER)[5, 211].item())
    selection.go(SelectionKey(token=2))
    assert model.headerData(0, ACROSS) == "2 bank"
    # Of all tokens none is followed.
    choice.setCurrentIndex(0)
    selection.go(SelectionKey(token=3))
    assert model.rowCount() == 7
    assert choice.currentIndex() == 0


def test_ids_are_read_token_by_token_after_a_single_token(ready: MainWindow, qtbot: QtBot) -> None:
    window = ready
    look(window, qtbot, "Output", "output")
    choice = find(window, QComboBox, "tokenChoice")
    choice.setCurrentIndex(3)
    window.workspace.selection.select("embeddings")
    look(window, qtbot, "Inputs", "input_ids")
    assert choice.isHidden()
    model = find(window, QTableView, "valuesTable").model()
    assert (model.rowCount(), model.columnCount()) == (7, 1)
    assert tokens(window)[:3] == ["0  [CLS]", "1  the", "2  bank"]
    run = window.workspace.runs.run
    assert run is not None
    assert [int(cell(window, row, 0)) for row in range(7)] == [token.id for token in run.tokens]


def test_titles_are_passed_by_and_groups_are_sorted_by_themselves(
    ready: MainWindow, qtbot: QtBot
) -> None:
    window = ready
    look(window, qtbot, "Output", "output")
    table = find(window, QTableView, "tensorTable")
    row = names(window).index("Inputs") + 1
    table.setCurrentIndex(table.model().index(row, 0))
    qtbot.keyClick(table, Qt.Key.Key_Down)
    assert table.currentIndex().row() == row + 2
    qtbot.keyClick(table, Qt.Key.Key_Up)
    assert table.currentIndex().row() == row
    before = names(window)
    table.model().sort(0, Qt.SortOrder.DescendingOrder)
    listed = names(window)
    assert listed[0] == "Parameters"
    assert listed[-4:] == before[-4:]
    end = listed.index("Inputs")
    assert listed[1:end] == sorted(before[1:end], key=str.casefold, reverse=True)


@pytest.mark.parametrize("suffix", [".npy", ".safetensors", ".csv"])
def test_it_is_saved(ready: MainWindow, qtbot: QtBot, tmp_path: Path, suffix: str) -> None:
    window = ready
    look(window, qtbot, "Output", "output")
    assert find(window, SaveButton).isEnabled()
    target = tmp_path / f"state{suffix}"
    find(window, SaveButton).save(target)
    qtbot.waitUntil(target.is_file)
    qtbot.waitUntil(lambda: not window.workspace.scheduler.activity)
    expected = given(window, LAYER)
    if suffix == ".npy":
        np.testing.assert_array_equal(np.load(target), expected[None])
    elif suffix == ".csv":
        lines = target.read_text().splitlines()
        assert lines[3].startswith("2,bank,")
        read = [float(number) for number in lines[3].split(",")[2:]]
        np.testing.assert_array_equal(np.array(read, np.float32), expected[2])
    else:
        with safe_open(target, "pt") as file:
            assert torch.equal(file.get_tensor("output"), torch.from_numpy(expected[None]))
            metadata = file.metadata()
        assert metadata["sentence"] == "the bank by the river"
        assert (metadata["module"], metadata["weights"]) == (LAYER, "pretrained")
        assert json.loads(metadata["tokens"])[2] == "bank"


def test_a_module_without_parameters_shows_what_it_gave(ready: MainWindow, qtbot: QtBot) -> None:
    window = ready
    window.workspace.selection.select(f"{LAYER}.intermediate.intermediate_act_fn")
    qtbot.waitUntil(lambda: has_values(window) and shown(window).startswith("output"))
    assert names(window) == ["Inputs", "input", "Output", "output"]
