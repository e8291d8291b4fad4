"""A window is never larger than its screen, whatever it contains."""

from pytestqt.qtbot import QtBot

from bertviewer.ui.shell.main_window import MainWindow, available


def test_larger_type_does_not_take_the_window_beyond_its_screen(
    demo_window: MainWindow, qtbot: QtBot
) -> None:
    room = available(demo_window.screen().availableGeometry()).size()
    demo_window.resize(room)
    for _ in range(6):
        demo_window.step_text_size(1)
    qtbot.waitUntil(lambda: not demo_window.workspace.deferred.pending)
    layout = demo_window.layout()
    assert layout is not None
    qtbot.waitUntil(lambda: demo_window.minimumSize() == layout.totalMinimumSize().boundedTo(room))
    assert demo_window.size() == room
    demo_window.step_text_size(0)
