"""Model chip and status bar: what they say of the open model and of jobs."""

import pytest
from msgspec.structs import replace
from PySide6.QtWidgets import QLabel, QMenu, QToolButton
from pytestqt.qtbot import QtBot

from bertviewer.core.schema.source_info import SourceInfo
from bertviewer.ui.shell.main_window import MainWindow, available
from bertviewer.ui.shell.model_chip import ModelChip
from bertviewer.ui.shell.status_bar import Status
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.theme.appearance import store_next_scale
from tests.core.opened import plain
from tests.ui.direct_worker import show_architecture
from tests.ui.finding import find

BERT = plain("bert-base-uncased")
TRAINED = replace(BERT.source, weights="pretrained")


@pytest.fixture
def chip(workspace: Workspace, qtbot: QtBot) -> ModelChip:
    menu = QMenu()
    qtbot.addWidget(menu)
    chip = ModelChip(workspace, menu)
    qtbot.addWidget(chip)
    chip.show()
    return chip


@pytest.fixture
def status(workspace: Workspace, qtbot: QtBot) -> Status:
    status = Status(workspace)
    qtbot.addWidget(status)
    status.show()
    return status


@pytest.mark.parametrize(
    ("source", "badge", "text"),
    [
        (BERT.source, "no weights", "No weights"),
        (TRAINED, "trained", "Pretrained weights"),
        (replace(TRAINED, weights="random"), "random", "Random weights (seed 0)"),
        (
            replace(TRAINED, random_tensors=("<b>a</b>",)),
            "partly random",
            "Pretrained, 1 tensor random",
        ),
        (
            replace(TRAINED, random_tensors=("a", "b"), offloaded=True),
            "partly random",
            "Pretrained, 2 tensors random, loaded layer by layer",
        ),
    ],
)
def test_the_kind_of_weights_follows_runs_and_formulas(  # noqa: PLR0917
    source: SourceInfo, badge: str, text: str, workspace: Workspace, chip: ModelChip, status: Status
) -> None:
    show_architecture(workspace, BERT)
    weights = find(status, QLabel, "statusWeights")
    for signal in (workspace.runs.run_changed, workspace.formulas_changed):
        workspace.architecture = BERT
        signal.emit()
        assert weights.text() == "No weights"
        workspace.architecture = replace(BERT, source=source)
        signal.emit()
        assert weights.text() == text
        assert badge in [label.text() for label in chip.findChildren(QLabel)]
    if source.random_tensors:
        assert weights.toolTip().count("&lt;b&gt;a") == (source.random_tensors[0] != "a")


def test_the_chip_has_room_for_the_name(chip: ModelChip, workspace: Workspace) -> None:
    name, facts = chip.findChildren(QLabel)[:2]
    assert name.text() == "No model"
    show_architecture(workspace, BERT)
    assert (name.text(), facts.text()) == ("bert-base-uncased", "BertModel · 109.5\xa0M")
    chip.resize(chip.minimumSizeHint())
    assert name.width() > name.fontMetrics().horizontalAdvance(name.text())


def test_messages_about_jobs(workspace: Workspace, status: Status) -> None:
    show_architecture(workspace, BERT)
    texts = [label.text() for label in status.findChildren(QLabel)]
    assert "109,482,240 parameters · 199 tensors · 228 modules" in texts
    jobs = workspace.jobs
    jobs.activity = "run"
    jobs.progressed.emit(1, 7, "Running")
    assert status.currentMessage() == "Running…"
    jobs.activity = ""
    jobs.activity_changed.emit()
    assert status.currentMessage() == ""
    jobs.progressed.emit(1, 7, "Deriving")  # not an activity of the user
    assert status.currentMessage() == ""
    jobs.activity = "download"
    jobs.progressed.emit(1, 7, "Downloading")  # has its own progress bar
    assert status.currentMessage() == ""
    for signal, argument, message in (
        (workspace.exported, "/a.pdf", "Report saved to /a.pdf"),
        (workspace.saved, "/a.csv", "Saved to /a.csv"),
        (jobs.cancelled, "export", "Export cancelled. No report was written."),
        (jobs.cancelled, "save", "Saving cancelled. No file was written."),
    ):
        signal.emit(argument)
        assert status.currentMessage() == message


def test_the_window_with_large_text_stays_within_its_screen(
    demo_window: MainWindow, qtbot: QtBot
) -> None:
    name = find(demo_window, QToolButton, "modelChip").findChildren(QLabel)[0]
    room = available(demo_window.screen().availableGeometry()).size()
    demo_window.resize(room)
    for _ in range(5):
        store_next_scale(1)
    demo_window.step_text_size(1)
    layout = demo_window.layout()
    assert layout is not None
    qtbot.waitUntil(lambda: demo_window.minimumSize() == layout.totalMinimumSize().boundedTo(room))
    assert demo_window.size() == room
    assert name.width() > name.fontMetrics().horizontalAdvance(name.text())
    store_next_scale(0)
