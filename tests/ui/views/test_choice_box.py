"""A list to choose from, in little room."""

from PySide6.QtCore import QEvent, QPoint
from PySide6.QtGui import QHelpEvent
from PySide6.QtWidgets import QApplication, QComboBox, QToolTip, QWidget
from pytestqt.qtbot import QtBot

from bertviewer.ui.views.choice_box import ChoiceBox, offer
from bertviewer.ui.widgets.layouts import STRETCH, hbox
from tests.ui.widgets.test_labels import read


def test_a_choice_that_is_cut_is_told_whole(qtbot: QtBot) -> None:
    box = ChoiceBox("choice", "What is shown")
    qtbot.addWidget(box)
    box.addItems(["attention.output.<dense>", "std"])
    box.resize(90, 26)
    box.show()
    assert box.shown_text.endswith("…")
    assert ask(box) == "attention.output.<dense>\nWhat is shown"
    box.setCurrentIndex(1)
    assert box.shown_text == "std"
    assert ask(box) == "What is shown"
    # It is drawn as far as it has room.
    drawn = box.grab().toImage()
    box.setItemText(1, "st")
    assert box.grab().toImage() != drawn


def test_a_choice_has_room_for_its_text_and_a_long_one_gives_way(qtbot: QtBot) -> None:
    line, long, short = QWidget(), ChoiceBox("long", "Which"), ChoiceBox("short", "How")
    hbox(long, short, STRETCH, parent=line, spacing=4)
    qtbot.addWidget(line)
    long.addItem("encoder.layer.0.attention.self")
    offer(short, (("all tokens", 0), ("content", 1)))
    line.resize(600, 30)
    line.show()
    assert (long.shown_text, short.shown_text) == (long.currentText(), "all tokens")
    before = short.width()
    short.setCurrentIndex(1)
    qtbot.waitUntil(lambda: short.width() < before)
    assert short.shown_text == "content"
    offer(short, (("somewhere else", 2),))
    qtbot.waitUntil(lambda: short.shown_text == "somewhere else")
    line.resize(line.minimumSizeHint().width(), 30)
    assert line.width() < 300
    assert len(long.shown_text) > 5


def ask(box: ChoiceBox) -> str:
    """Return what is told under the mouse."""
    QToolTip.hideText()
    at = QPoint(5, 5)
    QApplication.sendEvent(box, QHelpEvent(QEvent.Type.ToolTip, at, box.mapToGlobal(at)))
    return read(QToolTip.text())


def test_what_is_offered_is_exchanged_and_the_choice_stays_where_it_can(qtbot: QtBot) -> None:
    box = QComboBox()
    qtbot.addWidget(box)
    told: list[int] = []
    offer(box, (("all", None), ("first", 1), ("second", 2)))
    box.setCurrentIndex(2)
    box.currentIndexChanged.connect(told.append)
    offer(box, (("second", 2), ("third", 3)))
    assert (box.currentText(), box.currentData()) == ("second", 2)
    offer(box, (("third", 3), ("fourth", 4)), 1)
    assert (box.count(), box.currentData()) == (2, 4)
    offer(box, ())
    assert (box.count(), told) == (0, [])
