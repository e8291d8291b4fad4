"""Every page that the program has, in one of its lists."""

from typing import Any, get_args

import pytest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from bertviewer.ui.jobs.worker import Worker
from bertviewer.ui.run.views import VIEWS
from bertviewer.ui.shell.tabs import TABS
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.tensors.views import PAGES
from bertviewer.ui.views.pages import PageKind, Pages, State

LISTS: tuple[tuple[PageKind[Any], ...], ...] = (TABS, VIEWS, PAGES)
KINDS = [kind for kinds in LISTS for kind in kinds]


@pytest.mark.parametrize("kinds", LISTS, ids=["tabs", "views", "tensors"])
def test_titles_tell_pages_apart(kinds: tuple[PageKind[Any], ...]) -> None:
    assert len({kind.title for kind in kinds}) == len(kinds) > 1


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.title)
def test_a_page_is_built_and_refreshed_before_any_model_is_open(
    kind: PageKind[Any], worker: Worker, qtbot: QtBot
) -> None:
    page = kind.build(Workspace(worker))
    qtbot.addWidget(page)
    page.refresh()
    assert kind.shows <= set(get_args(State))


class Counted(QWidget):
    """A page that counts how often it was written."""

    def __init__(self, _workspace: Workspace) -> None:
        super().__init__()
        self.count = 0

    def refresh(self) -> None:
        self.count += 1


def test_a_page_is_built_when_it_is_first_seen_and_refreshed_in_sight_only(
    worker: Worker, qtbot: QtBot
) -> None:
    workspace = Workspace(worker)
    kinds = (
        PageKind("first", Counted, frozenset({"row", "token"})),
        PageKind("second", Counted),
    )
    pages = Pages(kinds, workspace, Counted.refresh, workspace, at_once=frozenset({"row"}))
    for place in pages.slots:
        qtbot.addWidget(place)
    assert not pages.all_built
    workspace.selection.row_changed.emit()
    first = pages.current
    assert pages.all_built == (first,)
    assert first.count == 1
    for _ in range(3):
        workspace.selection.token_changed.emit()
    assert first.count == 1
    qtbot.waitUntil(lambda: not workspace.deferred.pending)
    assert first.count == 2
    pages.show(1)
    workspace.selection.row_changed.emit()
    assert (first.count, pages.current.count) == (2, 1)
    pages.show(0)
    assert first.count == 3
