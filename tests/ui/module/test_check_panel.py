"""Check panel and summary: the steps of a verification, and what failed."""

from typing import Any, cast

import pytest
from msgspec.structs import replace
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QPushButton, QTableView, QToolButton, QWidget
from pytestqt.qtbot import QtBot

from bertviewer.core.replay.recorded_run import RecordedRun
from bertviewer.core.schema.activation_run import ModuleActivation, Sentence
from bertviewer.core.schema.check import Check, CheckStep, Unchecked
from bertviewer.core.schema.statistics import NO_ELEMENTS
from bertviewer.ui.jobs.model_jobs import Ran
from bertviewer.ui.module.check_panel import CheckPanel
from bertviewer.ui.module.inspector_page import CheckSummary
from bertviewer.ui.state.pages import Page, RecordedValues
from bertviewer.ui.state.selection import find as find_row
from bertviewer.ui.state.workspace import Workspace
from tests.charts.runs import made_up
from tests.core.opened import plain
from tests.ui.direct_worker import settle, show_architecture
from tests.ui.finding import find

LAYER = "encoder.layer.2"
SELF = f"{LAYER}.attention.self"
HEADS = 3
STEPS = (
    CheckStep(LAYER, "= next hidden state", 1e-7, 1e-6, ok=True),
    CheckStep(SELF, "output (eager)", 2e-7, 1e-6, ok=True),
    *(CheckStep(SELF, f"head {number}", 1e-8, 1e-6, ok=True) for number in range(HEADS)),
)
PASSED = Check(STEPS)
FAILED = Check(
    (
        replace(STEPS[0], max_abs_error=0.5, ok=False),
        STEPS[1],
        replace(STEPS[2], max_abs_error=0.25, ok=False),
        *STEPS[3:],
    ),
    (Unchecked("pooler", "it was called twice"),),
)


@pytest.fixture
def ready(workspace: Workspace) -> Workspace:
    """Return a workspace with a run that has called the layer, which is selected."""
    show_architecture(workspace, plain("bert-base-uncased"))
    called = ModuleActivation(LAYER, "BertLayer", None, (1,), (NO_ELEMENTS,), None)
    run = replace(made_up("a test"), modules=(called,))
    workspace.show_run(Ran(RecordedRun(run, cast(Any, "a cache")), None))
    workspace.selection.select(LAYER)
    return workspace


def panel_of(workspace: Workspace, path: str, qtbot: QtBot) -> CheckPanel:
    assert workspace.selection.tree is not None
    row = find_row(workspace.selection.tree, path)
    assert row is not None
    panel = CheckPanel(workspace, row)
    qtbot.addWidget(panel)
    panel.show()
    return panel


def set_check(workspace: Workspace, check: Check) -> None:
    assert workspace.runs.current is not None
    workspace.runs.set_check(workspace.runs.current, LAYER, check)


def rows(panel: CheckPanel, name: str) -> list[list[str]]:
    model = find(panel, QTableView, name).model()
    return [
        [model.index(row, column).data() for column in range(model.columnCount())]
        for row in range(model.rowCount())
    ]


def visible(panel: CheckPanel) -> list[bool]:
    """Return whether the table of steps, its fold button and the table of heads are shown."""
    names = "checkTable", "checkHeadsButton", "checkHeads"
    return [find(panel, QWidget, name).isVisible() for name in names]


def test_what_was_not_called_cannot_be_verified(workspace: Workspace, qtbot: QtBot) -> None:
    show_architecture(workspace, plain("bert-base-uncased"))
    panel = panel_of(workspace, LAYER, qtbot)
    button = find(panel, QPushButton, "checkButton")
    assert not button.isEnabled()
    workspace.show_run(Ran(RecordedRun(made_up("a test"), cast(Any, "a cache")), None))
    assert not button.isEnabled()
    texts = [label.text() for label in panel.findChildren(QLabel)]
    assert any(text.startswith("The last run did not call this module") for text in texts)
    assert visible(panel) == [False, False, False]


