"""What can be done with a module, over its row in the tree."""

import pytest
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QApplication, QMenu, QTreeView

from bertviewer.ui.action import title_of
from bertviewer.ui.actions import ENTRIES, MODULE
from bertviewer.ui.main_window import MainWindow
from bertviewer.ui.module_menu import module_menu
from bertviewer.ui.module_tree import ModuleTreeModel
from bertviewer.ui.selection import find as find_row
from tests.ui.finding import find


def test_it_has_the_actions_of_the_table(demo_window: MainWindow) -> None:
    workspace = demo_window.workspace
    assert workspace.selection.tree is not None
    row = find_row(workspace.selection.tree, "encoder.layer.2.output")
    assert row is not None
    menu = module_menu(workspace, row, demo_window)
    assert workspace.selection.row is row
    expected = [title_of(entry) for entry in ENTRIES if entry.menu == MODULE]
    assert [action.text() for action in menu.actions() if not action.isSeparator()] == expected
    find(menu, QAction, "copyPython").trigger()
    assert QApplication.clipboard().text() == "model.encoder.layer[2].output"
    check = find(menu, QAction, "checkModule")
    assert not check.isEnabled()
    assert check.toolTip() == "No sentence was run yet"


def test_it_is_in_the_menu_of_a_row_of_the_tree(
    demo_window: MainWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The offscreen platform has no menus that come up.
    monkeypatch.setattr(QMenu, "popup", lambda *_: None)
    view = find(demo_window, QTreeView, "moduleTree")
    model = view.model()
    assert isinstance(model, ModuleTreeModel)
    place = view.visualRect(model.index_of("embeddings.word_embeddings")).center()
    view.customContextMenuRequested.emit(place)
    assert demo_window.workspace.selection.place.path == "embeddings.word_embeddings"
    menu = find(demo_window, QMenu, "treeMenu")
    find(menu, QAction, "copyPath").trigger()
    assert QApplication.clipboard().text() == "embeddings.word_embeddings"
    menu.deleteLater()
