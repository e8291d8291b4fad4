"""Combo box that is as wide as its choice, and the exchange of its items."""

from PySide6.QtCore import QEvent, QPoint
from PySide6.QtGui import QHelpEvent
from PySide6.QtWidgets import QApplication, QComboBox, QToolTip, QWidget
from pytestqt.qtbot import QtBot

from bertviewer.ui.views.choice_box import ChoiceBox, offer
from bertviewer.ui.widgets.layouts import STRETCH, hbox
from tests.ui.widgets.test_labels import plain_text


def shown_tooltip(box: ChoiceBox) -> str:
    QToolTip.hideText()
    position = QPoint(5, 5)
    event = QHelpEvent(QEvent.Type.ToolTip, position, box.mapToGlobal(position))
    QApplication.sendEvent(box, event)
    return plain_text(QToolTip.text())


def test_an_elided_choice_is_in_the_tooltip(qtbot: QtBot) -> None:
    box = ChoiceBox("choice", "What is shown")
    qtbot.addWidget(box)
    box.addItems(["attention.output.<dense>", "std"])
    box.resize(90, 26)
    box.show()
    assert box.shown_text.endswith("…")
    assert shown_tooltip(box) == "attention.output.<dense>\nWhat is shown"
    picture = box.grab().toImage()
    box.setCurrentIndex(1)
    assert box.shown_text == "std"
    assert shown_tooltip(box) == "What is shown"
    assert box.grab().toImage() != picture


def test_the_width_follows_the_choice_and_long_ones_give_way(qtbot: QtBot) -> None:
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


def test_offered_items_keep_the_choice_and_emit_nothing(qtbot: QtBot) -> None:
    box = QComboBox()
    qtbot.addWidget(box)
    emitted: list[int] = []
    offer(box, (("all", None), ("first", 1), ("second", 2)))
    box.setCurrentIndex(2)
    box.currentIndexChanged.connect(emitted.append)
    offer(box, (("second", 2), ("third", 3)))
    assert (box.currentText(), box.currentData()) == ("second", 2)
    offer(box, (("third", 3), ("fourth", 4)), 1)
    assert (box.count(), box.currentData()) == (2, 4)
    offer(box, ())
    assert (box.count(), emitted) == (0, [])
