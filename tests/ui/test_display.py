"""What Qt needs of the system, and is not there, is told before Qt ends the process."""

import pytest

from bertviewer.core.errors import UserError
from bertviewer.ui import display


def test_a_missing_library_is_named_with_the_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(_: str) -> None:
        raise OSError("libxcb-cursor.so.0: cannot open shared object file: No such file")

    monkeypatch.setattr("ctypes.CDLL", missing)
    with pytest.raises(UserError) as raised:
        display._load_xcb_plugin()
    message = str(raised.value)
    assert message.startswith("Qt cannot open a window: libxcb-cursor.so.0 is missing; ")
    assert all(name in message for name in ("libxcb-cursor0", "libxcb-icccm4", "libxcb-keysyms1"))
    assert "bertviewer report" in message
