"""Panel of the module tree: rows, their menu and order, and the filter above them."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QGuiApplication
from PySide6.QtWidgets import QHeaderView, QLabel, QMenu
from pytestqt.qtbot import QtBot

from bertviewer.ui.actions.action_set import MODULE_MENU
from bertviewer.ui.shell.main_window import MainWindow
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.tree.columns import PARAMETERS
from bertviewer.ui.tree.filter import parse_filter
from bertviewer.ui.tree.panel import TreeHeading
from bertviewer.ui.tree.view import ModuleTreeView
from tests.core.opened import plain
from tests.ui.direct_worker import show_architecture
from tests.ui.finding import find
from tests.ui.harness import Harness
from tests.ui.tree.conftest import TreeHarness

QUERY = "encoder.layer.3.attention.self.query"


def test_everything_but_the_layers_is_expanded(tree: TreeHarness, qtbot: QtBot) -> None:
    keys = tree.rows()
    assert {"embeddings.word_embeddings", "encoder.layer[0–11]"} < set(keys)
    assert "encoder.layer.0" not in keys
    with qtbot.waitSignal(tree.opened) as opened:
        qtbot.keyClick(tree.view, Qt.Key.Key_Return)
    assert opened.args == [""]


def test_the_menu_of_a_row(tree: TreeHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(QMenu, "popup", lambda *_: None)  # not supported offscreen

    def choose(key: str, name: str) -> None:
        box = tree.view.visualRect(tree.model.index_of(key))
        tree.view.customContextMenuRequested.emit(box.center())
        menu = tree.find(QMenu, "treeMenu")
        find(menu, QAction, name).trigger()
        menu.setParent(None)

    choose("embeddings.word_embeddings", "copyCount")
    assert QGuiApplication.clipboard().text() == "23440896"
    choose("embeddings.word_embeddings", "collapseAll")
    assert tree.rows() == ["", "embeddings", "encoder", "pooler"]
    choose("encoder", "expandBelow")
    assert "encoder.layer.11.output.LayerNorm" in tree.rows()
    assert "pooler.dense" not in tree.rows()


def test_the_menu_has_the_actions_of_the_window(
    demo_window: MainWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(QMenu, "popup", lambda *_: None)
    view = find(demo_window, ModuleTreeView, "moduleTree")
    demo_window.workspace.selection.select("pooler.dense")
    view.customContextMenuRequested.emit(view.visualRect(view.currentIndex()).center())
    actions = {a.objectName(): a for a in find(demo_window, QMenu, "treeMenu").actions()}
    assert set(MODULE_MENU) <= set(actions)
    actions["copyPath"].trigger()
    assert QGuiApplication.clipboard().text() == "pooler.dense"


def test_clicks_on_a_title_sort_siblings_and_restore_their_order(tree: TreeHarness) -> None:
    header, before = tree.find(QHeaderView, "treeHeader"), tree.rows()
    assert header.sectionsClickable()
    for title, order in (
        ("Params ↓", ["encoder", "embeddings", "pooler"]),
        ("Params ↑", ["pooler", "embeddings", "encoder"]),
        ("Params", ["embeddings", "encoder", "pooler"]),
    ):
        header.sectionClicked.emit(PARAMETERS)
        assert tree.model.headerData(PARAMETERS, Qt.Orientation.Horizontal) == title
        assert [key for key in tree.rows() if key in order] == order
        assert sorted(tree.rows()) == sorted(before)  # the same rows are expanded
    assert tree.rows() == before


def test_the_heading_has_the_numbers_of_tensors_and_modules(
    workspace: Workspace, qtbot: QtBot
) -> None:
    heading = Harness(TreeHeading(workspace), workspace, qtbot)
    architecture = plain("bert-base-uncased")
    show_architecture(workspace, architecture)
    counts = f"{architecture.tensor_count} tensors · {len(architecture.modules)} modules"
    assert heading.find(QLabel, "treeCounts").text() == counts


def test_matches_are_expanded_and_the_tree_is_restored(tree: TreeHarness) -> None:
    for key in ("encoder.layer[0–11]", "encoder.layer.7"):
        tree.view.expand(tree.model.index_of(key))
    tree.view.collapse(tree.model.index_of("embeddings"))
    before = tree.rows()
    tree.filter_by("query")
    found = tree.rows()
    assert [key for key in found if key.endswith(".query")] == [
        f"encoder.layer.{number}.attention.self.query" for number in range(12)
    ]
    assert len(found) == 4 + 12 * 4
    tree.filter_by("pooler")
    assert tree.rows() == ["", "pooler", "pooler.dense", "pooler.activation"]
    tree.filter_by("")
    assert tree.rows() == before


def test_of_very_many_matches_the_visited_ones_are_expanded(
    tree: TreeHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bertviewer.ui.tree.panel.MOST_EXPANDED", 11)
    tree.filter_by("query")
    assert tree.result().startswith("12 of ")
    first = "encoder.layer.0.attention.self.query"
    assert [key for key in tree.rows() if key.endswith("query")] == [first]
    for _ in range(2):
        tree.press(Qt.Key.Key_Return)
    assert tree.selected() == first.replace("0", "1")
    assert tree.selected() in tree.rows()


def test_a_filter_selects_nothing_and_forgets_no_selection(
    tree: TreeHarness, workspace: Workspace
) -> None:
    workspace.selection.select(QUERY)
    assert tree.selected() == QUERY
    changes: list[str] = []
    workspace.selection.row_changed.connect(lambda: changes.append(""))
    for text, selected in (("pooler", None), ("zzz", None), ("attention", QUERY), ("", QUERY)):
        tree.filter_by(text)
        assert tree.selected() == selected
    assert QUERY in tree.rows()  # its layers are expanded
    assert changes == []
    tree.filter_by("embeddings")
    workspace.selection.select("pooler.dense")  # which the filter hides
    assert tree.selected() is None
    tree.filter_by("")
    assert tree.selected() == "pooler.dense"


def test_the_first_match_is_scrolled_to(tree: TreeHarness, workspace: Workspace) -> None:
    last = "encoder.layer.11.attention.self.query"
    workspace.selection.select(last)
    tree.filter_by("attention")
    first = tree.view.visualRect(tree.model.index_of("encoder.layer.0.attention"))
    assert tree.view.viewport().rect().contains(first)
    assert tree.selected() == last


def test_matches_are_counted_and_errors_reported(tree: TreeHarness) -> None:
    count = len(plain("bert-base-uncased").modules)
    error = "Incomplete filter. Example: params>1M"
    assert tree.result() == ""
    for text, result in (
        ("query", f"12 of {count} modules"),
        ("class:Linear layer:3-4 -name=dense", f"6 of {count} modules"),
        ("zzz", "No results"),
        ("query params>", f"{error} · 12 of {count} modules"),
        ("params>", error),
        ("pooler", f"3 of {count} modules"),
        ("", ""),
    ):
        tree.filter_by(text)
        assert tree.result() == result


def test_keys_go_from_match_to_match(tree: TreeHarness) -> None:
    tree.focus()
    tree.field.setText("class:BertSelfAttention")  # Enter does not wait for the debounce
    plain_key, shift = Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.ShiftModifier
    for key, modifier, layer in (
        (Qt.Key.Key_Return, plain_key, 0),
        (Qt.Key.Key_Return, plain_key, 1),
        (Qt.Key.Key_F3, plain_key, 2),
        (Qt.Key.Key_Return, shift, 1),
        (Qt.Key.Key_F3, shift, 0),
        (Qt.Key.Key_F3, shift, 11),
        (Qt.Key.Key_F3, plain_key, 0),
    ):
        tree.press(key, modifier)
        assert tree.selected() == f"encoder.layer.{layer}.attention.self"
        assert tree.workspace.selection.place.path == tree.selected()
        assert tree.result() == f"Match {layer + 1} of 12"
        assert tree.field.hasFocus()


def test_escape_and_arrow_down_leave_the_filter(tree: TreeHarness, qtbot: QtBot) -> None:
    before = tree.rows()
    tree.focus()
    tree.filter_by("name=pooler")
    tree.press(Qt.Key.Key_Down)
    qtbot.waitUntil(tree.view.hasFocus)
    assert tree.selected() == "pooler"
    tree.focus()
    tree.press(Qt.Key.Key_Escape)
    assert tree.field.text() == ""
    assert tree.rows() == before
    qtbot.waitUntil(tree.view.hasFocus)


@pytest.mark.parametrize("text", ["params>", "classs:Linear", "params>many layer:"])
def test_an_error_is_cleared_with_the_filter(tree: TreeHarness, text: str) -> None:
    tree.filter_by(text)
    assert tree.result() != ""
    for _ in range(2):  # the first may close the completions
        tree.press(Qt.Key.Key_Escape)
    assert (tree.field.text(), tree.result()) == ("", "")


def examples(tree: TreeHarness) -> dict[str, QAction]:
    actions = tree.find(QMenu, "treeFilterExamples").actions()
    return {action.text().partition("\t")[0]: action for action in actions}


def test_an_example_is_added_to_the_filter(tree: TreeHarness) -> None:
    tree.field.setText("query")
    examples(tree)["layer:3-5"].trigger()
    assert tree.field.text() == "query layer:3-5"
    assert all(parse_filter(example).error == "" for example in examples(tree))


@pytest.mark.parametrize(
    "name", ["bert-base-uncased", "gpt2", "albert-base-v2", "transformer-base"]
)
def test_examples_match_modules_of_the_model(tree: TreeHarness, name: str) -> None:
    show_architecture(tree.workspace, plain(name))
    hint = tree.field.placeholderText().removeprefix("Filter: words, ").replace(",", " ")
    structural = ("class", "name", "path", "part", "layer", "params", "shape")
    for text in (hint, *(each for each in examples(tree) if each.startswith(structural))):
        wanted = parse_filter(text)
        assert not wanted.error
        assert any(wanted.matches(item) for item in tree.model.rows.items), text
