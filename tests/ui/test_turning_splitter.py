"""Two widgets in panes of any shape."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from bertviewer.ui.widgets.layouts import ResponsiveSplitter


def test_it_turns_with_the_pane_and_shares_it_anew(qtbot: QtBot) -> None:
    first, second = QWidget(), QWidget()
    splitter = ResponsiveSplitter(first, second, (3, 1))
    qtbot.addWidget(splitter)
    splitter.resize(800, 400)
    with qtbot.waitExposed(splitter):
        splitter.show()
    assert 2.5 < first.width() / second.width() < 3.5
    assert first.height() == second.height() == 400
    splitter.setSizes([1, 3])
    splitter.resize(300, 800)
    assert first.width() == second.width() == 300
    assert 2.5 < first.height() / second.height() < 3.5
    splitter.resize(800, 400)
    assert 2.5 < first.width() / second.width() < 3.5


def test_in_a_narrow_pane_they_stand_above_one_another(qtbot: QtBot) -> None:
    first, second = QWidget(), QWidget()
    splitter = ResponsiveSplitter(first, second, (1, 1), 40)
    qtbot.addWidget(splitter)
    narrow = 40 * splitter.fontMetrics().height() - 1
    splitter.resize(narrow, 300)
    with qtbot.waitExposed(splitter):
        splitter.show()
    assert first.width() == second.width() == narrow
    splitter.resize(narrow + 1, 300)
    assert first.height() == second.height() == 300


def test_larger_text_makes_a_pane_narrow(qtbot: QtBot) -> None:
    first, second = QWidget(), QWidget()
    splitter = ResponsiveSplitter(first, second, (1, 1), 40)
    qtbot.addWidget(splitter)
    splitter.resize(40 * splitter.fontMetrics().height(), 300)
    with qtbot.waitExposed(splitter):
        splitter.show()
    assert first.height() == 300
    font = splitter.font()
    font.setPixelSize(2 * splitter.fontMetrics().height())
    splitter.setFont(font)
    assert splitter.orientation() == Qt.Orientation.Vertical
