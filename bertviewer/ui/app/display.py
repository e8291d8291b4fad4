"""Check that a window can open, before Qt tries and aborts the process."""

import ctypes
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import PySide6

from bertviewer.core.util.errors import UserError
from bertviewer.core.util.installation import INSTALL_HINT

_HEADLESS = ("offscreen", "minimal")
_INSTEAD = "use 'bertviewer report MODEL -o FILE.pdf' instead, which needs no display"
PROBE_SECONDS = 20
CONNECT_SECONDS = 1.0
"""How long the connection to a display is tried."""


@contextmanager
def checked_display(seconds: float = CONNECT_SECONDS) -> Iterator[None]:
    """Check that a window can open; create the ``QApplication`` inside this context.

    The connection to an X server is tried for ``seconds``.

    Raises:
        UserError: there is no display, it does not answer, or system libraries are missing.
    """
    platform = os.environ.get("QT_QPA_PLATFORM", "").partition(":")[0]
    if sys.platform != "linux" or platform in _HEADLESS:
        yield
        return
    display = os.environ.get("DISPLAY")
    if not platform and not display and not os.environ.get("WAYLAND_DISPLAY"):
        raise UserError(f"no display; {_INSTEAD}")
    if display and platform in ("", "xcb") and not os.environ.get("WAYLAND_DISPLAY"):
        _load_xcb_plugin()
        with x_connection(display, seconds):
            yield
        return
    _probe()
    yield


def _probe() -> None:
    """Let Qt try in a child process: for Wayland and rarer platforms nothing is cheaper."""
    if getattr(sys, "frozen", False):
        return  # a bundle has no interpreter
    import subprocess

    code = "from PySide6.QtGui import QGuiApplication; QGuiApplication([])"
    try:
        tried = subprocess.run(
            [sys.executable, "-c", code],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            timeout=PROBE_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise UserError(f"the display does not answer; {_INSTEAD}") from error
    if tried.returncode:
        lines = tried.stderr.decode(errors="replace").strip().splitlines()
        reason = f" ({lines[0]})" if lines else ""
        raise UserError(f"Qt cannot open a window here{reason}; {_INSTEAD}")


def _load_xcb_plugin() -> None:
    plugin = Path(PySide6.__file__).parent / "Qt/plugins/platforms/libqxcb.so"
    try:
        ctypes.CDLL(str(plugin))
    except OSError as error:
        library = str(error).partition(":")[0]
        raise UserError(
            f"Qt cannot open a window: {library} is missing; {INSTALL_HINT}, or {_INSTEAD}"
        ) from error


@contextmanager
def x_connection(display: str, seconds: float) -> Iterator[None]:
    """Keep a connection to the X server, which is tried for ``seconds``.

    A server without a desktop restarts when its last client leaves, and refuses connections
    meanwhile. So this one is kept until Qt is connected.

    Raises:
        UserError: it does not answer.
    """
    xcb = ctypes.CDLL("libxcb.so.1")
    xcb.xcb_connect.restype = ctypes.c_void_p
    deadline = time.monotonic() + seconds
    while True:
        connection = ctypes.c_void_p(xcb.xcb_connect(None, None))
        if not xcb.xcb_connection_has_error(connection):
            break
        xcb.xcb_disconnect(connection)
        if time.monotonic() > deadline:
            raise UserError(f"the display {display} does not answer; {_INSTEAD}")
        time.sleep(0.05)
    try:
        yield
    finally:
        xcb.xcb_disconnect(connection)