def test_a_check_lists_its_steps_and_folds_the_heads(ready: Workspace, qtbot: QtBot) -> None:
    panel = panel_of(ready, LAYER, qtbot)
    assert find(panel, QPushButton, "checkButton").isEnabled()
    assert visible(panel) == [False, False, False]
    set_check(ready, PASSED)
    assert visible(panel) == [True, True, False]
    assert rows(panel, "checkTable") == [
        ["= next hidden state", "1.0e−07", "1.0e−06", "✓ equal"],
        ["attention.self: output (eager)", "2.0e−07", "1.0e−06", "✓ equal"],
    ]
    fold = find(panel, QToolButton, "checkHeadsButton")
    assert fold.text() == "3 individual heads, all equal"
    fold.click()
    heads = [f"attention.self: head {number}" for number in range(HEADS)]
    assert [row[0] for row in rows(panel, "checkHeads")] == heads
    verdict = find(panel, QLabel, "checkVerdict").accessibleName()
    assert verdict.startswith("✓ All 5 steps are within their tolerance.")
    assert "(eager): the attention was run again" in verdict


def test_failed_steps_are_marked_and_their_heads_shown(ready: Workspace, qtbot: QtBot) -> None:
    panel = panel_of(ready, LAYER, qtbot)
    set_check(ready, FAILED)
    assert visible(panel) == [True, True, True]
    assert [row[3] for row in rows(panel, "checkTable")] == ["✗ different", "✓ equal"]
    assert [row[3] for row in rows(panel, "checkHeads")] == ["✗ different", "✓ equal", "✓ equal"]
    model = find(panel, QTableView, "checkTable").model()
    colors = [model.index(row, 3).data(Qt.ItemDataRole.ForegroundRole) for row in range(2)]
    assert [color is not None for color in colors] == [True, False]
    verdict = find(panel, QLabel, "checkVerdict").accessibleName()
    assert verdict.startswith("✗ 2 of 5 steps are outside their tolerance.")
    assert "Not verified: pooler: it was called twice." in verdict
    with qtbot.waitSignal(ready.page_requested) as requested:
        find(panel, QPushButton, "checkValuesButton").click()
    assert requested.args == [Page.TENSORS, RecordedValues(FAILED.steps[0])]


def test_a_check_is_shown_as_long_as_its_run_is_the_last_one(
    ready: Workspace, qtbot: QtBot
) -> None:
    panel, run = panel_of(ready, LAYER, qtbot), ready.runs.run
    assert run is not None
    set_check(ready, PASSED)
    ready.show_run(Ran(RecordedRun(replace(run), cast(Any, "a cache")), None))
    assert visible(panel) == [False, False, False]


def test_the_summary_next_to_the_module(ready: Workspace, qtbot: QtBot) -> None:
    summary = CheckSummary(ready, QWidget())
    qtbot.addWidget(summary)
    summary.show()
    badge, text = find(summary, QLabel, "checkPill"), find(summary, QLabel, "checkDifference")
    assert find(summary, QPushButton, "quickCheckButton").isVisible()
    assert badge.isHidden()
    for check, count in ((PASSED, "5 steps verified"), (FAILED, "3 of 5 steps verified")):
        set_check(ready, check)
        assert (badge.isVisible(), badge.text()) == (True, count)
    assert text.text() == "max difference 0.5, tolerance 1e−06"
    ready.selection.select("encoder.layer")  # a list, which is never called
    assert not summary.isVisible()
    ready.selection.select(LAYER)
    assert not summary.isHidden()


def test_checks_compute_and_can_be_cancelled(demo_workspace: Workspace) -> None:
    demo_workspace.check(LAYER)
    assert not demo_workspace.jobs.activity
    demo_workspace.run_sentence(Sentence("a test"), random_weights=False)
    settle(demo_workspace)
    demo_workspace.check(LAYER)
    demo_workspace.check("pooler")  # one at a time
    demo_workspace.jobs.cancel()
    settle(demo_workspace)
    assert demo_workspace.runs.checks == {}
    demo_workspace.check(LAYER)
    settle(demo_workspace)
    (path,) = demo_workspace.runs.checks
    check = demo_workspace.runs.checks[path]
    assert (path, len(check.steps), check.failed) == (LAYER, 20, ())
