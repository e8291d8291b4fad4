"""Of a switch one button is down, and a press tells which."""

from pytestqt.qtbot import QtBot

from bertviewer.ui.widgets.buttons import SegmentedControl, tool_button


def test_one_button_is_down_and_only_a_press_tells(qtbot: QtBot) -> None:
    buttons = [tool_button(name, name) for name in ("flow", "areas")]
    switch = SegmentedControl(buttons)
    qtbot.addWidget(switch)
    told: list[str] = []
    switch.turned.connect(told.append)
    switch.choose("flow")
    assert (switch.chosen, told) == ("flow", [])
    buttons[1].click()
    assert (switch.chosen, told) == ("areas", ["areas"])
    assert not buttons[0].isChecked()
    switch.choose("flow")
    assert (switch.chosen, told) == ("flow", ["areas"])
