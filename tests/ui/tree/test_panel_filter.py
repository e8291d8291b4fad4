"""The tree with its filter: what is open and selected meanwhile, and what stays as it was."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLineEdit, QMenu, QTreeView
from pytestqt.qtbot import QtBot

from bertviewer.core.schema.module_tree import fold
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.tree.filter import parse_filter
from bertviewer.ui.tree.model import ModuleTreeModel
from bertviewer.ui.tree.panel import ModuleTreePanel
from tests.core.opened import plain
from tests.ui.finding import find
from tests.ui.tree.looking import filter_by, in_sight, press, said, selected


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
    monkeypatch.setattr("bertviewer.ui.tree.panel.MOST_EXPANDED", 11)
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
    assert said(panel) == "No results"
    filter_by(panel, qtbot, "query params>")
    unclear = "Incomplete filter. Example: params>1M"
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
        assert said(panel) == f"Match {layer + 1} of 12"
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
        assert parse_filter(action.text().partition("\t")[0]).error == ""


@pytest.mark.parametrize("text", ["params>", "classs:Linear", "params>many layer:"])
def test_an_error_goes_with_what_was_typed(panel: ModuleTreePanel, qtbot: QtBot, text: str) -> None:
    filter_by(panel, qtbot, text)
    assert said(panel) != ""
    field = find(panel, QLineEdit, "treeFilter")
    for _ in range(2):  # the first one may close what completes a term
        qtbot.keyClick(field, Qt.Key.Key_Escape)
    assert field.text() == ""
    assert said(panel) == ""


@pytest.mark.parametrize(
    "name", ["bert-base-uncased", "gpt2", "albert-base-v2", "transformer-base"]
)
def test_examples_find_something_in_the_model(
    workspace: Workspace, panel: ModuleTreePanel, name: str
) -> None:
    workspace.architecture = plain(name)
    workspace.selection.set_tree(fold(workspace.architecture))
    workspace.architecture_changed.emit(workspace.architecture)
    model = find(panel, ModuleTreeModel)

    def hits(text: str) -> int:
        wanted = parse_filter(text)
        assert not wanted.error
        return sum(wanted.matches(item) for item in model.rows.items)

    shown = find(panel, QLineEdit, "treeFilter").placeholderText().removeprefix("Filter: words, ")
    assert hits(shown.replace(",", " ")) > 0
    for action in find(panel, QMenu, "treeFilterExamples").actions():
        example = action.text().partition("\t")[0]
        if example.startswith(("class", "name", "path", "part", "layer", "params", "shape")):
            assert hits(example) > 0, example
