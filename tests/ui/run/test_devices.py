"""Choosing where sentences run: remembered, and given up where there is no such device any more."""

import pytest
import torch
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu
from pytestqt.qtbot import QtBot

from bertviewer.core.runs.device import Device, available_devices, chosen_device, find_device
from bertviewer.core.sources.model_source import ModelSource
from bertviewer.core.util.errors import UserError
from bertviewer.ui.app.application import make_window
from bertviewer.ui.jobs.worker import Worker
from bertviewer.ui.shell.main_window import MainWindow
from tests.ui.conftest import OPEN_TIMEOUT
from tests.ui.finding import is_drawn, last_run

# torch tells this from "cpu", and every machine has it.
OTHER = Device("cpu:0", "Another device")


@pytest.fixture
def two_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    found = (Device("cpu", "CPU"), OTHER)
    monkeypatch.setattr("bertviewer.core.runs.device.available_devices", lambda: found)


def open_demo(window: MainWindow, source: ModelSource, qtbot: QtBot) -> None:
    window.open_source(source)
    qtbot.waitUntil(lambda: bool(window.workspace.devices), timeout=OPEN_TIMEOUT)


def choices(window: MainWindow) -> dict[str, QAction]:
    menu = next(m for m in window.findChildren(QMenu) if m.title() == "&Device")
    return {action.text(): action for action in menu.actions()}


def test_the_cpu_is_there_and_chosen(
    window: MainWindow, demo_source: ModelSource, qtbot: QtBot
) -> None:
    open_demo(window, demo_source, qtbot)
    (text, action), *_ = choices(window).items()
    assert text.startswith("CPU")
    assert action.isChecked()
    assert window.workspace.device == "cpu"


@pytest.mark.usefixtures("two_devices")
def test_a_sentence_runs_on_the_chosen_device_and_is_looked_into_there(
    window: MainWindow, demo_source: ModelSource, worker: Worker, qtbot: QtBot
) -> None:
    open_demo(window, demo_source, qtbot)
    assert list(choices(window)) == ["CPU", "Another device"]
    choices(window)["Another device"].trigger()
    window.set_sentence("a test", None)
    window.run()
    qtbot.waitUntil(lambda: is_drawn(window))
    assert last_run(window).device == "cpu:0"
    window.workspace.check("encoder.layer.1.output.LayerNorm")
    qtbot.waitUntil(lambda: bool(window.workspace.runs.checks))
    assert window.workspace.runs.checks["encoder.layer.1.output.LayerNorm"].failed == ()
    qtbot.waitUntil(lambda: not worker.busy)


@pytest.mark.usefixtures("two_devices")
def test_the_choice_is_remembered(
    window: MainWindow, demo_source: ModelSource, worker: Worker, qtbot: QtBot
) -> None:
    open_demo(window, demo_source, qtbot)
    choices(window)["Another device"].trigger()
    qtbot.waitUntil(lambda: not worker.busy)
    again = make_window(worker)
    qtbot.addWidget(again)
    open_demo(again, demo_source, qtbot)
    assert again.workspace.device == "cpu:0"
    assert choices(again)["Another device"].isChecked()
    qtbot.waitUntil(lambda: not worker.busy)


def test_a_device_that_is_gone_gives_way_to_the_cpu() -> None:
    assert chosen_device("cuda:1", [Device("cpu", "CPU"), Device("cuda:0", "One")]) == "cpu"
    assert chosen_device("cuda:0", [Device("cpu", "CPU"), Device("cuda:0", "One")]) == "cuda:0"


def test_torch_is_asked_for_accelerators(monkeypatch: pytest.MonkeyPatch) -> None:
    cuda = torch.cuda
    monkeypatch.setattr(cuda, "is_available", lambda: True)
    monkeypatch.setattr(cuda, "device_count", lambda: 2)
    monkeypatch.setattr(cuda, "get_device_name", lambda number: f"Card {number}")
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    names = [(device.name, device.title) for device in available_devices()]
    assert names[0][0] == "cpu"
    assert names[1:] == [
        ("cuda:0", "CUDA 0: Card 0"),
        ("cuda:1", "CUDA 1: Card 1"),
        ("mps", "MPS (Apple GPU)"),
    ]


def test_cuda_is_the_current_one(monkeypatch: pytest.MonkeyPatch) -> None:
    known = [Device("cpu", "CPU")]
    monkeypatch.setattr("bertviewer.core.runs.device.available_devices", lambda: known)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 1)
    assert find_device("cpu") == "cpu"
    for name in ("cuda", "cuda:0", "gpu"):
        with pytest.raises(UserError, match=f"^no device '{name}' here, but cpu$"):
            find_device(name)
    known += [Device("cuda:0", "One"), Device("cuda:1", "Two")]
    assert find_device("cuda") == "cuda:1"
    assert find_device("cuda:0") == "cuda:0"
