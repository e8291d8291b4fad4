"""A virtual X display for tests of the real window."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

AVAILABLE = shutil.which("Xvfb") is not None
MANAGED = AVAILABLE and shutil.which("openbox") is not None
"""Whether there can be a window manager too."""


@contextmanager
def virtual_display(width: int = 1600, height: int = 1000) -> Iterator[str]:
    """Run Xvfb and give the name of its display."""
    reading, writing = os.pipe()
    server = subprocess.Popen(
        [
            "Xvfb",
            "-displayfd",
            str(writing),
            "-screen",
            "0",
            f"{width}x{height}x24",
            "-nolisten",
            "tcp",
        ],
        pass_fds=[writing],
        stderr=subprocess.DEVNULL,
    )
    os.close(writing)
    try:
        # Xvfb writes the number that it has found free once it takes connections.
        with os.fdopen(reading) as pipe:
            number = pipe.readline().strip()
        if not number:
            raise RuntimeError("Xvfb did not start")
        yield f":{number}"
    finally:
        server.terminate()
        server.wait(60)


@contextmanager
def window_manager(display: str) -> Iterator[None]:
    """Run openbox on a display: windows have frames, and one of them the keys."""
    manager = subprocess.Popen(
        ["openbox", "--sm-disable"],
        env=os.environ | {"DISPLAY": display},
        stderr=subprocess.DEVNULL,
    )
    try:
        yield
    finally:
        manager.terminate()
        manager.wait(60)
