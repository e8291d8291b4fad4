"""Devices: those of torch, the chosen one, and the device that a name means."""

import pytest
import torch

from bertviewer.core.runs.device import Device, available_devices, chosen_device, find_device
from bertviewer.core.util.errors import UserError


def test_devices_are_those_of_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda number: f"Card {number}")
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    cpu, *others = ((device.name, device.title) for device in available_devices())
    assert cpu[0] == "cpu"
    assert others == [
        ("cuda:0", "CUDA 0: Card 0"),
        ("cuda:1", "CUDA 1: Card 1"),
        ("mps", "MPS (Apple GPU)"),
    ]


def test_a_chosen_device_that_does_not_exist_is_the_cpu() -> None:
    devices = [Device("cpu", "CPU"), Device("cuda:0", "One")]
    assert chosen_device("cuda:1", devices) == "cpu"
    assert chosen_device("cuda:0", devices) == "cuda:0"


def test_cuda_is_the_current_card(monkeypatch: pytest.MonkeyPatch) -> None:
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
