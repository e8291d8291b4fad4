"""Inputs, outputs and checked steps of a run in the tab of tensors."""

import gc
import json
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QComboBox, QTableView
from pytestqt.qtbot import QtBot
from safetensors import safe_open

from bertviewer.charts.selection_key import SelectionKey
from bertviewer.core.replay.recorded_run import RecordedRun
from bertviewer.core.schema.activation_run import Sentence
from bertviewer.plots.region_heatmap import RegionHeatmap
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.tensors.views import SaveButton, TensorViews
from bertviewer.ui.views.links import show_step, show_values
from tests.ui.tensors.conftest import LAYER
from tests.ui.tensors.tensor_harness import TensorHarness
from tests.ui.tensors.tensor_tab import HEATMAP, HISTOGRAM, NORMS, VALUES

CHECKED = "Verified: given, recomputed, difference"


def test_inputs_and_outputs_are_listed_below_the_parameters(recorded: TensorHarness) -> None:
    names = recorded.names()
    assert names[0] == "Parameters"
    assert names[-4:] == ["Inputs", "hidden_states", "Output", "output"]
    model = recorded.listing.model()
    assert [model.index(len(names) - 1, column).data() for column in range(5)] == [
        *("output", "[1, 7, 384]", "[B, S, D]", "2,688", "float32"),
    ]
    assert recorded.tensor_title() == "output · [1, 7, 384]  float32"
    assert recorded.row_titles()[:3] == ["0  [CLS]", "1  the", "2  bank"]
    recorded.assert_cell(2, 211, recorded.recorded(LAYER)[2, 211])
    recorded.values.setCurrentIndex(recorded.values.model().index(2, 211))
    assert recorded.status().startswith("token 2 “bank”, feature 211  [0, 2, 211] = ")


def test_all_views_of_an_output(recorded: TensorHarness) -> None:
    expected = recorded.recorded(LAYER)
    recorded.show_view(HEATMAP)
    chart = recorded.find(RegionHeatmap, "tensorHeatmap").chart
    assert chart is not None
    assert chart.rows[:3] == ("[CLS]", "the", "bank")
    assert (chart.y_title, chart.x_title) == ("Token", "Feature")
    assert chart.row_keys[2] == SelectionKey(token=2)
    recorded.show_view(HISTOGRAM)
    mean = float(recorded.facts("tensorStatistics")["mean"].replace("−", "-"))
    assert mean == pytest.approx(expected.mean(dtype=float), rel=1e-3)
    recorded.show_view(NORMS)
    norms = recorded.find(QTableView, "normsTable").model()
    assert norms.rowCount() == 7
    assert norms.index(2, 1).data() == "bank"


def test_a_single_token_is_a_column_and_the_selected_token(recorded: TensorHarness) -> None:
    assert recorded.items("tokenChoice")[:3] == ["all tokens", "0  [CLS]", "1  the"]
    recorded.choose("tokenChoice", "5  river")
    assert recorded.place.token == 5
    assert recorded.shape() == (384, 1)
    assert recorded.column_title() == "5 river"
    recorded.assert_cell(211, 0, recorded.recorded(LAYER)[5, 211])
    recorded.select(token=2)
    assert recorded.column_title() == "2 bank"
    # Ids have no features: each token has a row, also after a single token.
    recorded.select("embeddings")
    recorded.inspect("input_ids", "Inputs")
    assert recorded.find(QComboBox, "tokenChoice").isHidden()
    assert recorded.shape() == (7, 1)
    assert recorded.row_titles()[:3] == ["0  [CLS]", "1  the", "2  bank"]
    run = recorded.workspace.runs.run
    assert run is not None
    assert [int(recorded.cell(row, 0)) for row in range(7)] == [token.id for token in run.tokens]


def test_all_tokens_do_not_follow_the_selected_one(recorded: TensorHarness) -> None:
    recorded.select(token=3)
    assert recorded.shape() == (7, 384)
    assert recorded.chosen("tokenChoice") == "all tokens"


