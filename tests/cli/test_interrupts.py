"""Ctrl+C: one line and the exit status of a user's error, whatever the command does then."""

import signal
from pathlib import Path

import pytest

from bertviewer.app import ERROR
from tests.cli.commands import python_of

STRIKE = "os.kill(os.getpid(), signal.SIGINT)"
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
        # Imports run code by exec(); python -m would end by the signal of one that passed there.
        ["exec('raise KeyboardInterrupt')"],
        ["threading.Timer(0.2, lambda: " + STRIKE + ").start()", "time.sleep(300)"],
        # The next report of progress stops it, in order.
        [STRIKE, "with progress_line(None) as progress:", "  progress(0, 0, '')", "os.abort()"],
        # What it fails of then is no matter.
        [STRIKE, "time.sleep(0.1)", "raise ModuleNotFoundError('numpy')"],
        # Native code that never comes back.
        [FOLDER, "threading.Timer(0.2, lambda: " + STRIKE + ").start()", ENDLESS],
        # What torch's libraries do of an exception amid their import aborts the process.
        [FOLDER, "import slow"],
        # The same goes for Qt: in a function that it calls an exception has nowhere to go.
        [FOLDER, *QT.splitlines()],
        [FOLDER, "while True:", "  with contextlib.suppress(BaseException):", f"    {STRIKE}"],
    ],
    ids=["raised", "waiting", "progress", "failing", "native", "import", "qt", "for ever"],
)
def test_ctrl_c_ends_a_command(elsewhere: Path, body: list[str]) -> None:
    kept = elsewhere / "kept"
    kept.mkdir()
    lines = "".join(f"    {line}\n" for line in body)
    (elsewhere / "slow.py").write_text(
        f"import os, signal, time\ntry:\n    {STRIKE}\n    time.sleep(300)\nexcept "
        "KeyboardInterrupt:\n    os.abort()\n"
    )
    (elsewhere / "stopped.py").write_text(
        "import contextlib, hashlib, os, signal, tempfile, threading, time\n"
        # A shell that runs the tests in its background leaves it ignored.
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


def test_ctrl_c_amid_the_first_imports_leaves_no_trace(elsewhere: Path) -> None:
    (elsewhere / "started.py").write_text(
        "import os, runpy, signal, sys\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "class Finder:\n"
        "  def find_spec(self, name, *_):\n"
        f"    if name == 'bertviewer.app': {STRIKE}\n"
        "sys.meta_path.insert(0, Finder())\n"
        "sys.argv[1:] = ['presets']\n"
        "runpy.run_module('bertviewer', run_name='__main__')\n"
    )
    done = python_of(elsewhere, "started.py")
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "", "")
