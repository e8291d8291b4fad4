"""The tree with its filter: what is open, what is selected, and what stays as it was."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QGuiApplication
from PySide6.QtWidgets import QHeaderView, QLabel, QMenu, QTreeView
from pytestqt.qtbot import QtBot

from bertviewer.core.schema.module_tree import fold
from bertviewer.ui.actions.action_set import MODULE_MENU
from bertviewer.ui.shell.main_window import MainWindow
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.tree.columns import PARAMETERS
from bertviewer.ui.tree.model import ModuleTreeModel
from bertviewer.ui.tree.panel import ModuleTreePanel, TreeHeading
from tests.core.opened import plain
from tests.ui.finding import find
from tests.ui.tree.looking import in_sight


def test_the_whole_model_is_open_down_to_its_layers(panel: ModuleTreePanel) -> None:
    keys = in_sight(panel)
    assert "embeddings.word_embeddings" in keys
    assert "encoder.layer[0–11]" in keys
    assert "encoder.layer.0" not in keys


def test_enter_opens_a_module(panel: ModuleTreePanel, qtbot: QtBot) -> None:
    view = find(panel, QTreeView, "moduleTree")
    with qtbot.waitSignal(panel.opened) as opened:
        qtbot.keyClick(view, Qt.Key.Key_Return)
    assert opened.args == [""]


def test_a_row_has_a_menu(panel: ModuleTreePanel, monkeypatch: pytest.MonkeyPatch) -> None:
    # The offscreen platform has no menus that come up.
    monkeypatch.setattr(QMenu, "popup", lambda *_: None)
    view = find(panel, QTreeView, "moduleTree")
    model = view.model()
    assert isinstance(model, ModuleTreeModel)
    index = model.index_of("embeddings.word_embeddings")

    def choose(name: str) -> None:
        view.customContextMenuRequested.emit(view.visualRect(index).center())
        menu = find(panel, QMenu, "treeMenu")
        find(menu, QAction, name).trigger()
        menu.setParent(None)

    choose("copyCount")
    assert QGuiApplication.clipboard().text() == "23440896"
    choose("collapseAll")
    assert in_sight(panel) == ["", "embeddings", "encoder", "pooler"]
    index = model.index_of("encoder")
    choose("expandBelow")
    assert "encoder.layer.11.output.LayerNorm" in in_sight(panel)
    assert "pooler.dense" not in in_sight(panel)


def test_the_window_offers_its_actions_for_a_row(
    demo_window: MainWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(QMenu, "popup", lambda *_: None)
    view = find(demo_window, QTreeView, "moduleTree")
    demo_window.workspace.selection.select("pooler.dense")
    view.customContextMenuRequested.emit(view.visualRect(view.currentIndex()).center())
    menu = find(demo_window, QMenu, "treeMenu")
    names = [action.objectName() for action in menu.actions()]
    assert set(MODULE_MENU) <= set(names)
    (copy,) = [action for action in menu.actions() if action.objectName() == "copyPath"]
    copy.trigger()
    assert QGuiApplication.clipboard().text() == "pooler.dense"


def test_a_title_orders_siblings_and_the_third_click_restores_the_model(
    panel: ModuleTreePanel,
) -> None:
    header = find(panel, QHeaderView, "treeHeader")
    before = in_sight(panel)
    children = ["embeddings", "encoder", "pooler"]

    def top() -> list[str]:
        return [key for key in in_sight(panel) if key in children]

    def said_above() -> str:
        return str(header.model().headerData(PARAMETERS, Qt.Orientation.Horizontal))

    assert header.sectionsClickable()
    header.sectionClicked.emit(PARAMETERS)
    assert top() == ["encoder", "embeddings", "pooler"]
    assert sorted(in_sight(panel)) == sorted(before)  # what was open stays open
    header.sectionClicked.emit(PARAMETERS)
    assert top() == ["pooler", "embeddings", "encoder"]
    assert said_above() == "Params ↑"
    header.sectionClicked.emit(PARAMETERS)
    assert in_sight(panel) == before
    assert said_above() == "Params"


def test_the_heading_counts(workspace: Workspace, qtbot: QtBot) -> None:
    heading = TreeHeading(workspace)
    qtbot.addWidget(heading)
    architecture = plain("bert-base-uncased")
    workspace.architecture = architecture
    workspace.selection.set_tree(fold(architecture))
    workspace.architecture_changed.emit(workspace.architecture)
    assert find(heading, QLabel, "treeCounts").text() == (
        f"{architecture.tensor_count} tensors · {len(architecture.modules)} modules"
    )
