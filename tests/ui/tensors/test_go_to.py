import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from bertviewer.core.tensors.axes import Axis, TokenIndex
from bertviewer.ui.tensors.values_page import RowField

TOKENS = TokenIndex(["[PAD]", "bank", "##ban", "banana", "7", "the"])
# The offscreen platform says this of lists that drop down.
pytestmark = pytest.mark.qt_log_ignore("This plugin does not support")
ENTER = Qt.Key.Key_Return


def shown(qtbot: QtBot, tokens: TokenIndex) -> tuple[RowField, list[int], list[str]]:
    edit = RowField()
    qtbot.addWidget(edit)
    edit.set_axis(Axis(tokens))
    rows: list[int] = []
    missed: list[str] = []
    edit.chosen.connect(rows.append)
    edit.missed.connect(missed.append)
    edit.show()
    return edit, rows, missed


def test_a_number_is_a_row_and_a_text_is_a_token(qapp: QApplication, qtbot: QtBot) -> None:
    edit, rows, missed = shown(qtbot, TOKENS)
    for text in ("3", "7", "the", "bana", "BAN", "nothing", " "):
        edit.clear()
        qtbot.keyClicks(edit, text)
        qtbot.keyClick(edit, ENTER)
    assert rows == [3, 7, 5, 3, 2]
    assert missed == ["nothing"]


def test_tokens_are_offered_while_one_types(qapp: QApplication, qtbot: QtBot) -> None:
    edit, rows, _ = shown(qtbot, TOKENS)
    qtbot.keyClicks(edit, "ban")
    assert edit.offered() == ("##ban   2", "banana   3", "bank   1")
    completer = edit.completer()
    popup = completer.popup()
    assert popup is not None
    assert popup.isVisible()
    qtbot.keyClick(popup, Qt.Key.Key_Down)
    qtbot.keyClick(popup, Qt.Key.Key_Down)
    qtbot.keyClick(popup, ENTER)
    assert rows == [3]
    assert edit.text() == "banana"
    assert not popup.isVisible()


def test_without_tokens_there_are_numbers_only(qapp: QApplication, qtbot: QtBot) -> None:
    edit, rows, missed = shown(qtbot, TokenIndex(()))
    assert edit.placeholderText() == "Go to row"
    qtbot.keyClicks(edit, "12")
    qtbot.keyClick(edit, ENTER)
    qtbot.keyClicks(edit, "x")
    qtbot.keyClick(edit, ENTER)
    assert rows == [12]
    assert missed == ["12x"]


def test_a_number_that_no_tensor_has_is_missed(qapp: QApplication, qtbot: QtBot) -> None:
    edit, rows, missed = shown(qtbot, TOKENS)
    for text in ("2147483648", "9" * 5000):
        edit.setText(text)
        qtbot.keyClick(edit, ENTER)
        assert missed.pop() == text
    assert not rows
