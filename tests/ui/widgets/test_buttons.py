"""Segmented control: one button is checked, and only clicks emit a signal."""

from pytestqt.qtbot import QtBot

from bertviewer.ui.widgets.buttons import SegmentedControl, tool_button


def test_one_button_is_checked_and_only_a_click_emits(qtbot: QtBot) -> None:
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
