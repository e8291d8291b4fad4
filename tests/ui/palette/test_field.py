"""What looks like a field in the top bar, and opens the palette."""

import pytest
from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtWidgets import QLineEdit
from pytestqt.qtbot import QtBot

from bertviewer.ui.palette.palette import PaletteField
from bertviewer.ui.palette.popup import PalettePopup
from bertviewer.ui.shell.main_window import MainWindow
from tests.ui.finding import activate, find


@pytest.fixture
def field(window: MainWindow, qtbot: QtBot) -> PaletteField:
    activate(window, qtbot)
    return find(window, PaletteField)


def test_a_click_opens_it_in_its_place(
    window: MainWindow, field: PaletteField, qtbot: QtBot
) -> None:
    qtbot.mouseClick(field, Qt.MouseButton.LeftButton)
    popup = find(window, PalettePopup)
    assert popup.isVisible()
    place = QRect(field.mapTo(window, QPoint(0, 0)), field.size())
    assert popup.geometry().contains(place)
    assert window.rect().contains(popup.geometry())


def test_what_is_typed_on_it_is_taken_along(
    window: MainWindow, field: PaletteField, qtbot: QtBot
) -> None:
    field.setFocus()
    qtbot.keyClicks(field, "g")
    edit = find(window, QLineEdit, "paletteEdit")
    assert edit.hasFocus()
    assert edit.text() == "g"
    qtbot.keyClicks(edit, "pt2")
    assert edit.text() == "gpt2"
    qtbot.keyClick(edit, Qt.Key.Key_Escape)
    assert field.hasFocus()


@pytest.mark.parametrize("key", [Qt.Key.Key_Return, Qt.Key.Key_Space])
def test_so_do_enter_and_the_space_bar(
    window: MainWindow, field: PaletteField, qtbot: QtBot, key: Qt.Key
) -> None:
    field.setFocus()
    qtbot.keyClick(field, key)
    assert find(window, PalettePopup).isVisible()


def test_it_says_what_it_is(field: PaletteField) -> None:
    assert field.accessibleName() == "Search modules, tensors, commands"
    assert field.toolTip().endswith("(Ctrl+K)")
