"""'Check this step' in the window."""

import copy
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtWidgets import QLabel, QPushButton, QTableView, QToolButton, QWidget
from pytestqt.qtbot import QtBot
from torch import nn

from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.sources.parsing import parse_source
from bertviewer.ui.jobs.worker import Worker
from bertviewer.ui.module.check_panel import CheckPanel
from bertviewer.ui.shell.main_window import MainWindow
from tests.core.checks.small_models import change_output
from tests.ui.finding import activate, find, show_tab


@pytest.fixture
def ready(demo_window: MainWindow, worker: Worker, qtbot: QtBot) -> MainWindow:
    """Return the window with the demo, a run, and the formula of a layer in sight."""
    window = demo_window
    show_tab(window, "Formula")
    window.workspace.selection.select("encoder.layer.2")
    window.set_sentence("a test sentence", None)
    window.run()
    idle(window, worker, qtbot)
    return window


def idle(window: MainWindow, worker: Worker, qtbot: QtBot) -> None:
    qtbot.waitUntil(lambda: not window.workspace.jobs.activity and not worker.busy)


def panel(window: MainWindow) -> CheckPanel:
    # The panels of rows before it wait for the event loop to delete them.
    shown = [p for p in window.findChildren(CheckPanel) if p.isVisibleTo(window)]
    return shown[-1]


def inside(window: MainWindow, kind: type[Any], name: str) -> Any:
    return find(panel(window), kind, name)


def press(window: MainWindow, worker: Worker, qtbot: QtBot) -> None:
    inside(window, QPushButton, "checkButton").click()
    assert window.workspace.jobs.activity == "check"
    idle(window, worker, qtbot)


def rows(window: MainWindow, name: str) -> list[list[str]]:
    model = inside(window, QTableView, name).model()
    return [
        [model.index(row, column).data() for column in range(model.columnCount())]
        for row in range(model.rowCount())
    ]


def shown(window: MainWindow, kind: type[QWidget], name: str) -> bool:
    return bool(inside(window, kind, name).isVisibleTo(panel(window)))


def test_before_a_run_there_is_nothing_to_check(demo_window: MainWindow) -> None:
    show_tab(demo_window, "Formula")
    assert not inside(demo_window, QPushButton, "checkButton").isEnabled()
    assert not shown(demo_window, QTableView, "checkTable")


def test_a_layer_is_checked_step_by_step_down_to_its_heads(
    ready: MainWindow, worker: Worker, qtbot: QtBot
) -> None:
    assert not shown(ready, QTableView, "checkTable")
    press(ready, worker, qtbot)
    steps = rows(ready, "checkTable")
    assert [row[0] for row in steps] == [
        "self-attention",
        "add & norm",
        "intermediate",
        "output & add & norm",
        "= next hidden state",
        "attention.self: output",
        "attention.self: output (eager)",
        "attention.self: weights (eager)",
    ]
    assert {row[3] for row in steps} == {"✓ equal"}
    # Twelve heads do not drown the page.
    assert not shown(ready, QTableView, "checkHeads")
    inside(ready, QToolButton, "checkHeadsButton").click()
    assert shown(ready, QTableView, "checkHeads")
    assert [row[0] for row in rows(ready, "checkHeads")] == [
        f"attention.self: head {number}" for number in range(12)
    ]


def test_the_button_beside_the_module_keeps_the_keys(
    ready: MainWindow, worker: Worker, qtbot: QtBot
) -> None:
    activate(ready, qtbot)
    button = find(ready, QPushButton, "quickCheckButton")
    pill = find(ready, QLabel, "checkPill")
    assert button.isVisible()
    assert pill.isHidden()
    button.setFocus()
    qtbot.keyClick(button, Qt.Key.Key_Space)
    assert ready.workspace.jobs.activity == "check"
    assert button.hasFocus()
    qtbot.keyClick(button, Qt.Key.Key_Space)  # it is not begun a second time
    idle(ready, worker, qtbot)
    qtbot.waitUntil(pill.isVisible)
    assert pill.text() == "20 steps verified"
    assert "tolerance" in find(ready, QLabel, "checkDifference").text()
    assert button.hasFocus()
    # What came out stands in the formula's tab too, in sight, with a word on names of its steps.
    verdict = inside(ready, QLabel, "checkVerdict")
    table = inside(ready, QTableView, "checkTable")
    whole = table.rect()
    qtbot.waitUntil(lambda: table.visibleRegion().boundingRect().top() == whole.top())
    assert not verdict.visibleRegion().isEmpty()
    assert "(eager): the attention was run again" in verdict.accessibleName()
    ready.workspace.selection.select("encoder.layer.3")
    assert pill.isHidden()
    assert button.hasFocus()
    ready.workspace.selection.select("encoder.layer")  # a list, which nothing calls
    assert not button.isVisible()


