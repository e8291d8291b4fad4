"""Inputs and outputs of modules in the tab of tensors, for this run and the next ones."""

import gc
import json
import weakref
from functools import partial
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
from bertviewer.plots.region_heatmap import RegionHeatmap
from bertviewer.ui.jobs.worker import Worker
from bertviewer.ui.shell.main_window import MainWindow
from bertviewer.ui.tensors.tab import TensorsTab
from bertviewer.ui.tensors.views import SaveButton, TensorViews
from tests.ui.finding import find, show_tab
from tests.ui.tensors.tensor_tab import (
    ACROSS,
    HEATMAP,
    HISTOGRAM,
    LAYER,
    NORMS,
    VALUES,
    cell,
    cell_status,
    has_values,
    inspect_tensor,
    listed_names,
    open_named,
    recorded_output,
    row_titles,
    run_sentence,
    short_title,
    show_view,
    wait_until_idle,
)


def test_what_a_layer_gave_stands_below_its_parameters(ready: MainWindow, qtbot: QtBot) -> None:
    window = ready
    inspect_tensor(window, qtbot, "Output", "output")
    listed = listed_names(window)
    assert listed[0] == "Parameters"
    assert listed[-4:] == ["Inputs", "hidden_states", "Output", "output"]
    table = find(window, QTableView, "tensorTable").model()
    assert [table.index(len(listed) - 1, column).data() for column in range(5)] == [
        "output", "[1, 7, 384]", "[B, S, D]", "2,688", "float32",
    ]  # fmt: skip
    assert find(window, QLabel, "tensorTitle").text() == "output · [1, 7, 384]  float32"
    assert row_titles(window)[:3] == ["0  [CLS]", "1  the", "2  bank"]
    expected = recorded_output(window, LAYER)
    assert cell(window, 2, 211) == cell_text(expected[2, 211].item())
    values_table = find(window, QTableView, "valuesTable")
    values_table.setCurrentIndex(values_table.model().index(2, 211))
    assert cell_status(window).startswith("token 2 “bank”, feature 211  [0, 2, 211] = ")


def test_all_views_show_it(ready: MainWindow, worker: Worker, qtbot: QtBot) -> None:
    window = ready
    inspect_tensor(window, qtbot, "Output", "output")
    expected = recorded_output(window, LAYER)
    show_view(window, worker, qtbot, HEATMAP)
    plot = find(window, RegionHeatmap, "tensorHeatmap")
    qtbot.waitUntil(lambda: plot.chart is not None)
    assert plot.chart is not None
    assert plot.chart.rows[:3] == ("[CLS]", "the", "bank")
    assert (plot.chart.y_title, plot.chart.x_title) == ("Token", "Feature")
    assert plot.chart.row_keys[2] == SelectionKey(token=2)
    show_view(window, worker, qtbot, HISTOGRAM)
    statistics = find(window, QTableView, "tensorStatistics").model()
    qtbot.waitUntil(lambda: statistics.rowCount() > 0)
    mean = float(statistics.index(0, 1).data().replace("−", "-"))
    assert mean == pytest.approx(expected.mean(dtype=float), rel=1e-3)
    show_view(window, worker, qtbot, NORMS)
    norms = find(window, QTableView, "normsTable").model()
    qtbot.waitUntil(lambda: norms.rowCount() == 7)
    assert norms.index(2, 1).data() == "bank"


def test_a_token_is_read_downwards_and_is_the_windows_own(ready: MainWindow, qtbot: QtBot) -> None:
    window, selection = ready, ready.workspace.selection
    inspect_tensor(window, qtbot, "Output", "output")
    choice = find(window, QComboBox, "tokenChoice")
    assert [choice.itemText(row) for row in range(3)] == ["all tokens", "0  [CLS]", "1  the"]
    choice.setCurrentIndex(6)
    assert selection.token == 5
    model = find(window, QTableView, "valuesTable").model()
    assert (model.rowCount(), model.columnCount()) == (384, 1)
    assert model.headerData(0, ACROSS) == "5 river"
    assert cell(window, 211, 0) == cell_text(recorded_output(window, LAYER)[5, 211].item())
    selection.go(SelectionKey(token=2))
    assert model.headerData(0, ACROSS) == "2 bank"
    # Of all tokens none is followed.
    choice.setCurrentIndex(0)
    selection.go(SelectionKey(token=3))
    assert model.rowCount() == 7
    assert choice.currentIndex() == 0


