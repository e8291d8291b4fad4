"""The tree with its filter: what is open, what is selected, and what stays as it was."""

import pytest
from PySide6.QtCore import QModelIndex
from PySide6.QtWidgets import QLineEdit, QTreeView
from pytestqt.qtbot import QtBot

from bertviewer.core.architecture.folding import fold
from bertviewer.ui.background.worker import Worker
from bertviewer.ui.module_tree import CLASS, ModuleTreeModel
from bertviewer.ui.module_tree_panel import ModuleTreePanel
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


def test_columns_stay_as_wide_as_they_were_put(panel: ModuleTreePanel, qtbot: QtBot) -> None:
    view = find(panel, QTreeView, "moduleTree")

    def widths() -> list[int]:
        return [view.columnWidth(column) for column in range(CLASS, view.model().columnCount())]

    view.header().resizeSection(CLASS, view.columnWidth(CLASS) - 20)
    before = widths()
    filter_by(panel, qtbot, "query")
    assert widths() == before
    filter_by(panel, qtbot, "")
    assert widths() == before
