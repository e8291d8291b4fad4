"""A device by its name: plain data, for the window."""

from collections.abc import Iterable
from dataclasses import dataclass

CPU = "cpu"


@dataclass(frozen=True, slots=True)
class Device:
    """``name`` is torch's, ``title`` is what a person calls it."""

    name: str
    title: str


def chosen_device(wish: str, available: Iterable[Device]) -> str:
    """Return the device that is wished for if there is one of that name, else the CPU."""
    return wish if any(device.name == wish for device in available) else CPU
