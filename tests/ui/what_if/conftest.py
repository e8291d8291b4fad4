"""The What-if tab over BERT base."""

import pytest
from pytestqt.qtbot import QtBot

from bertviewer.ui.jobs.worker import Worker
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.what_if.tab import WhatIfTab
from tests.ui.what_if.looking import bert, open_in


@pytest.fixture
def tab(worker: Worker, qtbot: QtBot) -> WhatIfTab:
    """Return the tab over BERT base, shown."""
    workspace = Workspace(worker)
    tab = WhatIfTab(workspace)
    workspace.setParent(tab)
    qtbot.addWidget(tab)
    open_in(tab, bert())
    tab.show()
    return tab
