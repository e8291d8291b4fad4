"""What Qt needs of the system, and is not there, is told before Qt ends the process."""

import pytest

from bertviewer.core.util.errors import UserError
from bertviewer.ui.app.display import checked_display, x_connection
from tests.tools.xvfb import AVAILABLE, virtual_display

NOBODYS = ":54321"
"""A display that no server has."""


def test_a_missing_library_is_named_with_the_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(_: str) -> None:
        raise OSError("libxcb-cursor.so.0: cannot open shared object file: No such file")

    monkeypatch.setenv("QT_QPA_PLATFORM", "xcb")
    monkeypatch.setenv("DISPLAY", NOBODYS)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.setattr("ctypes.CDLL", missing)
    with pytest.raises(UserError) as raised, checked_display():
        raise AssertionError("it is never reached")
    message = str(raised.value)
    assert message.startswith("Qt cannot open a window: libxcb-cursor.so.0 is missing; ")
    assert all(name in message for name in ("libxcb-cursor0", "libxcb-icccm4", "libxcb-keysyms1"))
    assert "bertviewer report" in message


@pytest.mark.skipif(not AVAILABLE, reason="needs Xvfb")
def test_a_server_that_starts_anew_when_its_last_client_leaves_is_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("QT_QPA_PLATFORM", "xcb")
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    with virtual_display() as name:
        monkeypatch.setenv("DISPLAY", name)
        for _ in range(40):
            # Qt tries once.
            with checked_display(seconds=60), x_connection(name, seconds=0):
                pass


def test_a_display_that_does_not_answer_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QT_QPA_PLATFORM", "xcb")
    monkeypatch.setenv("DISPLAY", NOBODYS)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    with (
        pytest.raises(UserError, match=f"the display {NOBODYS} does not answer; "),
        checked_display(seconds=0),
    ):
        raise AssertionError("it is never reached")
