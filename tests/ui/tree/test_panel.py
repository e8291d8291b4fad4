"""The tree with its filter: what is open, what is selected, and what stays as it was."""

import pytest
from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtGui import QAction, QGuiApplication
from PySide6.QtWidgets import QHeaderView, QLabel, QLineEdit, QMenu, QTreeView
from pytestqt.qtbot import QtBot

from bertviewer.core.architecture.folding import fold
from bertviewer.ui.background.worker import Worker
from bertviewer.ui.main_window import OF_A_ROW, MainWindow
from bertviewer.ui.tree.cells import PARAMETERS
from bertviewer.ui.tree.filter import parse_filter
from bertviewer.ui.tree.model import ModuleTreeModel
from bertviewer.ui.tree.panel import ModuleTreePanel, TreeHeading
from bertviewer.ui.workspace import Workspace
from tests.core.opened import plain
from tests.ui.finding import find


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
    workspace.architecture_changed.emit()
    workspace.selection.row_changed.emit()
    return panel


def in_sight(panel: ModuleTreePanel) -> list[str]:
    """Return the keys of all rows whose parents are open, from the top on."""
    view = find(panel, QTreeView, "moduleTree")
    model = view.model()
    assert isinstance(model, ModuleTreeModel)
    keys: list[str] = []

    def add(parent: QModelIndex) -> None:
        for number in range(model.rowCount(parent)):
            index = model.index(number, 0, parent)
            row = model.tree_row(index)
            assert row is not None
            keys.append(row.key)
            if view.isExpanded(index):
                add(index)

    add(QModelIndex())
    return keys


def filter_by(panel: ModuleTreePanel, qtbot: QtBot, text: str) -> None:
    view = find(panel, QTreeView, "moduleTree")
    with qtbot.waitSignal(view.model().modelReset):
        find(panel, QLineEdit, "treeFilter").setText(text)


def press(
    panel: ModuleTreePanel,
    qtbot: QtBot,
    key: Qt.Key,
    modifier: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier,
) -> None:
    """Press a key in the filter's field."""
    qtbot.keyClick(find(panel, QLineEdit, "treeFilter"), key, modifier)


def said(panel: ModuleTreePanel) -> str:
    """Return what is said of the filter, nothing where that is out of sight."""
    label = find(panel, QLabel, "treeFilterCount")
    return label.text() if label.isVisible() else ""


def selected(panel: ModuleTreePanel) -> str | None:
    view = find(panel, QTreeView, "moduleTree")
    model = view.model()
    assert isinstance(model, ModuleTreeModel)
    row = model.tree_row(view.currentIndex())
    return None if row is None else row.key


def test_the_whole_model_is_open_down_to_its_layers(panel: ModuleTreePanel) -> None:
    keys = in_sight(panel)
    assert "embeddings.word_embeddings" in keys
    assert "encoder.layer[0–11]" in keys
    assert "encoder.layer.0" not in keys


def test_all_matches_are_open_and_the_layers_close_again(
    panel: ModuleTreePanel, qtbot: QtBot
) -> None:
    before = in_sight(panel)
    filter_by(panel, qtbot, "query")
    found = in_sight(panel)
    assert [key for key in found if key.endswith(".query")] == [
        f"encoder.layer.{number}.attention.self.query" for number in range(12)
    ]
    assert len(found) == 4 + 12 * 4
    filter_by(panel, qtbot, "pooler")
    assert in_sight(panel) == ["", "pooler", "pooler.dense", "pooler.activation"]
    filter_by(panel, qtbot, "")
    assert in_sight(panel) == before


