"""Bar above the views while weights are missing: their size, and the progress of a download."""

from typing import Any, cast

import pytest
from PySide6.QtWidgets import QLabel, QProgressBar, QPushButton
from pytestqt.qtbot import QtBot

from bertviewer.core.util.progress import Progress
from bertviewer.ui.hub.bar import HubBar
from bertviewer.ui.state.workspace import Workspace
from tests.core.opened import plain
from tests.ui.direct_worker import settle, show_architecture
from tests.ui.finding import find


class Remote:
    """A model of the hub, whose weights are not downloaded yet."""

    def __init__(self, missing: int, why_no_weights: str = "") -> None:
        self.missing = missing
        self.why_no_weights = why_no_weights

    def missing_bytes(self) -> int:
        return self.missing

    def fetch(self, progress: Progress) -> None:
        progress(1, 3, "Downloading model.safetensors: 4.2 MB/s")
        self.missing = 0


@pytest.fixture
def bar(workspace: Workspace, qtbot: QtBot) -> HubBar:
    bar = HubBar(workspace)
    qtbot.addWidget(bar)
    assert bar.isHidden()
    return bar


def show(workspace: Workspace, remote: Remote) -> None:
    workspace.remote = cast(Any, remote)
    show_architecture(workspace, plain("bert-base-uncased"))


def test_missing_weights_are_downloaded(bar: HubBar, workspace: Workspace) -> None:
    show(workspace, Remote(438_012_000))
    text, button = find(bar, QLabel, "hubText"), find(bar, QPushButton, "hubDownload")
    progress = find(bar, QProgressBar, "hubProgress")
    assert not bar.isHidden()
    assert text.text() == (
        "The weights (438.0 MB) are not downloaded yet. The first run downloads them."
    )
    arrived: list[str] = []
    workspace.weights_arrived.connect(lambda: arrived.append(workspace.jobs.activity))
    bar.show()
    button.click()
    assert workspace.jobs.activity == "download"
    assert (button.isEnabled(), progress.isVisible()) == (False, True)
    workspace.jobs.progressed.emit(1, 3, "Downloading model.safetensors: 4.2 MB/s")
    assert (progress.value(), progress.maximum()) == (1, 3)
    assert text.text() == "Downloading model.safetensors: 4.2 MB/s"
    settle(workspace)
    assert arrived == [""]
    assert bar.isHidden()


def test_another_activity_disables_the_button(bar: HubBar, workspace: Workspace) -> None:
    show(workspace, Remote(1_000_000))
    bar.show()
    button, text = find(bar, QPushButton, "hubDownload"), find(bar, QLabel, "hubText")
    before = text.text()
    for activity, is_shown in (("check", False), ("run", True)):  # a run downloads them, too
        workspace.jobs.start(cast(Any, activity), lambda _: None, lambda _: None)
        assert not button.isEnabled()
        workspace.jobs.progressed.emit(1, 3, "Progress")
        assert text.text() == ("Progress" if is_shown else before)
        settle(workspace)
    assert button.isEnabled()


def test_a_model_without_weights_says_why(bar: HubBar, workspace: Workspace) -> None:
    show(workspace, Remote(0, "It has no weights."))
    assert not bar.isHidden()
    assert find(bar, QLabel, "hubText").text() == "It has no weights."
    assert find(bar, QPushButton, "hubDownload").isHidden()
