"""Completions of the tree's filter: what is offered, and how it is chosen."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QTableView
from pytestqt.qtbot import QtBot

from bertviewer.core.schema.module_tree import fold
from bertviewer.ui.tree.filter import KEYS, parse_filter
from bertviewer.ui.tree.rows import TreeRows
from bertviewer.ui.tree.suggestions import FilterSuggestions, typed_at
from tests.core.opened import plain
from tests.ui.tree.conftest import TreeHarness

ROWS = TreeRows(fold(plain("bert-base-uncased")))


def offered(text: str, cursor: int | None = None) -> dict[str, str]:
    """Return the completions at the cursor, at the end by default, with their meanings."""
    typed = typed_at(text, len(text) if cursor is None else cursor)
    offers = () if typed is None else FilterSuggestions(ROWS.items).completions(typed)
    return {offer.text: offer.meaning for offer in offers}


@pytest.mark.parametrize(
    ("text", "completions"),
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
        *((text, []) for text in ("", "query", "class:Linear ", "class:Zzz", "layer:11")),
        *((text, []) for text in ("params>1", "layer:3-5", "zyx:a")),
    ],
)  # fmt: skip
def test_completions_of_a_term(text: str, completions: list[str]) -> None:
    assert sorted(offered(text)) == sorted(completions)


def test_the_term_at_the_cursor_is_completed() -> None:
    assert [*offered("cla layer:3", 3)] == ["class:"]
    assert [*offered("cla layer:3", 4)] == []
    assert [*offered("layer:3 query", 6)][:2] == ["layer:0", "layer:1"]


def test_meanings_of_completions() -> None:
    assert offered("class:Linear", 9) == {"class:Linear": "73 modules"}
    assert offered("lay", 3) == {"layer:": "modules in these layers"}


_PIECES = st.sampled_from([*(key.name for key in KEYS), *':=<>≥-".x,[] (', "1", "Li", "٣", "s"])


@given(st.lists(_PIECES, max_size=8).map("".join) | st.text(max_size=30), st.integers(0, 40))
def test_complete_terms_are_valid_filters(text: str, cursor: int) -> None:
    typed = typed_at(text, min(cursor, len(text)))
    if typed is None:
        return
    for offer in FilterSuggestions(ROWS.items).completions(typed):
        if offer.is_complete:
            found = parse_filter(offer.text)
            assert found.error == ""
            assert len(found.terms) == 1


def shown(tree: TreeHarness) -> list[str]:
    """Return the completions below the field."""
    tables = tree.window.findChildren(QTableView, "treeFilterOffers")
    if not tables or not tables[0].isVisible():
        return []
    model = tables[0].model()
    return [str(model.index(row, 0).data()) for row in range(model.rowCount())]


def test_keys_choose_a_completion(tree: TreeHarness, qtbot: QtBot) -> None:
    tree.focus()
    qtbot.keyClicks(tree.field, "cla")
    assert shown(tree) == ["class:"]
    tree.press(Qt.Key.Key_Tab)
    assert tree.field.text() == "class:"
    assert "class:Linear" in shown(tree)
    qtbot.keyClicks(tree.field, "BertSelf")
    for _ in range(2):
        tree.press(Qt.Key.Key_Down)
    assert tree.field.accessibleDescription() == "class:BertSelfOutput, 12 modules"
    tree.press(Qt.Key.Key_Up)
    tree.press(Qt.Key.Key_Return)
    assert tree.field.text() == "class:BertSelfAttention"
    assert shown(tree) == []
    assert tree.field.hasFocus()


def test_enter_goes_to_the_next_match_if_no_completion_is_chosen(
    tree: TreeHarness, qtbot: QtBot
) -> None:
    tree.focus()
    qtbot.keyClicks(tree.field, "layer:1")
    assert shown(tree) == ["layer:1", "layer:10", "layer:11"]
    tree.press(Qt.Key.Key_Return)
    assert (tree.field.text(), shown(tree)) == ("layer:1", [])
    assert tree.view.currentIndex().data() == "1"


def test_escape_closes_the_completions_and_then_clears_the_field(
    tree: TreeHarness, qtbot: QtBot
) -> None:
    tree.focus()
    qtbot.keyClicks(tree.field, "shape:")
    assert "shape:30522x768" in shown(tree)
    for text in ("shape:", ""):
        tree.press(Qt.Key.Key_Escape)
        assert shown(tree) == []
        assert tree.field.text() == text
        assert tree.field.hasFocus() or not text


def test_the_mouse_chooses_a_completion(tree: TreeHarness, qtbot: QtBot) -> None:
    tree.focus()
    qtbot.keyClicks(tree.field, "query layer:1")
    (table,) = tree.window.findChildren(QTableView, "treeFilterOffers")
    place = table.visualRect(table.model().index(1, 0)).center()
    qtbot.mouseClick(table.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert tree.field.text() == "query layer:10"
    assert shown(tree) == []
    assert tree.field.hasFocus()
