"""The map tab over a workspace with a small model, without a worker thread."""

from collections.abc import Callable, Iterator

import pytest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.module_tree import fold
from bertviewer.ui.map import canvas
from bertviewer.ui.map.tab import MapTab
from bertviewer.ui.state.workspace import Workspace
from tests.core.walkthrough.small_walkthroughs import small
from tests.ui.direct_worker import DirectWorker
from tests.ui.map.helpers import LAYER

ShowMap = Callable[[Architecture], MapTab]


@pytest.fixture(autouse=True)
def _without_animations(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(canvas, "has_motion", lambda: False)


@pytest.fixture
def workspace(qapp: QApplication) -> Iterator[Workspace]:
    """Return a workspace without a model."""
    del qapp
    worker = DirectWorker()
    yield Workspace(worker)
    assert worker.stop(10)


@pytest.fixture
def show_map(workspace: Workspace, qtbot: QtBot) -> ShowMap:
    """Return a function that shows a model's map, which follows selection and runs."""
    tab = MapTab(workspace)
    qtbot.addWidget(tab)
    tab.resize(820, 620)
    for signal in (
        workspace.selection.row_changed,
        workspace.selection.head_changed,
        workspace.runs.run_changed,
        workspace.runs.comparison_changed,
    ):
        signal.connect(tab.refresh)

    def show(architecture: Architecture) -> MapTab:
        workspace.architecture = architecture
        workspace.selection.set_tree(fold(architecture))
        tab.show()
        tab.refresh()
        return tab

    return show


@pytest.fixture
def tab(show_map: ShowMap) -> MapTab:
    """Return the map of a BERT of two layers."""
    return show_map(small("bert"))


@pytest.fixture
def layer(tab: MapTab, workspace: Workspace) -> MapTab:
    """Return the same map with the second layer opened."""
    workspace.selection.select(LAYER)
    return tab
