"""What is offered while somebody types into the tree's filter, and how it is taken."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLineEdit, QTableView, QTreeView
from pytestqt.qtbot import QtBot

from bertviewer.core.schema.module_tree import fold
from bertviewer.ui.jobs.worker import Worker
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.tree.filter import KEYS, parse_filter
from bertviewer.ui.tree.panel import ModuleTreePanel
from bertviewer.ui.tree.rows import TreeRows
from bertviewer.ui.tree.suggestions import FilterSuggestions, typed_at
from tests.core.opened import plain
from tests.ui.finding import find

ROWS = TreeRows(fold(plain("bert-base-uncased")))


def offered(text: str, cursor: int | None = None) -> list[str]:
    typed = typed_at(text, len(text) if cursor is None else cursor)
    return (
        []
        if typed is None
        else [offer.text for offer in FilterSuggestions(ROWS.items).completions(typed)]
    )


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("cla", ["class:"]),
        ("query tra", ["trained:", "trainable:"]),
        ("-cla", ["-class:"]),
        ("class:Lin", ["class:Linear"]),
        ("class:norm", ["class:LayerNorm"]),
        ("-CLASS=bertsel", ["-CLASS=BertSelfAttention", "-CLASS=BertSelfOutput"]),
        ("layer:", [f"layer:{number}" for number in range(12)]),
        ("layer:1", ["layer:1", "layer:10", "layer:11"]),
        ("shape:7", ["shape:768", "shape:768x768", "shape:768x3072"]),
        ("shape:768×7", ["shape:768x768"]),
        ("trained:", ["trained:yes", "trained:no"]),
        ("part:att", ["part:attention"]),
        ("name=que", ["name=query"]),
        ("path:enc", ["path:encoder", "path:encoder.layer"]),
        ("par", ["part:", "params>"]),
    ],
)  # fmt: skip
def test_a_term_is_completed(text: str, first: list[str]) -> None:
    assert sorted(offered(text)) == sorted(first)


@pytest.mark.parametrize(
    "text",
    ["", "query", "class:Linear ", "class:Zzz", "layer:11", "params>1", "layer:3-5", "zyx:a"],
)
def test_nothing_is_offered_where_nothing_can_follow(text: str) -> None:
    assert offered(text) == []


def test_the_term_at_the_cursor_is_the_one() -> None:
    assert offered("cla layer:3", 3) == ["class:"]
    assert offered("cla layer:3", 4) == []
    assert offered("layer:3 query", 6)[:2] == ["layer:0", "layer:1"]


def test_what_an_offer_finds_is_said() -> None:
    typed = typed_at("class:Linear", 9)
    assert typed is not None
    (offer,) = FilterSuggestions(ROWS.items).completions(typed)
    assert (offer.text, offer.meaning) == ("class:Linear", "73 modules")
    typed = typed_at("lay", 3)
    assert typed is not None
    (offer,) = FilterSuggestions(ROWS.items).completions(typed)
    assert offer.meaning == "modules in these layers"


_PIECES = st.sampled_from([*(key.name for key in KEYS), *':=<>≥-".x,[] (', "1", "Li", "٣", "s"])


@given(st.lists(_PIECES, max_size=8).map("".join) | st.text(max_size=30), st.integers(0, 40))
def test_whatever_is_typed_what_is_offered_is_understood(text: str, cursor: int) -> None:
    typed = typed_at(text, min(cursor, len(text)))
    if typed is None:
        return
    for offer in FilterSuggestions(ROWS.items).completions(typed):
        if offer.is_complete:
            found = parse_filter(offer.text)
            assert found.error == ""
            assert len(found.terms) == 1


@pytest.fixture
def panel(worker: Worker, qtbot: QtBot) -> ModuleTreePanel:
    workspace = Workspace(worker)
    panel = ModuleTreePanel(workspace)
    qtbot.addWidget(panel)
    panel.resize(400, 600)
    panel.show()
    architecture = plain("bert-base-uncased")
    workspace.architecture = architecture
    workspace.selection.set_tree(fold(architecture))
    workspace.architecture_changed.emit(workspace.architecture)
    panel.activateWindow()
    field = find(panel, QLineEdit, "treeFilter")
    field.setFocus()
    qtbot.waitUntil(field.hasFocus)
    return panel


def shown(panel: ModuleTreePanel) -> list[str]:
    tables = panel.findChildren(QTableView, "treeFilterOffers")
    if not tables or not tables[0].isVisible():
        return []
    model = tables[0].model()
    return [str(model.index(row, 0).data()) for row in range(model.rowCount())]


def test_keys_choose_and_take_an_offer(panel: ModuleTreePanel, qtbot: QtBot) -> None:
    field = find(panel, QLineEdit, "treeFilter")
    qtbot.keyClicks(field, "cla")
    assert shown(panel) == ["class:"]
    qtbot.keyClick(field, Qt.Key.Key_Tab)
    assert field.text() == "class:"
    assert "class:Linear" in shown(panel)
    qtbot.keyClicks(field, "BertSelf")
    qtbot.keyClick(field, Qt.Key.Key_Down)
    qtbot.keyClick(field, Qt.Key.Key_Down)
    assert field.accessibleDescription() == "class:BertSelfOutput, 12 modules"
    qtbot.keyClick(field, Qt.Key.Key_Up)
    qtbot.keyClick(field, Qt.Key.Key_Return)
    assert field.text() == "class:BertSelfAttention"
    assert shown(panel) == []
    assert field.hasFocus()


def test_enter_goes_to_the_next_hit_where_nothing_is_chosen(
    panel: ModuleTreePanel, qtbot: QtBot
) -> None:
    field = find(panel, QLineEdit, "treeFilter")
    view = find(panel, QTreeView, "moduleTree")
    qtbot.keyClicks(field, "layer:1")
    assert shown(panel) == ["layer:1", "layer:10", "layer:11"]
    qtbot.keyClick(field, Qt.Key.Key_Return)
    assert field.text() == "layer:1"
    assert shown(panel) == []
    assert view.currentIndex().data() == "1"


def test_escape_puts_the_offers_away_and_then_clears_the_field(
    panel: ModuleTreePanel, qtbot: QtBot
) -> None:
    field = find(panel, QLineEdit, "treeFilter")
    qtbot.keyClicks(field, "shape:")
    assert "shape:30522x768" in shown(panel)
    qtbot.keyClick(field, Qt.Key.Key_Escape)
    assert shown(panel) == []
    assert field.text() == "shape:"
    assert field.hasFocus()
    qtbot.keyClick(field, Qt.Key.Key_Escape)
    assert field.text() == ""


def test_the_mouse_takes_an_offer(panel: ModuleTreePanel, qtbot: QtBot) -> None:
    field = find(panel, QLineEdit, "treeFilter")
    qtbot.keyClicks(field, "query layer:1")
    table = find(panel, QTableView, "treeFilterOffers")
    place = table.visualRect(table.model().index(1, 0)).center()
    qtbot.mouseClick(table.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert field.text() == "query layer:10"
    assert shown(panel) == []
    assert field.hasFocus()
