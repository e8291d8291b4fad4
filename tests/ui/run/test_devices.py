"""Menu of devices: sentences run on the chosen one, which is stored."""

import pytest
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu
from pytestqt.qtbot import QtBot

from bertviewer.core.runs.device import Device
from bertviewer.ui.app.application import make_window
from bertviewer.ui.jobs.worker import Worker
from bertviewer.ui.shell.main_window import MainWindow
from tests.ui.finding import is_drawn, last_run

# torch distinguishes it from "cpu", and every machine has it.
DEVICES = Device("cpu", "CPU"), Device("cpu:0", "Another device")


@pytest.fixture
def _two_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bertviewer.core.runs.device.available_devices", lambda: DEVICES)


def actions(window: MainWindow) -> dict[str, QAction]:
    menu = next(m for m in window.findChildren(QMenu) if m.title() == "&Device")
    return {action.text(): action for action in menu.actions()}


@pytest.mark.usefixtures("_two_devices")
def test_sentences_run_on_the_chosen_device(
    demo_window: MainWindow, worker: Worker, qtbot: QtBot
) -> None:
    workspace = demo_window.workspace
    qtbot.waitUntil(lambda: bool(workspace.devices) and not worker.busy)
    assert {title: action.isChecked() for title, action in actions(demo_window).items()} == {
        "CPU": True,
        "Another device": False,
    }
    assert workspace.device == "cpu"
    actions(demo_window)["Another device"].trigger()
    demo_window.set_sentence("a test", None)
    demo_window.run()
    qtbot.waitUntil(lambda: is_drawn(demo_window))
    assert last_run(demo_window).device == "cpu:0"
    path = "encoder.layer.1.output.LayerNorm"
    workspace.check(path)
    qtbot.waitUntil(lambda: path in workspace.runs.checks)
    assert workspace.runs.checks[path].failed == ()
    qtbot.waitUntil(lambda: not worker.busy)
    other = make_window(worker)
    qtbot.addWidget(other)
    other.workspace.devices = DEVICES
    other.workspace.devices_changed.emit()
    assert other.workspace.device == "cpu:0"
    assert actions(other)["Another device"].isChecked()
