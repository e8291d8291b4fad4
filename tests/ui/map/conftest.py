"""The map alone, over a workspace with a small model."""

from collections.abc import Callable

import pytest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.module_tree import fold
from bertviewer.ui.jobs.worker import Worker
from bertviewer.ui.map import canvas
from bertviewer.ui.map.tab import MapTab
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.theme.appearance import apply_appearance
from tests.core.walkthrough.small_walkthroughs import small
from tests.ui.map.map_hands import LAYER

ShowMap = Callable[[Architecture], MapTab]


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nothing move: what is opened is there at once."""
    monkeypatch.setattr(canvas, "has_motion", lambda: False)


@pytest.fixture
def workspace(worker: Worker, qapp: QApplication) -> Workspace:
    """Return a workspace without a model."""
    apply_appearance(qapp, "light")
    return Workspace(worker)


@pytest.fixture
def show_map(workspace: Workspace, qtbot: QtBot) -> ShowMap:
    """Return what shows a model's map."""
    tab = MapTab(workspace)
    qtbot.addWidget(tab)
    tab.resize(820, 620)

    def show(architecture: Architecture) -> MapTab:
        workspace.architecture = architecture
        workspace.selection.set_tree(fold(architecture))
        workspace.selection.row_changed.connect(tab.refresh)
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
    """Return the same with its second layer opened."""
    workspace.selection.select(LAYER)
    return tab
