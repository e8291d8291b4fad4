"""Run area: the sentence bar alone without a run, and a sentence that is run at the start."""

from collections.abc import Iterator

import pytest
from pytestqt.qtbot import QtBot

from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.util.errors import UserError
from bertviewer.ui.run.run_area import RunArea
from bertviewer.ui.run.sentence_bar import HEIGHT
from bertviewer.ui.state.workspace import Workspace
from tests.core.opened import plain
from tests.tools.patient_bot import PATIENCE
from tests.ui.direct_worker import settle, show_architecture


@pytest.fixture
def area(workspace: Workspace, qtbot: QtBot) -> Iterator[RunArea]:
    area = RunArea(workspace)
    qtbot.addWidget(area)
    area.show()
    yield area
    assert area.bar.stop(PATIENCE / 1000)


def test_the_panel_is_shown_while_there_is_a_run(area: RunArea, demo_workspace: Workspace) -> None:
    opened: list[bool] = []
    area.opened.connect(opened.append)
    assert area.maximumHeight() <= HEIGHT
    demo_workspace.run_sentence(Sentence("a test"), random_weights=False)
    settle(demo_workspace)
    assert area.is_open
    assert area.minimumHeight() > 4 * HEIGHT
    assert area.statistic is not None
    demo_workspace.run_sentence(Sentence("another"), random_weights=False)
    settle(demo_workspace)
    demo_workspace.runs.clear()
    show_architecture(demo_workspace, plain("bert-base-uncased"))
    demo_workspace.runs.run_changed.emit()
    settle(demo_workspace)
    assert area.maximumHeight() <= HEIGHT
    assert opened == [True, False]


def test_a_sentence_is_run_when_the_first_model_is_open(
    area: RunArea, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs: list[Sentence] = []
    monkeypatch.setattr(workspace, "run_next", lambda: runs.append(workspace.run_input.sentence))
    area.bar.set_sentence("the cat sat", None)
    area.run_when_open()
    assert runs == []
    for _ in range(2):
        show_architecture(workspace, plain("bert-base-uncased"))
        settle(workspace)
    assert runs == [Sentence("the cat sat")]


def test_a_sentence_is_not_run_if_the_model_could_not_be_opened(
    area: RunArea, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs: list[object] = []
    monkeypatch.setattr(workspace, "run_next", lambda: runs.append(1))
    area.run_when_open()
    workspace.jobs.errored.emit(UserError("no"))
    show_architecture(workspace, plain("bert-base-uncased"))
    settle(workspace)
    assert runs == []
