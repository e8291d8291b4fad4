"""Menu of devices: sentences run on the chosen one, which is stored."""

import pytest
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu
from pytestqt.qtbot import QtBot

from bertviewer.core.runs.device import Device
from bertviewer.core.sources.model_source import ModelSource
from bertviewer.ui.app.application import make_window
from bertviewer.ui.jobs.worker import Worker
from bertviewer.ui.shell.main_window import MainWindow
from tests.ui.conftest import OPEN_TIMEOUT
from tests.ui.finding import is_drawn, last_run

# torch distinguishes it from "cpu", and every machine has it.
OTHER = Device("cpu:0", "Another device")


def open_demo(window: MainWindow, source: ModelSource, qtbot: QtBot) -> dict[str, QAction]:
    """Open the demo model and return the actions of the menu by their titles."""
    window.open_source(source)
    qtbot.waitUntil(lambda: bool(window.workspace.devices), timeout=OPEN_TIMEOUT)
    menu = next(m for m in window.findChildren(QMenu) if m.title() == "&Device")
    return {action.text(): action for action in menu.actions()}


def test_sentences_run_on_the_chosen_device(
    window: MainWindow,
    demo_source: ModelSource,
    worker: Worker,
    qtbot: QtBot,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    devices = Device("cpu", "CPU"), OTHER
    monkeypatch.setattr("bertviewer.core.runs.device.available_devices", lambda: devices)
    actions = open_demo(window, demo_source, qtbot)
    assert {title: action.isChecked() for title, action in actions.items()} == {
        "CPU": True,
        "Another device": False,
    }
    assert window.workspace.device == "cpu"
    actions["Another device"].trigger()
    window.set_sentence("a test", None)
    window.run()
    qtbot.waitUntil(lambda: is_drawn(window))
    assert last_run(window).device == "cpu:0"
    path = "encoder.layer.1.output.LayerNorm"
    window.workspace.check(path)
    qtbot.waitUntil(lambda: path in window.workspace.runs.checks)
    assert window.workspace.runs.checks[path].failed == ()
    qtbot.waitUntil(lambda: not worker.busy)
    other = make_window(worker)
    qtbot.addWidget(other)
    assert open_demo(other, demo_source, qtbot)["Another device"].isChecked()
    assert other.workspace.device == "cpu:0"
    qtbot.waitUntil(lambda: not worker.busy)
