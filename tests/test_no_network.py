"""Local models cause no socket calls, not even name look-ups."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

# An audit hook is called for every socket call of any library.
LISTEN = """
import socket
import sys
calls = []
def listen(event, arguments):
    # The window receives signals through a socket pair.
    is_within = event == "socket.__new__" and arguments[1] == getattr(socket, "AF_UNIX", None)
    if event.startswith("socket.") and not is_within:
        calls.append((event, arguments))
sys.addaudithook(listen)
from bertviewer.app import main
"""
HEADLESS = """
for arguments in (
    ["summary", model],
    ["run", model, "a test", "--check"],
    ["report", model, "-o", "report.pdf", "--sentence", "a test"],
):
    assert main(arguments) == 0, arguments
"""
WINDOW = """
from PySide6.QtCore import QTimer
from bertviewer.ui.app import application
make_window = application.make_window
def hooked(worker):
    window = make_window(worker)
    def opened():
        window.set_sentence("a test", None)
        window.run()
    def ran():
        QTimer.singleShot(0, window.close)
    window.workspace.architecture_changed.connect(lambda: QTimer.singleShot(0, opened))
    window.workspace.runs.run_changed.connect(lambda: window.workspace.runs.run and ran())
    return window
application.make_window = hooked
assert main([model]) == 0
"""
PRINT = """
import os
print("calls:", calls)
sys.stdout.flush()
os._exit(0)
"""


def calls_of(code: str, model: str, folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", f"{LISTEN}\nmodel = {model!r}\n{code}\n{PRINT}"],
        cwd=folder,
        # The program itself sets the hub's client offline.
        env={name: value for name, value in os.environ.items() if not name.startswith("HF_")}
        | {"XDG_CONFIG_HOME": str(folder)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1]


@pytest.mark.parametrize("code", [HEADLESS, WINDOW], ids=["headless", "window"])
def test_a_local_model_makes_no_socket_calls(
    code: str, tiny_bert_folder: Path, tmp_path: Path
) -> None:
    assert calls_of(code, str(tiny_bert_folder), tmp_path) == "calls: []"


def test_socket_calls_are_noticed(tmp_path: Path) -> None:
    code = "import socket; socket.getaddrinfo('localhost', 80); socket.socket().close()"
    calls = calls_of(code, "", tmp_path)
    assert "socket.getaddrinfo" in calls
    assert "socket.__new__" in calls
