"""Two widgets in panes of any shape."""

from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from bertviewer.ui.run.turning_splitter import TurningSplitter


def test_it_turns_with_the_pane_and_shares_it_anew(qtbot: QtBot) -> None:
    first, second = QWidget(), QWidget()
    splitter = TurningSplitter(first, second, (3, 1))
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
