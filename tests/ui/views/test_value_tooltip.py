"""The value under the mouse is read as a whole, and stays inside of its pane."""

import pytest
from PySide6.QtCore import QPoint
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from bertviewer.ui.views.value_tooltip import MAX_LENGTH, ValueTooltip

TEXT = "<s> (token 0), bank (token 2): 0.1234567"


@pytest.fixture
def pane(qtbot: QtBot) -> QWidget:
    pane = QWidget()
    qtbot.addWidget(pane)
    pane.resize(300, 160)
    pane.show()
    return pane


@pytest.mark.parametrize("pointer", [QPoint(0, 0), QPoint(299, 159), QPoint(150, 2), QPoint(2, 90)])
@pytest.mark.parametrize("text", [TEXT, "long words " * 12 + ": 0.5"])
def test_all_of_it_is_inside(pane: QWidget, pointer: QPoint, text: str) -> None:
    readout = ValueTooltip(pane)
    readout.show_text(text, pointer)
    assert readout.isVisible()
    assert readout.text() == text
    assert pane.rect().contains(readout.geometry())
    assert readout.height() >= readout.heightForWidth(readout.width())
    assert not readout.geometry().contains(pointer)


def test_it_goes_with_the_mouse(pane: QWidget) -> None:
    readout = ValueTooltip(pane)
    readout.show_text(TEXT, QPoint(10, 10))
    readout.show_text("", QPoint(10, 10))
    assert not readout.isVisible()


def test_of_a_very_long_token_both_ends_are_left(pane: QWidget) -> None:
    readout = ValueTooltip(pane)
    readout.show_text(f"{'a' * 10_000}: 0.1234567", QPoint(10, 10))
    assert len(readout.text()) <= MAX_LENGTH + 1
    assert readout.text().startswith("aaa")
    assert readout.text().endswith("a: 0.1234567")
