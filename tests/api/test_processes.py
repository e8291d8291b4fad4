"""Figures are drawn in another process; objects are pickled, and processes forked."""

import os
import pickle
import socket
import sys
import threading
from pathlib import Path

import pytest

import bertviewer
from bertviewer.api import drawing
from bertviewer.core.util.errors import UserError
from tests.cli.commands import python_of

NO_DISPLAY = {"DISPLAY": "", "WAYLAND_DISPLAY": "", "QT_QPA_PLATFORM": "", "XDG_RUNTIME_DIR": ""}
SCRIPT = """
import os, threading
import bertviewer
model = bertviewer.open("demo")
run = model.run("the cat")
first = run.statistics()
pid = os.fork()
if not pid:
    again = bertviewer.open("demo").run("the cat")
    near = all(abs(a["mean"] - b["mean"]) < 1e-5 for a, b in zip(again.statistics(), first))
    os._exit(0 if near and again.figure("norms").csv() else 3)
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
assert model.run("the cat").statistics() == first
print("forked")

def draw():
    assert run.figure("norms").svg().startswith("<svg")
    assert model.figure("pooler").pdf().startswith(b"%PDF")
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


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
def test_forks_threads_and_other_applications(tmp_path: Path) -> None:
    """A process can be forked after a run, and figures need no display and no QApplication."""
    result = python_of(tmp_path, "-c", SCRIPT, environment=NO_DISPLAY)
    assert (result.returncode, result.stdout) == (0, "forked\ndrawn\n"), result.stderr


def test_a_drawing_process_that_ended_is_started_again() -> None:
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


def test_several_threads_draw_at_once(run: bertviewer.Run) -> None:
    found: list[str] = []
    figures = [run.figure("norms"), run.figure("layers")]
    threads = [threading.Thread(target=lambda f=f: found.append(f.svg())) for f in figures]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == 2


def test_what_can_be_pickled(model: bertviewer.Model, run: bertviewer.Run) -> None:
    for words, one in (("a model cannot be pickled", model), ("use run.data instead", run)):
        with pytest.raises(TypeError, match=words):
            pickle.dumps(one)
    data = pickle.loads(pickle.dumps(run.data))
    assert data.to_json() == run.to_json()
    figure = pickle.loads(pickle.dumps(run.figure("norms")))
    assert figure.csv() == run.figure("norms").csv()
    assert pickle.loads(pickle.dumps(model.formula())) == model.formula()
