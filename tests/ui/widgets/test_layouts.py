"""Splitter that is vertical in narrow panes."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from bertviewer.ui.widgets.layouts import ResponsiveSplitter

LINES = 40


@pytest.fixture
def splitter(qtbot: QtBot) -> ResponsiveSplitter:
    splitter = ResponsiveSplitter(QWidget(), QWidget(), (3, 1), LINES)
    qtbot.addWidget(splitter)
    splitter.resize(LINES * splitter.fontMetrics().height(), 300)
    splitter.show()
    return splitter


def test_it_follows_the_shape_of_the_pane_in_the_same_proportions(
    splitter: ResponsiveSplitter,
) -> None:
    width = splitter.width()
    for size, is_vertical in (
        ((width - 1, 300), True),
        ((width, width + 1), True),
        ((width, 300), False),
    ):
        splitter.setSizes([1, 3])
        splitter.resize(*size)
        assert (splitter.orientation() == Qt.Orientation.Vertical) == is_vertical
        first, second = splitter.sizes()
        assert 2.5 < first / second < 3.5


def test_larger_text_makes_a_pane_narrow(splitter: ResponsiveSplitter) -> None:
    assert splitter.orientation() == Qt.Orientation.Horizontal
    font = splitter.font()
    font.setPixelSize(2 * splitter.fontMetrics().height())
    splitter.setFont(font)
    assert splitter.orientation() == Qt.Orientation.Vertical
