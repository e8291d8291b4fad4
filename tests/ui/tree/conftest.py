"""The panel with the tree, over BERT base."""

import pytest
from pytestqt.qtbot import QtBot

from bertviewer.core.schema.module_tree import fold
from bertviewer.ui.jobs.worker import Worker
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.tree.panel import ModuleTreePanel
from tests.core.opened import plain


@pytest.fixture
def workspace(worker: Worker) -> Workspace:
    return Workspace(worker)


@pytest.fixture
def panel(workspace: Workspace, qtbot: QtBot) -> ModuleTreePanel:
    """Return the panel with BERT base."""
    panel = ModuleTreePanel(workspace)
    qtbot.addWidget(panel)
    panel.resize(700, 500)
    panel.show()
    workspace.selection.set_tree(fold(plain("bert-base-uncased")))
    workspace.architecture_changed.emit(workspace.architecture)
    workspace.selection.row_changed.emit()
    return panel
