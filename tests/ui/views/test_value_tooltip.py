"""Tooltip of a chart: all of its text is visible, inside the pane and off the pointer."""

import pytest
from PySide6.QtCore import QPoint
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from bertviewer.ui.views.value_tooltip import MAX_LENGTH, ValueTooltip


@pytest.fixture
def tooltip(qtbot: QtBot) -> ValueTooltip:
    """Return the tooltip of a pane of 300 × 160 pixels."""
    pane = QWidget()
    qtbot.addWidget(pane)
    pane.resize(300, 160)
    pane.show()
    return ValueTooltip(pane)


@pytest.mark.parametrize("text", ["<s> (token 0): 0.1234567", "long words " * 12 + ": 0.5"])
def test_it_is_inside_the_pane_and_next_to_the_pointer(tooltip: ValueTooltip, text: str) -> None:
    pane = tooltip.parentWidget()
    assert pane is not None
    for pointer in (QPoint(0, 0), QPoint(299, 159), QPoint(150, 2), QPoint(2, 90)):
        tooltip.show_text(text, pointer)
        assert tooltip.isVisible()
        assert tooltip.text() == text
        assert pane.rect().contains(tooltip.geometry())
        assert tooltip.height() >= tooltip.heightForWidth(tooltip.width())
        assert not tooltip.geometry().contains(pointer)
    tooltip.show_text("", QPoint(10, 10))
    assert not tooltip.isVisible()


def test_both_ends_of_a_very_long_token_are_shown(tooltip: ValueTooltip) -> None:
    tooltip.show_text(f"{'a' * 10_000}: 0.1234567", QPoint(10, 10))
    assert len(tooltip.text()) <= MAX_LENGTH + 1
    assert tooltip.text().startswith("aaa")
    assert tooltip.text().endswith("a: 0.1234567")