def test_keys_skip_titles_and_groups_are_sorted_separately(
    recorded: TensorHarness, qtbot: QtBot
) -> None:
    before, table = recorded.names(), recorded.listing
    row = before.index("Inputs") + 1
    table.setCurrentIndex(table.model().index(row, 0))
    for key, expected in ((Qt.Key.Key_Down, row + 2), (Qt.Key.Key_Up, row)):
        qtbot.keyClick(table, key)
        assert table.currentIndex().row() == expected
    table.model().sort(0, Qt.SortOrder.DescendingOrder)
    names = recorded.names()
    assert names[0] == "Parameters"
    assert names[-4:] == before[-4:]
    end = names.index("Inputs")
    assert names[1:end] == sorted(before[1:end], key=str.casefold, reverse=True)


def test_outputs_are_saved_with_their_origin(recorded: TensorHarness, tmp_path: Path) -> None:
    expected = recorded.recorded(LAYER)
    files = [tmp_path / f"state{suffix}" for suffix in (".npy", ".safetensors", ".csv")]
    for file in files:
        recorded.find(SaveButton).save(file)
        recorded.settle()
    np.testing.assert_array_equal(np.load(files[0]), expected[None])
    with safe_open(files[1], "pt") as opened:
        assert torch.equal(opened.get_tensor("output"), torch.from_numpy(expected[None]))
        metadata = opened.metadata()
    assert metadata["sentence"] == "the bank by the river"
    assert (metadata["module"], metadata["weights"]) == (LAYER, "pretrained")
    assert json.loads(metadata["tokens"])[2] == "bank"
    line = files[2].read_text().splitlines()[3]
    assert line.startswith("2,bank,")
    numbers = np.array([float(number) for number in line.split(",")[2:]], np.float32)
    np.testing.assert_array_equal(numbers, expected[2])


def test_the_next_run_and_other_modules_are_followed(recorded: TensorHarness) -> None:
    recorded.run("a boat")
    assert recorded.row_titles() == ["0  [CLS]", "1  a", "2  boat", "3  [SEP]"]
    recorded.assert_cell(2, 5, recorded.recorded(LAYER)[2, 5])
    recorded.select("encoder.layer.4")
    recorded.assert_cell(2, 5, recorded.recorded("encoder.layer.4")[2, 5])
    # Without an output of that name, the first one is shown.
    recorded.select("encoder.layer.4.attention.self")
    assert recorded.tensor_title().startswith("output.0")
    recorded.select(f"{LAYER}.intermediate.intermediate_act_fn")  # has no parameters
    assert recorded.names() == ["Inputs", "input", "Output", "output"]
    assert recorded.tensor_title().startswith("output")
    recorded.select("encoder.layer")  # a list
    message = "The last run did not call this module, or it returned no tensor."
    assert any(message in text for text in recorded.texts())
    assert "Output" not in recorded.names()


def test_outputs_of_an_earlier_sentence_are_marked_and_parameters_are_not(
    recorded: TensorHarness,
) -> None:
    run_input, stale = recorded.workspace.run_input, "Results are for an earlier sentence · output"
    run_input.set_sentence(Sentence("another one"))
    assert recorded.tensor_title().startswith(stale)
    run_input.set_sentence(Sentence("the bank by the river"))
    assert recorded.tensor_title().startswith("output")
    recorded.inspect("output.dense.weight")
    run_input.set_sentence(Sentence("another one"))
    assert recorded.tensor_title().startswith("dense.weight")


def test_calls_of_a_shared_layer(
    open_model: Callable[..., object], workspace: Workspace, qtbot: QtBot, tmp_path: Path
) -> None:
    sizes = {"vocab_size": 120, "embedding_size": 8, "hidden_size": 16, "intermediate_size": 20}
    config = {"model_type": "albert", "num_attention_heads": 2, "num_hidden_layers": 3, **sizes}
    (tmp_path / "config.json").write_text(json.dumps(config))
    open_model(tmp_path / "config.json")
    tab, path = TensorHarness(workspace, qtbot), "encoder.albert_layer_groups.0.albert_layers.0"
    tab.run("a test")
    tab.select(path)
    tab.inspect("output", "Output")
    assert tab.tensor_title().startswith("Random weights · output")
    assert tab.items("callChoice") == [f"call {number} of 3" for number in range(3)]
    outputs = [tab.recorded(path, call)[1, 3] for call in range(3)]
    assert len(set(outputs)) == 3
    for call in (2, 1):
        tab.choose("callChoice", f"call {call} of 3")
        tab.assert_cell(1, 3, outputs[call])
    tab.select("embeddings")
    assert tab.find(QComboBox, "callChoice").isHidden()


