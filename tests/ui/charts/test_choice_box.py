"""A list to choose from, in little room."""

from PySide6.QtCore import QEvent, QPoint
from PySide6.QtGui import QHelpEvent
from PySide6.QtWidgets import QApplication, QToolTip
from pytestqt.qtbot import QtBot

from bertviewer.ui.charts.choice_box import ChoiceBox
from tests.ui.test_elided_label import read


def test_a_choice_that_is_cut_is_told_whole(qtbot: QtBot) -> None:
    box = ChoiceBox("choice", "What is shown", 8)
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


def ask(box: ChoiceBox) -> str:
    """Return what is told under the mouse."""
    QToolTip.hideText()
    at = QPoint(5, 5)
    QApplication.sendEvent(box, QHelpEvent(QEvent.Type.ToolTip, at, box.mapToGlobal(at)))
    return read(QToolTip.text())
