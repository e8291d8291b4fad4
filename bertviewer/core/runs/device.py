"""Devices on which a sentence can be run: the CPU and the accelerators that torch can use."""

import platform
from collections.abc import Iterable

from msgspec import Struct

from bertviewer.core.util.errors import UserError

CPU = "cpu"


class Device(Struct, frozen=True):
    """A device: torch's name, and a title for the user."""

    name: str
    title: str


def chosen_device(wanted: str, available: Iterable[Device]) -> str:
    """Return the wanted device if it is available, else the CPU."""
    return wanted if any(device.name == wanted for device in available) else CPU


def find_device(name: str) -> str:
    """Return the name of an available device; ``cuda`` is the current CUDA device, as in torch.

    Raises:
        UserError: no such device is available.
    """
    if name == CPU:
        return CPU
    known = [device.name for device in available_devices()]
    if name == "cuda" and any(other.startswith("cuda:") for other in known):
        from bertviewer.core.building.backend import torch

        return f"cuda:{torch.cuda.current_device()}"
    if name not in known:
        raise UserError(f"no device {name!r} here, but {', '.join(known)}")
    return name


def available_devices() -> tuple[Device, ...]:
    """Return the CPU, all CUDA devices and Apple's MPS, as far as they exist."""
    from bertviewer.core.building.backend import torch

    devices = [Device(CPU, f"CPU ({platform.machine()})")]
    if torch.cuda.is_available():
        devices += [
            Device(f"cuda:{number}", f"CUDA {number}: {torch.cuda.get_device_name(number)}")
            for number in range(torch.cuda.device_count())
        ]
    if torch.backends.mps.is_available():
        devices.append(Device("mps", "MPS (Apple GPU)"))
    return tuple(devices)