@pytest.fixture
def values(opened_demo: LoadedModel) -> Iterator[nn.Module]:
    """Give the values of layer 2 to be changed; other tests have the same weights."""
    module = opened_demo.module(random_weights=False)
    values = module.get_submodule("encoder.layer.2.attention.self.value")
    before = copy.deepcopy(values.state_dict())
    yield values
    values.load_state_dict(before)


def test_a_cross_is_told_by_sign_words_and_colour(
    ready: MainWindow, worker: Worker, qtbot: QtBot, values: nn.Module
) -> None:
    # The layer is called again with the weights of this moment, so these alone break nothing.
    with torch.no_grad():
        values.get_parameter("weight")[0, 0] += 1
    press(ready, worker, qtbot)
    assert {row[3] for row in rows(ready, "checkTable")} == {"✓ equal"}
    first = nn.functional.one_hot(torch.tensor(0), 384)
    with change_output(values, lambda output: output + first):
        press(ready, worker, qtbot)
    wrong = {row[0] for row in rows(ready, "checkTable") if row[3] == "✗ different"}
    assert wrong == {
        "self-attention",
        "= next hidden state",
        "attention.self: output",
        "attention.self: output (eager)",
    }
    table = inside(ready, QTableView, "checkTable").model()
    bad, good = table.index(0, 3, QModelIndex()), table.index(1, 3, QModelIndex())
    assert bad.data(Qt.ItemDataRole.ForegroundRole) is not None
    assert good.data(Qt.ItemDataRole.ForegroundRole) is None
    # The head at fault is not left folded away.
    assert shown(ready, QTableView, "checkHeads")
    assert [row[0] for row in rows(ready, "checkHeads") if row[3] != "✓ equal"] == [
        "attention.self: head 0"
    ]


def test_results_last_as_long_as_their_run(ready: MainWindow, worker: Worker, qtbot: QtBot) -> None:
    press(ready, worker, qtbot)
    ready.workspace.selection.select("encoder.layer.2.intermediate.dense")
    assert not shown(ready, QTableView, "checkTable")
    press(ready, worker, qtbot)
    assert [row[0] for row in rows(ready, "checkTable")] == ["output"]
    assert not shown(ready, QToolButton, "checkHeadsButton")
    ready.workspace.selection.select("encoder.layer.2")
    assert shown(ready, QTableView, "checkTable")
    assert len(ready.workspace.runs.checks) == 2
    ready.run()
    idle(ready, worker, qtbot)
    assert ready.workspace.runs.checks == {}
    assert not shown(ready, QTableView, "checkTable")
    ready.open_source(parse_source("distilbert-base-uncased"))
    idle(ready, worker, qtbot)
    assert ready.workspace.runs.checks == {}


def test_a_list_is_never_called(ready: MainWindow) -> None:
    ready.workspace.selection.select("encoder.layer")
    assert not inside(ready, QPushButton, "checkButton").isEnabled()


def test_a_check_can_be_cancelled(ready: MainWindow, worker: Worker, qtbot: QtBot) -> None:
    inside(ready, QPushButton, "checkButton").click()
    find(ready, QPushButton, "cancelButton").click()
    idle(ready, worker, qtbot)
    assert ready.workspace.runs.checks == {}
    press(ready, worker, qtbot)
    assert list(ready.workspace.runs.checks) == ["encoder.layer.2"]
