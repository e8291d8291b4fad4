"""Where a sentence can be run: the CPU, and the accelerators that torch can use here."""

import platform

from bertviewer.core.backend import torch
from bertviewer.core.run.device import CPU, Device


def available_devices() -> tuple[Device, ...]:
    """Return the CPU, each CUDA device and Apple's MPS, those that there are."""
    devices = [Device(CPU, f"CPU ({platform.machine()})")]
    if torch.cuda.is_available():
        devices += [
            Device(f"cuda:{number}", f"CUDA {number}: {torch.cuda.get_device_name(number)}")
            for number in range(torch.cuda.device_count())
        ]
    if torch.backends.mps.is_available():
        devices.append(Device("mps", "MPS (Apple GPU)"))
    return tuple(devices)
