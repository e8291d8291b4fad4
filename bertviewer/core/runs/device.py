"""Where a sentence can be run: the CPU, and the accelerators that torch can use here."""

import platform
from collections.abc import Iterable

from msgspec import Struct

from bertviewer.core.util.errors import UserError

CPU = "cpu"


class Device(Struct, frozen=True):
    """``name`` is torch's, ``title`` is what a person calls it."""

    name: str
    title: str


def chosen_device(wish: str, available: Iterable[Device]) -> str:
    """Return the device that is wished for if there is one of that name, else the CPU."""
    return wish if any(device.name == wish for device in available) else CPU


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
    """Return the CPU, each CUDA device and Apple's MPS, those that there are."""
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
