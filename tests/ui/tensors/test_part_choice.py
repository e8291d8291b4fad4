"""Which head of a tensor is seen, and which one the window has selected."""

from pathlib import Path

import numpy as np
from PySide6.QtWidgets import (
    QComboBox,
    QSpinBox,
    QTableView,
    QTabWidget,
)
from pytestqt.qtbot import QtBot
from safetensors.numpy import load_file

from bertviewer.charts.selection_key import SelectionKey
from bertviewer.charts.tensor_charts import cell_text
from bertviewer.core.analysis.heads import HeadLayout
from bertviewer.ui.jobs.worker import Worker
from bertviewer.ui.shell.main_window import MainWindow
from bertviewer.ui.tensors.part_choice import PartChoice
from tests.core.tensors.made_up import in_memory
from tests.ui.finding import find
from tests.ui.tensors.tensor_tab import QUERY, choose, wait_until_idle


def test_the_head_is_the_windows_own(
    tiny_window: MainWindow, worker: Worker, qtbot: QtBot, tiny_bert_folder: Path
) -> None:
    window, workspace = tiny_window, tiny_window.workspace
    every = load_file(tiny_bert_folder / "model.safetensors")
    workspace.selection.go(SelectionKey(head=1))
    choose(window, worker, qtbot, QUERY)
    choice = find(window, QComboBox, "headChoice")
    model = find(window, QTableView, "valuesTable").model()
    assert choice.currentText() == "head 1"
    assert model.index(0, 0).data() == cell_text(every[QUERY][8, 0].item())
    workspace.selection.go(SelectionKey(head=3))
    assert choice.currentText() == "head 3"
    assert model.index(0, 0).data() == cell_text(every[QUERY][24, 0].item())
    choice.setCurrentText("head 2")
    assert workspace.selection.head == 2
    # Whole tensors are seen until there is another head: which one is selected stays.
    choice.setCurrentText("all heads")
    assert workspace.selection.head == 2
    choose(window, worker, qtbot, QUERY.replace("query", "key"))
    assert choice.currentText() == "all heads"
    assert model.rowCount() == 32
    # What is out of sight is right when it comes back, and asks for nothing meanwhile.
    tabs = find(window, QTabWidget, "detailTabs")
    tabs.setCurrentIndex(0)
    workspace.selection.go(SelectionKey(head=0))
    assert not worker.busy
    tabs.setCurrentIndex(2)
    wait_until_idle(worker, qtbot)
    assert choice.currentText() == "head 0"
    assert model.rowCount() == 8


def test_a_head_that_several_share_follows_each_of_them(qtbot: QtBot) -> None:
    parts = PartChoice()
    qtbot.addWidget(parts)
    choice = find(parts, QComboBox, "headChoice")
    queries, keys = HeadLayout("rows", ("query",), 4, 8), HeadLayout("rows", ("key",), 2, 8)
    parts.show_choices((32, 32), queries)
    assert parts.show_head(3)
    assert not parts.show_head(3)
    parts.show_choices((16, 32), keys, group_size=2)
    assert choice.currentText() == "head 1"
    assert not parts.show_head(2)
    assert parts.show_head(1)
    assert choice.currentText() == "head 0"
    # The first of those that share it is the window's then.
    with qtbot.waitSignal(parts.head_chosen) as chosen:
        choice.setCurrentText("head 1")
    assert chosen.args == [2]
    parts.show_choices((32, 32), queries)
    assert choice.currentText() == "head 2"
    parts.show_choices((32,), None)
    parts.show_choices((16, 32), HeadLayout("rows", ("query",), 2, 8))
    assert choice.currentText() == "all heads", "there is no head 2"


def test_heads_that_are_matrices_have_no_choice_of_all(qtbot: QtBot) -> None:
    parts = PartChoice()
    qtbot.addWidget(parts)
    values = in_memory(np.arange(1 * 3 * 4 * 5.0).reshape(1, 3, 4, 5))
    parts.show_choices(values.shape, HeadLayout("matrices", ("head",), 3, 1))
    choice = find(parts, QComboBox, "headChoice")
    assert [choice.itemText(n) for n in range(choice.count())] == ["head 0", "head 1", "head 2"]
    # A batch of one is no choice.
    assert parts.findChildren(QSpinBox) == []
    assert parts.matrix(values).leading == (0, 0)
    assert parts.show_head(2)
    assert parts.matrix(values).leading == (0, 2)
    with qtbot.waitSignal(parts.head_chosen) as chosen:
        parts.show_index((0, 1, 3, 4))
    assert chosen.args == [1]
    assert parts.matrix(values).block((3, 4), (4, 5)).tolist() == [[39.0]]


def test_dimensions_that_are_no_heads_have_a_field_each(qtbot: QtBot) -> None:
    parts = PartChoice()
    qtbot.addWidget(parts)
    values = in_memory(np.arange(1 * 3 * 1 * 2 * 4.0).reshape(1, 3, 1, 2, 4))
    parts.show_choices(values.shape, None)
    (box,) = parts.findChildren(QSpinBox)
    assert box.objectName() == "leadingIndex1"
    parts.show_index((0, 2, 0, 1, 3))
    assert parts.matrix(values).leading == (0, 2, 0)


def test_heads_whose_parts_follow_one_another(qtbot: QtBot) -> None:
    parts = PartChoice()
    qtbot.addWidget(parts)
    values = in_memory(np.arange(24 * 3.0).reshape(24, 3))
    stacked = HeadLayout("rows", ("query", "key", "value"), 4, 2, is_by_head=True)
    parts.show_choices((24, 3), stacked)
    part, head = (find(parts, QComboBox, name) for name in ("partOfHeads", "headChoice"))
    assert parts.matrix(values).shape == (24, 3)
    part.setCurrentText("key")
    # All heads' keys are not one block of rows.
    assert [head.itemText(n) for n in range(head.count())] == [f"head {n}" for n in range(4)]
    head.setCurrentText("head 2")
    assert parts.matrix(values).row_span == (14, 16)
    parts.show_index((3, 1))
    assert parts.matrix(values).shape == (24, 3)