def test_ids_are_read_token_by_token_after_a_single_token(ready: MainWindow, qtbot: QtBot) -> None:
    window = ready
    inspect_tensor(window, qtbot, "Output", "output")
    choice = find(window, QComboBox, "tokenChoice")
    choice.setCurrentIndex(3)
    window.workspace.selection.select("embeddings")
    inspect_tensor(window, qtbot, "Inputs", "input_ids")
    assert choice.isHidden()
    model = find(window, QTableView, "valuesTable").model()
    assert (model.rowCount(), model.columnCount()) == (7, 1)
    assert row_titles(window)[:3] == ["0  [CLS]", "1  the", "2  bank"]
    run = window.workspace.runs.run
    assert run is not None
    assert [int(cell(window, row, 0)) for row in range(7)] == [token.id for token in run.tokens]


def test_titles_are_passed_by_and_groups_are_sorted_by_themselves(
    ready: MainWindow, qtbot: QtBot
) -> None:
    window = ready
    inspect_tensor(window, qtbot, "Output", "output")
    table = find(window, QTableView, "tensorTable")
    row = listed_names(window).index("Inputs") + 1
    table.setCurrentIndex(table.model().index(row, 0))
    qtbot.keyClick(table, Qt.Key.Key_Down)
    assert table.currentIndex().row() == row + 2
    qtbot.keyClick(table, Qt.Key.Key_Up)
    assert table.currentIndex().row() == row
    before = listed_names(window)
    table.model().sort(0, Qt.SortOrder.DescendingOrder)
    listed = listed_names(window)
    assert listed[0] == "Parameters"
    assert listed[-4:] == before[-4:]
    end = listed.index("Inputs")
    assert listed[1:end] == sorted(before[1:end], key=str.casefold, reverse=True)


@pytest.mark.parametrize("suffix", [".npy", ".safetensors", ".csv"])
def test_it_is_saved(ready: MainWindow, qtbot: QtBot, tmp_path: Path, suffix: str) -> None:
    window = ready
    inspect_tensor(window, qtbot, "Output", "output")
    assert find(window, SaveButton).isEnabled()
    target = tmp_path / f"state{suffix}"
    find(window, SaveButton).save(target)
    qtbot.waitUntil(target.is_file)
    qtbot.waitUntil(lambda: not window.workspace.jobs.activity)
    expected = recorded_output(window, LAYER)
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
    qtbot.waitUntil(lambda: has_values(window) and short_title(window).startswith("output"))
    assert listed_names(window) == ["Inputs", "input", "Output", "output"]


def test_the_next_run_and_the_next_module_are_followed(
    ready: MainWindow, worker: Worker, qtbot: QtBot
) -> None:
    window = ready
    inspect_tensor(window, qtbot, "Output", "output")
    run_sentence(window, worker, "a boat", qtbot)
    qtbot.waitUntil(lambda: row_titles(window) == ["0  [CLS]", "1  a", "2  boat", "3  [SEP]"])
    wait_until_idle(worker, qtbot)
    expected = [recorded_output(window, path)[2, 5].item() for path in (LAYER, "encoder.layer.4")]
    assert cell(window, 2, 5) == cell_text(expected[0])
    window.workspace.selection.select("encoder.layer.4")
    qtbot.waitUntil(lambda: cell(window, 2, 5) == cell_text(expected[1]))
    # What is called otherwise there is the same side's first.
    window.workspace.selection.select("encoder.layer.4.attention.self")
    qtbot.waitUntil(lambda: short_title(window).startswith("output.0"))


