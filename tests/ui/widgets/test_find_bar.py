"""Finding a text in the source: all matches, marked where they are in sight."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QPalette, QTextCursor
from PySide6.QtWidgets import (
    QLabel,
    QLineEdit,
    QTextEdit,
    QToolButton,
    QVBoxLayout,
    QWidget,
)
from pytestqt.qtbot import QtBot

from bertviewer.core.building.source_code import SourceCode
from bertviewer.ui.module.source_view import SourceView
from bertviewer.ui.shell.main_window import MainWindow
from bertviewer.ui.widgets.find_bar import CURRENT, OTHERS, FindBar
from tests.ui.finding import find
from tests.ui.module.source_in_sight import CODE, source_tab


def test_a_text_is_found_in_the_source(demo_window: MainWindow, qtbot: QtBot) -> None:
    window = demo_window
    window.workspace.selection.select("encoder.layer.1.attention.self")
    _, view = source_tab(window)
    bar, field = find(window, FindBar, "findBar"), find(window, QLineEdit, "findField")
    count = find(window, QLabel, "findCount")
    assert not bar.isVisible()
    window.activateWindow()
    view.setFocus()
    qtbot.waitUntil(view.hasFocus)
    # Elsewhere it filters the tree.
    qtbot.keyClick(view, Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)
    assert bar.isVisible()
    assert field.hasFocus()
    qtbot.keyClicks(field, "SELF.query")
    hits = view.toPlainText().lower().count("self.query")
    assert hits > 1
    assert count.text() == f"1 of {hits}"
    assert 0 < len(view.extraSelections()) <= hits
    assert view.textCursor().selectedText() == "self.query"
    first = view.textCursor().position()
    qtbot.keyClick(field, Qt.Key.Key_Return)
    assert count.text() == f"2 of {hits}"
    assert view.textCursor().position() > first
    qtbot.keyClick(field, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    assert view.textCursor().position() == first
    qtbot.mouseClick(find(window, QToolButton, "findBefore"), Qt.MouseButton.LeftButton)
    assert count.text() == f"{hits} of {hits}"
    qtbot.keyClicks(field, "no such text")
    assert count.text() == "not found"
    assert not find(window, QToolButton, "findNext").isEnabled()
    assert view.extraSelections() == []

    # Another class is looked through as well.
    field.setText("class LayerNorm")
    window.workspace.selection.select("embeddings.LayerNorm")
    assert count.text() == "1 of 1"
    qtbot.keyClick(field, Qt.Key.Key_Escape)
    assert not bar.isVisible()
    assert view.hasFocus()
    assert view.extraSelections() == []
    assert view.textCursor().selectedText() == "class LayerNorm"


def test_the_selected_text_is_searched(qtbot: QtBot) -> None:
    view = SourceView()
    bar = FindBar(view)
    for widget in (view, bar):
        qtbot.addWidget(widget)
    view.show_source([("", SourceCode("Kind", "a.py", "a", "1", 1, CODE))])
    cursor = view.document().find("x")
    view.setTextCursor(cursor)
    bar.open_bar()
    assert find(bar, QLineEdit, "findField").text() == "x"
    # The second x of "return x @ 2" comes after the parameter's.
    assert find(bar, QLabel, "findCount").text() == "1 of 2"
    bar.step(1)
    assert view.textCursor().block().text().strip().startswith("return x")
    bar.step(1)
    assert view.textCursor() == cursor


@pytest.fixture
def page(qtbot: QtBot) -> QWidget:
    """Return an empty window."""
    page = QWidget()
    qtbot.addWidget(page)
    return page


def found_in(text: str, page: QWidget) -> tuple[SourceView, FindBar]:
    """Return a view of 8 lines or so on the text, and its bar, opened."""
    view = SourceView()
    bar = FindBar(view)
    layout = QVBoxLayout(page)
    layout.addWidget(bar)
    layout.addWidget(view)
    page.resize(300, 200)
    page.show()
    view.show_source([("", SourceCode("Kind", "a.py", "a", "1", 1, text))])
    bar.open_bar()
    return view, bar


def marked_lines(view: SourceView) -> list[int]:
    marks: list[QTextEdit.ExtraSelection] = view.extraSelections()
    return [mark.cursor.block().blockNumber() for mark in marks]


def test_only_visible_matches_are_highlighted(page: QWidget, qtbot: QtBot) -> None:
    view, bar = found_in("word and word\n" * 5_000, page)
    find(bar, QLineEdit, "findField").setText("word")
    assert find(bar, QLabel, "findCount").text() == "1 of 10,000"
    lines = view.viewport().height() // view.fontMetrics().height() + 2
    top = marked_lines(view)
    assert top[:4] == [0, 0, 1, 1]
    assert len(top) <= 2 * lines
    # Those that scrolling or a step brings into sight are marked as well.
    view.verticalScrollBar().setValue(1_000)
    assert marked_lines(view)[:4] == [1_000, 1_000, 1_001, 1_001]
    bar.step(-1)
    assert find(bar, QLabel, "findCount").text() == "10,000 of 10,000"
    assert marked_lines(view)[-1] == 4_999
    assert len(marked_lines(view)) <= 2 * lines
    # A larger view has more of them.
    before = len(marked_lines(view))
    page.resize(300, 400)
    qtbot.waitUntil(lambda: len(marked_lines(view)) > before)
    shades = {mark.format.background().color().alpha() for mark in view.extraSelections()}
    assert shades == {OTHERS, CURRENT}
    # A shorter text has none of those places.
    view.show_source([("", SourceCode("Kind", "a.py", "a", "1", 1, CODE))])
    assert find(bar, QLabel, "findCount").text() == "not found"
    assert view.extraSelections() == []


def test_a_text_that_changed_while_hidden_is_searched_again(page: QWidget) -> None:
    view, bar = found_in("word\n" * 100, page)
    find(bar, QLineEdit, "findField").setText("word")
    page.hide()
    view.show_source([("", SourceCode("Kind", "a.py", "a", "1", 1, "a word\na word\nnone\n"))])
    assert find(bar, QLabel, "findCount").text() == "1 of 2"
    red = QPalette(bar.palette())
    red.setColor(QPalette.ColorRole.Accent, QColor("red"))
    bar.setPalette(red)
    page.show()
    assert marked_lines(view) == [0, 1]
    colors = {mark.format.background().color().rgb() for mark in view.extraSelections()}
    assert colors == {QColor("red").rgb()}
    bar.step(1)
    assert view.textCursor().blockNumber() == 1


def test_positions_are_utf_16_code_units(page: QWidget) -> None:
    view, bar = found_in("# \N{GRINNING FACE} Wört\nwÖrt = 'a.b'  # a+b\n", page)
    field = find(bar, QLineEdit, "findField")
    for words, first, count in (("wört", "Wört", 2), ("a.b", "a.b", 1), ("\U0001f600", "😀", 1)):
        view.moveCursor(QTextCursor.MoveOperation.Start)
        field.setText(words)
        assert view.textCursor().selectedText() == first
        assert find(bar, QLabel, "findCount").text() == f"1 of {count}"