def test_very_many_hits_are_opened_as_one_goes_from_each_to_the_next(
    panel: ModuleTreePanel, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bertviewer.ui.tree.panel.MOST_OPEN", 11)
    filter_by(panel, qtbot, "query")
    assert said(panel).startswith("12 of ")
    found = [key for key in in_sight(panel) if key.endswith("query")]
    assert found == ["encoder.layer.0.attention.self.query"], "the first is always in sight"
    for _ in range(2):
        press(panel, qtbot, Qt.Key.Key_Return)
    assert selected(panel) == "encoder.layer.1.attention.self.query"
    assert selected(panel) in in_sight(panel)


def test_a_filter_selects_nothing_by_itself(
    panel: ModuleTreePanel, workspace: Workspace, qtbot: QtBot
) -> None:
    workspace.selection.select("encoder.layer.3.attention.self.query")
    assert selected(panel) == "encoder.layer.3.attention.self.query"
    chosen: list[str] = []
    workspace.selection.row_changed.connect(
        lambda: chosen.append(workspace.selection.place.path or "")
    )
    filter_by(panel, qtbot, "pooler")
    assert selected(panel) is None
    filter_by(panel, qtbot, "zzz")
    filter_by(panel, qtbot, "attention")
    assert selected(panel) == "encoder.layer.3.attention.self.query"
    filter_by(panel, qtbot, "")
    # Its layers are opened for it.
    assert selected(panel) == "encoder.layer.3.attention.self.query"
    assert "encoder.layer.3.attention.self.query" in in_sight(panel)
    assert chosen == []


def test_a_module_that_a_filter_leaves_out_is_marked_when_the_filter_goes(
    panel: ModuleTreePanel, workspace: Workspace, qtbot: QtBot
) -> None:
    workspace.selection.select("embeddings")
    filter_by(panel, qtbot, "embeddings")
    assert selected(panel) == "embeddings"
    workspace.selection.select("pooler.dense")
    assert selected(panel) is None
    filter_by(panel, qtbot, "")
    assert selected(panel) == "pooler.dense"


def test_hits_are_counted_and_what_was_not_understood_is_said(
    panel: ModuleTreePanel, qtbot: QtBot
) -> None:
    count = len(plain("bert-base-uncased").modules)
    assert said(panel) == ""
    filter_by(panel, qtbot, "query")
    assert said(panel) == f"12 of {count} modules"
    filter_by(panel, qtbot, "class:Linear layer:3-4 -name=dense")
    assert said(panel) == f"6 of {count} modules"
    assert [key for key in in_sight(panel) if key.endswith("value")] == [
        "encoder.layer.3.attention.self.value",
        "encoder.layer.4.attention.self.value",
    ]
    filter_by(panel, qtbot, "zzz")
    assert said(panel) == "Nothing fits"
    filter_by(panel, qtbot, "query params>")
    unclear = "params> is not understood; write for example params>1M"
    assert said(panel) == f"{unclear} · 12 of {count} modules"
    filter_by(panel, qtbot, "params>")
    assert said(panel) == unclear
    filter_by(panel, qtbot, "pooler")
    filter_by(panel, qtbot, "")
    assert said(panel) == ""


def test_the_view_shows_the_first_hit(
    panel: ModuleTreePanel, workspace: Workspace, qtbot: QtBot
) -> None:
    workspace.selection.select("encoder.layer.11.attention.self.query")
    filter_by(panel, qtbot, "attention")
    view = find(panel, QTreeView, "moduleTree")
    model = view.model()
    assert isinstance(model, ModuleTreeModel)
    first = view.visualRect(model.index_of("encoder.layer.0.attention"))
    assert view.viewport().rect().contains(first)
    assert selected(panel) == "encoder.layer.11.attention.self.query"


def test_keys_walk_from_hit_to_hit(
    panel: ModuleTreePanel, workspace: Workspace, qtbot: QtBot
) -> None:
    field = find(panel, QLineEdit, "treeFilter")
    # Enter does not wait until the fingers rest.
    field.setText("class:BertSelfAttention")
    steps = [
        (Qt.Key.Key_Return, Qt.KeyboardModifier.NoModifier, 0),
        (Qt.Key.Key_Return, Qt.KeyboardModifier.NoModifier, 1),
        (Qt.Key.Key_F3, Qt.KeyboardModifier.NoModifier, 2),
        (Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier, 1),
        (Qt.Key.Key_F3, Qt.KeyboardModifier.ShiftModifier, 0),
        (Qt.Key.Key_F3, Qt.KeyboardModifier.ShiftModifier, 11),
        (Qt.Key.Key_F3, Qt.KeyboardModifier.NoModifier, 0),
    ]
    panel.activateWindow()
    field.setFocus()
    qtbot.waitUntil(field.hasFocus)
    for key, modifier, layer in steps:
        press(panel, qtbot, key, modifier)
        assert workspace.selection.row is not None
        assert workspace.selection.row.key == f"encoder.layer.{layer}.attention.self"
        assert said(panel) == f"Hit {layer + 1} of 12"
        assert field.hasFocus()


def test_escape_clears_the_filter_and_gives_the_keys_back(
    panel: ModuleTreePanel, qtbot: QtBot
) -> None:
    before = in_sight(panel)
    panel.activateWindow()
    field, view = find(panel, QLineEdit, "treeFilter"), find(panel, QTreeView, "moduleTree")
    field.setFocus()
    filter_by(panel, qtbot, "pooler")
    press(panel, qtbot, Qt.Key.Key_Escape)
    assert field.text() == ""
    assert in_sight(panel) == before
    qtbot.waitUntil(view.hasFocus)


def test_the_arrow_down_goes_on_into_the_tree(panel: ModuleTreePanel, qtbot: QtBot) -> None:
    panel.activateWindow()
    view = find(panel, QTreeView, "moduleTree")
    filter_by(panel, qtbot, "name=pooler")
    press(panel, qtbot, Qt.Key.Key_Down)
    qtbot.waitUntil(view.hasFocus)
    assert selected(panel) == "pooler"


def test_rows_that_were_open_before_a_filter_are_open_again(
    panel: ModuleTreePanel, qtbot: QtBot
) -> None:
    view = find(panel, QTreeView, "moduleTree")
    model = view.model()
    assert isinstance(model, ModuleTreeModel)
    view.expand(model.index_of("encoder.layer[0–11]"))
    view.expand(model.index_of("encoder.layer.7"))
    view.collapse(model.index_of("embeddings"))
    before = in_sight(panel)
    filter_by(panel, qtbot, "query")
    filter_by(panel, qtbot, "pooler")
    filter_by(panel, qtbot, "")
    assert in_sight(panel) == before


def test_an_example_is_added_to_what_is_typed(panel: ModuleTreePanel) -> None:
    field = find(panel, QLineEdit, "treeFilter")
    menu = find(panel, QMenu, "treeFilterExamples")
    field.setText("query")
    (example,) = [action for action in menu.actions() if action.text().startswith("layer:3-5")]
    example.trigger()
    assert field.text() == "query layer:3-5"
    # All that is offered is understood.
    for action in menu.actions():
        assert parse_filter(action.text().partition("\t")[0]).unclear == ""


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

    panel.menu_wanted.connect(lambda menu: menu.addAction("From elsewhere").setObjectName("other"))
    choose("other")
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
    assert set(OF_A_ROW) <= set(names)
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
    workspace.architecture_changed.emit()
    assert find(heading, QLabel, "treeCounts").text() == (
        f"{architecture.tensor_count} tensors · {len(architecture.modules)} modules"
    )
