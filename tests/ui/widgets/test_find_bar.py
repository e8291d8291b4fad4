"""Search in a text: matches are counted, visited in turn, and highlighted if visible."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QPalette, QTextCursor
from PySide6.QtWidgets import QLabel, QLineEdit, QPlainTextEdit, QToolButton, QWidget
from pytestqt.qtbot import QtBot

from bertviewer.ui.widgets.find_bar import CURRENT, OTHERS, FindBar
from bertviewer.ui.widgets.layouts import vbox
from tests.ui.finding import activate, find


class Page:
    """A text of about eight visible lines, with an open bar above it."""

    def __init__(self, qtbot: QtBot) -> None:
        self.widget, self.text = QWidget(), QPlainTextEdit()
        self.text.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.bar = FindBar(self.text)
        vbox(self.bar, self.text, parent=self.widget)
        self.widget.resize(300, 200)
        qtbot.addWidget(self.widget)
        self.widget.show()
        activate(self.widget, qtbot)
        self.field = find(self.bar, QLineEdit, "findField")

    def search(self, text: str, pattern: str) -> None:
        self.text.setPlainText(text)
        self.bar.open_bar()
        self.field.setText(pattern)

    @property
    def count(self) -> str:
        return find(self.bar, QLabel, "findCount").text()

    @property
    def selected(self) -> str:
        return self.text.textCursor().selectedText()

    @property
    def line(self) -> int:
        return self.text.textCursor().blockNumber()

    def highlighted(self) -> list[int]:
        """Return the lines of the highlighted matches."""
        return [mark.cursor.block().blockNumber() for mark in self.text.extraSelections()]


@pytest.fixture
def page(qtbot: QtBot) -> Page:
    return Page(qtbot)


def test_matches_are_visited_in_turn_by_keys_and_buttons(page: Page, qtbot: QtBot) -> None:
    assert not page.bar.isVisible()
    page.search("Word\nnone\na word\nWORD", "word")
    assert page.bar.isVisible()
    assert page.field.hasFocus()
    shift = Qt.KeyboardModifier.ShiftModifier
    steps = [(page.count, page.line)]
    for modifier in (Qt.KeyboardModifier.NoModifier, shift, shift):
        qtbot.keyClick(page.field, Qt.Key.Key_Return, modifier)
        steps.append((page.count, page.line))
    assert steps == [("1 of 3", 0), ("2 of 3", 2), ("1 of 3", 0), ("3 of 3", 3)]
    find(page.bar, QToolButton, "findBefore").click()
    assert page.count == "2 of 3"
    find(page.bar, QToolButton, "findNext").click()
    assert (page.count, page.selected) == ("3 of 3", "WORD")
    page.field.setText("no such word")
    assert page.count == "not found"
    assert not find(page.bar, QToolButton, "findNext").isEnabled()
    assert page.highlighted() == []
    page.field.setText("none")
    qtbot.keyClick(page.field, Qt.Key.Key_Escape)
    assert not page.bar.isVisible()
    assert page.text.hasFocus()
    assert page.highlighted() == []
    assert page.selected == "none"  # which is searched for next time
    page.field.clear()
    page.bar.open_bar()
    assert (page.field.text(), page.count) == ("none", "1 of 1")


def test_the_search_begins_at_the_cursor(page: Page) -> None:
    page.text.setPlainText("x x x")
    cursor = page.text.textCursor()
    cursor.setPosition(2)
    page.text.setTextCursor(cursor)
    page.bar.open_bar()
    page.field.setText("x")
    assert page.count == "2 of 3"
    assert page.text.textCursor().selectionStart() == 2


def test_only_visible_matches_are_highlighted(page: Page, qtbot: QtBot) -> None:
    page.search("word and word\n" * 5_000, "word")
    assert page.count == "1 of 10,000"
    most = 2 * (page.text.viewport().height() // page.text.fontMetrics().height() + 2)
    assert page.highlighted()[:4] == [0, 0, 1, 1]
    assert len(page.highlighted()) <= most
    shades = {mark.format.background().color().alpha() for mark in page.text.extraSelections()}
    assert shades == {OTHERS, CURRENT}
    page.text.verticalScrollBar().setValue(1_000)
    assert page.highlighted()[:4] == [1_000, 1_000, 1_001, 1_001]
    page.bar.step(-1)
    assert page.count == "10,000 of 10,000"
    assert page.highlighted()[-1] == 4_999
    before = len(page.highlighted())
    assert before <= most
    page.widget.resize(300, 400)
    qtbot.waitUntil(lambda: len(page.highlighted()) > before)
    page.text.setPlainText("a shorter text")
    assert page.count == "not found"
    assert page.highlighted() == []


def test_a_text_and_a_palette_that_change_while_hidden(page: Page) -> None:
    page.search("word\n" * 100, "word")
    page.widget.hide()
    page.text.setPlainText("a word\na word\nnone\n")
    assert page.count == "1 of 2"
    red = QPalette(page.bar.palette())
    red.setColor(QPalette.ColorRole.Accent, QColor("red"))
    page.bar.setPalette(red)
    page.widget.show()
    assert page.highlighted() == [0, 1]
    colors = {mark.format.background().color().rgb() for mark in page.text.extraSelections()}
    assert colors == {QColor("red").rgb()}


@pytest.mark.parametrize(
    ("pattern", "first", "count"),
    [("wört", "Wört", 2), ("a.b", "a.b", 1), ("\U0001f600", "\N{GRINNING FACE}", 1)],
)
def test_positions_are_utf_16_code_units(page: Page, pattern: str, first: str, count: int) -> None:
    page.text.moveCursor(QTextCursor.MoveOperation.Start)
    page.search("# \N{GRINNING FACE} Wört\nwÖrt = 'a.b'  # a+b\n", pattern)
    assert page.selected == first
    assert page.count == f"1 of {count}"
