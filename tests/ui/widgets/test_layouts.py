"""Splitter that is vertical in narrow panes, and buttons of which one is checked."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from bertviewer.ui.widgets.buttons import SegmentedControl, tool_button
from bertviewer.ui.widgets.layouts import ResponsiveSplitter

LINES = 40


def test_the_splitter_is_vertical_in_narrow_panes_with_the_same_proportions(qtbot: QtBot) -> None:
    splitter = ResponsiveSplitter(QWidget(), QWidget(), (3, 1), LINES)
    qtbot.addWidget(splitter)
    width = LINES * splitter.fontMetrics().height()
    splitter.resize(width, 300)
    splitter.show()
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
    font = splitter.font()
    font.setPixelSize(2 * splitter.fontMetrics().height())
    splitter.setFont(font)  # larger text makes the pane narrow
    assert splitter.orientation() == Qt.Orientation.Vertical


def test_only_a_click_on_a_segment_emits_a_signal(qtbot: QtBot) -> None:
    buttons = [tool_button(name, name) for name in ("flow", "areas")]
    control = SegmentedControl(buttons)
    qtbot.addWidget(control)
    emitted: list[str] = []
    control.turned.connect(emitted.append)
    control.choose("flow")
    assert (control.chosen, emitted) == ("flow", [])
    buttons[1].click()
    assert (control.chosen, emitted) == ("areas", ["areas"])
    assert not buttons[0].isChecked()
