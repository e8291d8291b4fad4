"""Views and the run panel over the demo model."""

from collections.abc import Callable

import pytest
from pytestqt.qtbot import QtBot

from bertviewer.ui.state.pages import Page
from bertviewer.ui.state.workspace import Workspace
from tests.ui.run.view_harness import PanelHarness, ViewHarness

MakeView = Callable[[Page], ViewHarness]


@pytest.fixture
def make_view(workspace: Workspace, qtbot: QtBot) -> MakeView:
    """Return a function that shows a view, of the model that is open by then."""
    return lambda page: ViewHarness(page, workspace, qtbot)


@pytest.fixture
def demo_view(open_model: Callable[..., object], make_view: MakeView) -> MakeView:
    """Return a function that shows a view of the demo model."""
    open_model("demo")
    return make_view


@pytest.fixture
def panel(open_model: Callable[..., object], workspace: Workspace, qtbot: QtBot) -> PanelHarness:
    """Return the run panel of the demo model."""
    open_model("demo")
    return PanelHarness(workspace, qtbot)