def assert_released(reference: "weakref.ref[Any]") -> None:
    gc.collect()
    assert reference() is None


def test_values_of_another_tensor_are_not_kept(recorded: TensorHarness) -> None:
    for number in (HEATMAP, HISTOGRAM, NORMS, VALUES):
        recorded.show_view(number)
    part = recorded.find(TensorViews).part
    assert part is not None
    assert part.matrix.values.elements is not None
    reference = weakref.ref(part.matrix.values.elements)
    del part
    recorded.inspect("hidden_states", "Inputs")
    assert_released(reference)


def test_a_hidden_tab_keeps_nothing_of_a_replaced_run(recorded: TensorHarness) -> None:
    current = recorded.workspace.runs.current
    assert current is not None
    reference, from_file = weakref.ref(current.kept), RecordedRun(current.run, None)
    del current
    recorded.widget.hide()
    recorded.show_run(from_file)
    assert_released(reference)
    recorded.run("another one")
    recorded.widget.show()
    recorded.settle()
    assert recorded.row_titles()[1] == "1  another"


def test_a_checked_step_has_three_values_for_each_element(recorded: TensorHarness) -> None:
    workspace = recorded.workspace
    workspace.check(LAYER)
    recorded.settle()
    recorded.inspect("= next hidden state", CHECKED)
    step = next(s for s in workspace.runs.checks[LAYER].steps if s.step == "= next hidden state")
    text = recorded.text("largestDifferenceText")
    assert text.startswith(f"Max difference {step.max_abs_error:.3g}".replace("-", "−"))
    assert text.endswith(f"tolerance {step.tolerance:.3g}".replace("-", "−"))
    assert recorded.shape() == (7, 3 * 384)
    table = recorded.values
    row, column = table.currentIndex().row(), table.currentIndex().column()
    feature = column // 3
    assert [recorded.column_title(column + n) for n in range(3)] == [
        *(f"{feature} {word}" for word in ("given", "recomputed", "difference")),
    ]
    assert f"[0, {row}, {feature}] token {row} “" in text
    recorded.assert_cell(row, column, recorded.recorded(LAYER)[row, feature])
    difference = abs(float(recorded.cell(row, column + 2).replace("−", "-")))
    assert difference == pytest.approx(step.max_abs_error, rel=1e-3)
    # The button goes there from another element, and from another token.
    other = (row + 1) % 7
    table.setCurrentIndex(table.model().index(other, 0))
    recorded.click("largestDifference")
    assert (table.currentIndex().row(), table.currentIndex().column()) == (row, column)
    recorded.find(QComboBox, "tokenChoice").setCurrentIndex(other + 1)
    assert [recorded.column_title(n) for n in range(3)] == ["given", "recomputed", "difference"]
    recorded.click("largestDifference")
    assert recorded.find(QComboBox, "tokenChoice").currentIndex() == row + 1
    assert table.currentIndex().row() == feature
    # The other views show one of the three.
    assert recorded.chosen("comparedChoice") == "difference"
    recorded.choose("comparedChoice", "given")
    part = recorded.find(TensorViews).part
    assert part is not None
    assert part.matrix.values.dtype == "float32"


def test_other_views_lead_to_values(recorded: TensorHarness) -> None:
    workspace = recorded.workspace
    path = f"{LAYER}.output.LayerNorm"
    recorded.select(path)
    workspace.check(path)
    recorded.settle()
    show_step(workspace, workspace.runs.checks[path].steps[-1])
    recorded.settle()
    assert "verified: output" in recorded.tensor_title()
    assert recorded.is_visible("largestDifferenceText")
    show_values(workspace, SelectionKey("encoder.layer.4", 2))
    recorded.settle()
    assert (recorded.place.path, recorded.place.token) == ("encoder.layer.4", 2)
    assert (recorded.column_title(), recorded.shape()) == ("2 bank", (384, 1))
    recorded.assert_cell(7, 0, recorded.recorded("encoder.layer.4")[2, 7])
