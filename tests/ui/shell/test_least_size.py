"""A window is never larger than its screen, whatever stands in it."""

import pytest
from PySide6.QtCore import QSize
from PySide6.QtWidgets import QMainWindow, QWidget
from pytestqt.qtbot import QtBot

from bertviewer.ui.shell.main_window import MainWindow
from bertviewer.ui.shell.window_geometry import LeastSize, room_on


class Content(QWidget):
    needs = QSize()

    def minimumSizeHint(self) -> QSize:
        return self.needs


@pytest.mark.parametrize(("needs", "has_room"), [(QSize(90, 80), True), (QSize(5000, 80), False)])
def test_a_window_is_as_large_as_its_content_needs_and_its_screen_allows(
    needs: QSize, has_room: bool, qtbot: QtBot
) -> None:
    window, content = QMainWindow(), Content()
    qtbot.addWidget(window)
    LeastSize(window)
    window.setCentralWidget(content)
    window.resize(20, 20)
    window.show()
    content.needs = needs
    content.updateGeometry()
    room = room_on(window.screen().availableGeometry()).size()
    least = QSize(needs if has_room else needs.boundedTo(room))
    qtbot.waitUntil(lambda: window.size() == least)
    qtbot.waitUntil(lambda: content.size() == least)


def test_larger_type_does_not_take_the_window_beyond_its_screen(
    demo_window: MainWindow, qtbot: QtBot
) -> None:
    room = room_on(demo_window.screen().availableGeometry()).size()
    demo_window.resize(room)
    for _ in range(6):
        demo_window.step_text_size(1)
    qtbot.waitUntil(lambda: not demo_window.workspace.deferred.pending)
    layout = demo_window.layout()
    assert layout is not None
    qtbot.waitUntil(lambda: demo_window.minimumSize() == layout.totalMinimumSize().boundedTo(room))
    assert demo_window.size() == room
    demo_window.step_text_size(0)
