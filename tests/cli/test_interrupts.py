"""Ctrl+C ends a command with one line and exit status 2, whatever it is doing."""

import signal
from pathlib import Path

import pytest

from bertviewer.app import ERROR
from tests.cli.commands import python_of

INTERRUPT = "os.kill(os.getpid(), signal.SIGINT)"
ENDLESS = "hashlib.pbkdf2_hmac('sha256', b'a', b'b', 2_000_000_000)"
FOLDER = "folder = tempfile.TemporaryDirectory(dir='.')"


QT = """\
from PySide6.QtCore import QRectF
from PySide6.QtWidgets import QApplication, QGraphicsItem, QGraphicsScene, QGraphicsView
application, scene = QApplication([]), QGraphicsScene()
class Item(QGraphicsItem):
  def boundingRect(self):
    os.kill(os.getpid(), signal.SIGINT)
    return QRectF(0, 0, 9, 9)
  def paint(self, *_): pass
item = Item()
scene.addItem(item)
QGraphicsView(scene).grab()
time.sleep(300)
"""


@pytest.mark.parametrize(
    "body",
    [
        # Imports run code by exec(); python -m would end by the signal.
        ["exec('raise KeyboardInterrupt')"],
        ["threading.Timer(0.2, lambda: " + INTERRUPT + ").start()", "time.sleep(300)"],
        # The next progress callback cancels the command.
        [INTERRUPT, "with progress_line(None) as progress:", "  progress(0, 0, '')", "os.abort()"],
        # An error after the signal is not reported.
        [INTERRUPT, "time.sleep(0.1)", "raise ModuleNotFoundError('numpy')"],
        # Native code that does not return.
        [FOLDER, "threading.Timer(0.2, lambda: " + INTERRUPT + ").start()", ENDLESS],
        # An exception while torch's libraries are imported aborts the process.
        [FOLDER, "import slow"],
        # An exception in a function that Qt calls is lost.
        [FOLDER, *QT.splitlines()],
        [FOLDER, "while True:", "  with contextlib.suppress(BaseException):", f"    {INTERRUPT}"],
    ],
    ids=["raised", "waiting", "progress", "failing", "native", "import", "qt", "ignoring"],
)
def test_ctrl_c_ends_a_command(elsewhere: Path, body: list[str]) -> None:
    kept = elsewhere / "kept"
    kept.mkdir()
    lines = "".join(f"    {line}\n" for line in body)
    (elsewhere / "slow.py").write_text(
        f"import os, signal, time\ntry:\n    {INTERRUPT}\n    time.sleep(300)\nexcept "
        "KeyboardInterrupt:\n    os.abort()\n"
    )
    (elsewhere / "stopped.py").write_text(
        "import contextlib, hashlib, os, signal, tempfile, threading, time\n"
        # A shell that runs the tests in the background ignores the signal.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from bertviewer import app\n"
        "from bertviewer.cli import commands\n"
        "from bertviewer.cli.progress_line import progress_line\n"
        f"def execute(options):\n    os.chdir('kept')\n{lines}"
        "commands.execute = execute\n"
        "raise SystemExit(app.main(['presets']))\n"
    )
    done = python_of(elsewhere, "-m", "stopped")
    assert done.stderr == f"{ERROR}interrupted\n"
    assert (done.returncode, done.stdout) == (2, "")
    assert list(kept.iterdir()) == []


def test_ctrl_c_during_the_first_imports_prints_nothing(elsewhere: Path) -> None:
    (elsewhere / "started.py").write_text(
        "import os, runpy, signal, sys\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "class Finder:\n"
        "  def find_spec(self, name, *_):\n"
        f"    if name == 'bertviewer.app': {INTERRUPT}\n"
        "sys.meta_path.insert(0, Finder())\n"
        "sys.argv[1:] = ['presets']\n"
        "runpy.run_module('bertviewer', run_name='__main__')\n"
    )
    done = python_of(elsewhere, "started.py")
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "", "")
