"""Pages: built when they are first shown, and refreshed only while they are in sight."""

import re
from typing import Any, get_args

import pytest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from bertviewer.ui.run.views import VIEWS
from bertviewer.ui.shell.tabs import TABS
from bertviewer.ui.state.pages import MODULE_PAGES, RUN_PAGES
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.tensors.views import PAGES
from bertviewer.ui.views.pages import PageKind, Pages, State
from tests.ui.direct_worker import settle

LISTS: tuple[tuple[PageKind[Any], ...], ...] = (TABS, VIEWS, PAGES)
KINDS = [kind for kinds in LISTS for kind in kinds]


def test_titles_are_unique_and_those_that_can_be_requested() -> None:
    for kinds in LISTS:
        assert len({kind.title for kind in kinds}) == len(kinds) > 1
    assert tuple(kind.title for kind in TABS) == MODULE_PAGES
    assert tuple(kind.title for kind in VIEWS) == RUN_PAGES


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.title)
def test_a_page_can_be_built_and_refreshed_without_a_model(
    kind: PageKind[Any], workspace: Workspace, qtbot: QtBot
) -> None:
    page = kind.build(workspace)
    qtbot.addWidget(page)
    page.refresh()
    assert kind.shows <= set(get_args(State))


@pytest.mark.parametrize("kind", TABS, ids=lambda kind: kind.title)
def test_a_tab_shows_every_kind_of_module(
    kind: PageKind[Any], demo_workspace: Workspace, qtbot: QtBot
) -> None:
    page = kind.build(demo_workspace)
    qtbot.addWidget(page)
    page.show()
    assert demo_workspace.architecture is not None
    for node in demo_workspace.architecture.modules:
        if not re.match(r"encoder\.layer\.[1-5]", node.path):  # like the first layer
            demo_workspace.selection.select(node.path)
            page.refresh()
    settle(demo_workspace)


class Counted(QWidget):
    """A page that counts its refreshes."""

    def __init__(self, _workspace: Workspace) -> None:
        super().__init__()
        self.count = 0

    def refresh(self) -> None:
        self.count += 1


def test_only_the_page_in_sight_is_built_and_refreshed(workspace: Workspace, qtbot: QtBot) -> None:
    kinds = (
        PageKind("first", Counted, frozenset({"row", "token"})),
        PageKind("second", Counted),
    )
    pages = Pages(kinds, workspace, Counted.refresh, workspace, at_once=frozenset({"row"}))
    for slot in pages.slots:
        qtbot.addWidget(slot)
    assert not pages.all_built
    workspace.selection.row_changed.emit()
    first = pages.current
    assert pages.all_built == (first,)
    assert first.count == 1
    for _ in range(3):
        workspace.selection.token_changed.emit()
    assert first.count == 1
    settle(workspace)
    assert first.count == 2  # once, deferred
    pages.show(1)
    workspace.selection.row_changed.emit()
    assert (first.count, pages.current.count) == (2, 1)
    pages.show(0)
    assert first.count == 3
