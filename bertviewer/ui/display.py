"""Finds out whether a window can open, before Qt tries and aborts the process."""

import ctypes
import os
import socket
import sys
from pathlib import Path

import PySide6

from bertviewer.core.errors import UserError
from bertviewer.core.system_libraries import INSTALL_HINT

_HEADLESS = ("offscreen", "minimal", "vnc", "linuxfb", "eglfs")
_INSTEAD = "use 'bertviewer report MODEL -o FILE.pdf' instead, which needs no display"


def check_display() -> None:
    """Return if a window can open.

    Raises:
        UserError: there is no display, it does not answer, or system libraries are missing.
    """
    if sys.platform != "linux":
        return
    platform = os.environ.get("QT_QPA_PLATFORM", "").partition(":")[0].partition(";")[0]
    if platform in _HEADLESS or (platform in ("", "wayland") and _wayland_answers()):
        return
    display = os.environ.get("DISPLAY")
    if not display:
        raise UserError(f"no display; {_INSTEAD}")
    _load_xcb_plugin()
    if not _x_server_answers():
        raise UserError(f"the display {display} does not answer; {_INSTEAD}")


def _wayland_answers() -> bool:
    name, folder = os.environ.get("WAYLAND_DISPLAY"), os.environ.get("XDG_RUNTIME_DIR")
    if not name or not folder:
        return False
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(str(Path(folder, name)))
        except OSError:
            return False
    return True


def _load_xcb_plugin() -> None:
    plugin = Path(PySide6.__file__).parent / "Qt/plugins/platforms/libqxcb.so"
    try:
        ctypes.CDLL(str(plugin))
    except OSError as error:
        library = str(error).partition(":")[0]
        raise UserError(
            f"Qt cannot open a window: {library} is missing; {INSTALL_HINT}, or {_INSTEAD}"
        ) from error


def _x_server_answers() -> bool:
    xcb = ctypes.CDLL("libxcb.so.1")
    xcb.xcb_connect.restype = ctypes.c_void_p
    connection = ctypes.c_void_p(xcb.xcb_connect(None, None))
    broken = bool(xcb.xcb_connection_has_error(connection))
    xcb.xcb_disconnect(connection)
    return not broken