def test_what_is_typed_next_marks_the_values_as_old(ready: MainWindow, qtbot: QtBot) -> None:
    window = ready
    inspect_tensor(window, qtbot, "Output", "output")
    title = find(window, QLabel, "tensorTitle")
    window.set_sentence("another one", None)
    qtbot.waitUntil(lambda: title.text().startswith("Results are for an earlier sentence · output"))
    window.set_sentence("the bank by the river", None)
    qtbot.waitUntil(lambda: title.text().startswith("output"))
    # A parameter is of no sentence.
    inspect_tensor(window, qtbot, "Parameters", "output.dense.weight")
    window.set_sentence("another one", None)
    assert title.text().startswith("dense.weight")


def test_a_module_that_was_not_called_says_so(ready: MainWindow, qtbot: QtBot) -> None:
    window = ready
    window.workspace.selection.select("encoder.layer")
    summary = "The last run did not call this module, or it returned no tensor."
    labels = find(window, TensorsTab).findChildren(QLabel)
    qtbot.waitUntil(lambda: any(summary in label.text() for label in labels))
    assert "Output" not in listed_names(window)


def test_a_shared_layer_has_a_choice_of_its_calls(
    window: MainWindow, worker: Worker, qtbot: QtBot, tmp_path: Path
) -> None:
    sizes = {"vocab_size": 120, "embedding_size": 8, "hidden_size": 16, "intermediate_size": 20}
    config = {"model_type": "albert", "num_attention_heads": 2, "num_hidden_layers": 3, **sizes}
    (tmp_path / "config.json").write_text(json.dumps(config))
    open_named(window, worker, qtbot, str(tmp_path / "config.json"))
    path = "encoder.albert_layer_groups.0.albert_layers.0"
    run_sentence(window, worker, "a test", qtbot)
    window.workspace.selection.select(path)
    inspect_tensor(window, qtbot, "Output", "output")
    assert find(window, QLabel, "tensorTitle").text().startswith("Random weights · output")
    choice = find(window, QComboBox, "callChoice")
    assert choice.count() == 3
    assert choice.itemText(2) == "call 2 of 3"
    wait_until_idle(worker, qtbot)
    expected = [cell_text(recorded_output(window, path, call)[1, 3].item()) for call in range(3)]
    assert len(set(expected)) == 3

    def is_of(call: int) -> bool:
        return cell(window, 1, 3) == expected[call]

    for call in (2, 1):
        choice.setCurrentIndex(call)
        qtbot.waitUntil(partial(is_of, call))
    window.workspace.selection.select("embeddings")
    qtbot.waitUntil(choice.isHidden)


def test_what_was_looked_at_before_is_not_kept(
    ready: MainWindow, worker: Worker, qtbot: QtBot
) -> None:
    window = ready
    inspect_tensor(window, qtbot, "Output", "output")
    for number in (HEATMAP, HISTOGRAM, NORMS, VALUES):
        show_view(window, worker, qtbot, number)
    part = find(window, TensorViews).part
    assert part is not None
    assert part.matrix.values.elements is not None
    before = weakref.ref(part.matrix.values.elements)
    del part
    inspect_tensor(window, qtbot, "Inputs", "hidden_states")
    qtbot.waitUntil(lambda: not worker.busy)

    def is_gone() -> bool:
        gc.collect()
        return before() is None

    qtbot.waitUntil(is_gone)


def test_nothing_is_kept_of_a_run_that_was_replaced(
    ready: MainWindow, worker: Worker, qtbot: QtBot
) -> None:
    window = ready
    inspect_tensor(window, qtbot, "Output", "output")
    show_tab(window, "Map")
    before = weakref.ref(window.workspace.runs.current.kept)  # type: ignore[union-attr]
    run_sentence(window, worker, "another one", qtbot)

    def is_gone() -> bool:
        gc.collect()
        return before() is None

    qtbot.waitUntil(is_gone)
    show_tab(window, "Tensors")
    inspect_tensor(window, qtbot, "Output", "output")
    assert row_titles(window)[1] == "1  another"
