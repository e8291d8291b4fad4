"""Help: all keys in one list, and what is what."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QApplication, QLabel, QLineEdit, QPushButton, QTableView
from pytestqt.qtbot import QtBot

from bertviewer.ui.action import Action
from bertviewer.ui.actions import ENTRIES
from bertviewer.ui.help.keys_dialog import KeyRow, KeysDialog, key_rows, keys_text
from bertviewer.ui.help.what_is_what import WhatIsWhat
from bertviewer.ui.help_pages import pages
from bertviewer.ui.main_window import MainWindow
from bertviewer.ui.pane_keys import PANE_KEYS
from tests.ui.finding import activate, find


def test_every_key_of_the_table_is_listed() -> None:
    rows = list(key_rows(ENTRIES))
    listed = {keys for row in rows for keys in row.keys.split(", ")}
    for entry in ENTRIES:
        if isinstance(entry, Action):
            assert {QKeySequence(keys).toString() for keys in entry.keys} <= listed
    assert len(rows) == len(set(rows))
    assert KeyRow("File", "Open recent", "Ctrl+1 … Ctrl+9") in rows
    assert KeyRow("Module", "Show Tensors", "Alt+3, Ctrl+I") in rows


@pytest.mark.parametrize("each", PANE_KEYS, ids=lambda each: f"{each.pane}: {each.does}")
def test_keys_of_panes_have_names_that_qt_knows(each: object) -> None:
    assert isinstance(each, type(PANE_KEYS[0]))
    assert all(QKeySequence(keys).toString() == keys for keys in each.keys)


def test_as_text_they_stand_below_one_another() -> None:
    rows = [KeyRow("File", "Open", "Ctrl+O"), KeyRow("File", "Quit", "Q"), KeyRow("Map", "Up", "U")]
    assert keys_text(rows) == "File\n  Ctrl+O  Open\n  Q       Quit\n\nMap\n  U       Up"


@pytest.fixture
def dialog(qtbot: QtBot) -> KeysDialog:
    dialog = KeysDialog(ENTRIES)
    qtbot.addWidget(dialog)
    dialog.show()
    return dialog


def lines(dialog: KeysDialog) -> list[tuple[str, ...]]:
    model = find(dialog, QTableView, "keysTable").model()
    return [tuple(model.index(row, n).data() for n in range(3)) for row in range(model.rowCount())]


def test_they_are_looked_through_by_words_and_keys(dialog: KeysDialog, qtbot: QtBot) -> None:
    field = find(dialog, QLineEdit, "keysFilter")
    qtbot.keyClicks(field, "ctrl+k")
    assert lines(dialog) == [("Go", "Ctrl+K, Ctrl+P", "Search")]
    field.clear()
    qtbot.keyClicks(field, "map up")
    assert ("Map", "Backspace", "Up to what is around it") in lines(dialog)
    qtbot.mouseClick(find(dialog, QPushButton, "copyKeys"), Qt.MouseButton.LeftButton)
    assert QApplication.clipboard().text().startswith("Map\n  ")
    assert "Ctrl+K" not in QApplication.clipboard().text()


def test_keys_are_never_cut(dialog: KeysDialog) -> None:
    table = find(dialog, QTableView, "keysTable")
    for column in (0, 1):
        texts = [line[column] for line in lines(dialog)]
        widest = max(map(table.fontMetrics().horizontalAdvance, texts))
        assert table.columnWidth(column) > widest


def test_f1_lists_them(window: MainWindow, qtbot: QtBot) -> None:
    activate(window, qtbot)
    qtbot.keyClick(window, Qt.Key.Key_F1)
    dialog = find(window, KeysDialog)
    assert dialog.isVisible()
    assert find(dialog, QLineEdit, "keysFilter").hasFocus() or not dialog.isActiveWindow()
    qtbot.keyClick(dialog, Qt.Key.Key_Escape)
    assert not dialog.isVisible()


def test_what_is_what(window: MainWindow) -> None:
    find(window, QAction, "whatIsWhat").trigger()
    page = find(window, WhatIsWhat)
    assert page.isVisible()
    texts = [label.text() for label in page.findChildren(QLabel)]
    assert texts == [text for part in pages() for text in part]
    page.close()
