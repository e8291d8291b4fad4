"""Pictures are drawn wherever a script runs: threads, other applications, no display."""

import os
import socket
import threading
from pathlib import Path

import pytest

import bertviewer
from bertviewer.api import drawing
from bertviewer.core.util.errors import UserError
from tests.cli.commands import python_of

NO_DISPLAY = {"DISPLAY": "", "WAYLAND_DISPLAY": "", "QT_QPA_PLATFORM": "", "XDG_RUNTIME_DIR": ""}
DRAW = """
import os, threading
import bertviewer
model = bertviewer.open("gpt2")
run = model.run("the cat", random_weights=True)
def draw():
    assert run.figure("norms").svg().startswith("<svg")
    assert model.figure("h.0").pdf().startswith(b"%PDF")
found = []
thread = threading.Thread(target=lambda: found.append(draw()))
thread.start(); thread.join()
assert found == [None]
assert os.environ["QT_QPA_PLATFORM"] == ""
from PySide6.QtWidgets import QApplication
assert QApplication.instance() is None
from PySide6.QtCore import QCoreApplication
application = QCoreApplication([])  # a widget would end the process
draw()
assert type(QCoreApplication.instance()) is QCoreApplication
print("drawn")
"""


def test_from_a_thread_and_then_beside_an_application_that_is_made_afterwards(
    tmp_path: Path,
) -> None:
    result = python_of(tmp_path, "-c", DRAW, environment=NO_DISPLAY)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout == "drawn\n"


def test_a_process_that_draws_and_ends_is_started_again() -> None:
    assert drawing.drawn(os.getpid) != os.getpid()
    with pytest.raises(UserError, match=r"^figures cannot be drawn: the helper process crashed; "):
        drawing.drawn(os._exit, 3)
    first = drawing.drawn(os.getpid)
    assert drawing.drawn(os.getpid) == first
    with pytest.raises(ZeroDivisionError):
        drawing.drawn(divmod, 1, 0)
    assert drawing.drawn(os.getpid) == first
    with pytest.raises(RuntimeError, match=r"socket\.__new__"):
        drawing.drawn(socket.socket)


def test_several_threads_at_once(run: bertviewer.Run) -> None:
    found: list[str] = []
    figures = [run.figure("norms"), run.figure("layers")]
    threads = [threading.Thread(target=lambda f=f: found.append(f.svg())) for f in figures]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == sorted(set(found))
    assert len(found) == 2
