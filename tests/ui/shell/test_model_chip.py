"""The chip of the open model has room for what it is called."""

from PySide6.QtWidgets import QApplication, QLabel, QToolButton
from pytestqt.qtbot import QtBot

from bertviewer.ui.shell.main_window import MainWindow
from tests.ui.finding import find


def name_of(window: MainWindow) -> QLabel:
    return find(window, QToolButton, "modelChip").findChildren(QLabel)[0]


def has_room(name: QLabel) -> bool:
    return name.width() > name.fontMetrics().horizontalAdvance(name.text()) > 0


def test_without_a_model_it_says_so(window: MainWindow, qtbot: QtBot) -> None:
    name = name_of(window)
    assert name.text() == "No model"
    qtbot.waitUntil(lambda: has_room(name))


def test_larger_type_leaves_the_name_its_room(demo_window: MainWindow, qtbot: QtBot) -> None:
    name = name_of(demo_window)
    demo_window.resize(900, 700)
    usual = name.fontMetrics().height()
    for _ in range(2):
        demo_window.step_text_size(1)
    QApplication.processEvents()
    qtbot.waitUntil(lambda: name.fontMetrics().height() > usual and has_room(name))
    demo_window.step_text_size(0)
