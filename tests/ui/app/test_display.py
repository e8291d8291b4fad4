"""Check of the display, before Qt would abort the process."""

import sys

import pytest

from bertviewer.core.util.errors import UserError
from bertviewer.ui.app.display import checked_display, x_connection
from tests.tools.xvfb import AVAILABLE, virtual_display

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="displays are checked on Linux")

UNUSED = ":54321"
"""A display without a server."""


def use_display(monkeypatch: pytest.MonkeyPatch, **environment: str) -> None:
    for name in ("QT_QPA_PLATFORM", "DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)


def error_of(seconds: float = 0) -> str:
    """Return the message for a display that cannot be used."""
    with pytest.raises(UserError) as raised, checked_display(seconds):
        raise AssertionError("the display was accepted")
    return str(raised.value)


@pytest.mark.parametrize(
    ("environment", "reason"),
    [
        ({}, "no display; "),
        ({"DISPLAY": UNUSED}, f"the display {UNUSED} does not answer; "),
        ({"DISPLAY": UNUSED, "QT_QPA_PLATFORM": "xcb"}, f"the display {UNUSED} does not answer; "),
        ({"WAYLAND_DISPLAY": "wayland-7654"}, "Qt cannot open a window here ("),
        ({"QT_QPA_PLATFORM": "no-such-platform"}, "Qt cannot open a window here ("),
    ],
)
def test_a_display_that_cannot_be_used(
    environment: dict[str, str], reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_display(monkeypatch, **environment)
    message = error_of()
    assert message.startswith(reason)
    assert "bertviewer report MODEL -o FILE.pdf" in message


def test_a_missing_library_is_named_with_its_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(_: str) -> None:
        raise OSError("libxcb-cursor.so.0: cannot open shared object file: No such file")

    use_display(monkeypatch, DISPLAY=UNUSED)
    monkeypatch.setattr("ctypes.CDLL", missing)
    message = error_of()
    assert message.startswith("Qt cannot open a window: libxcb-cursor.so.0 is missing; ")
    assert all(name in message for name in ("libxcb-cursor0", "libxcb-icccm4", "libxcb-keysyms1"))


@pytest.mark.skipif(not AVAILABLE, reason="needs Xvfb")
def test_an_x_server_that_restarts_after_its_last_client_is_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with virtual_display() as name:
        use_display(monkeypatch, QT_QPA_PLATFORM="xcb", DISPLAY=name)
        for _ in range(40):
            # Qt itself tries to connect once.
            with checked_display(seconds=60), x_connection(name, seconds=0):
                pass
