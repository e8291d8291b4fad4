"""Ctrl+C: one line and the exit status of a user's error, whatever the command does then."""

from pathlib import Path

import pytest

from bertviewer.app import ERROR
from tests.cli.commands import python_of

STRIKE = "os.kill(os.getpid(), signal.SIGINT)"
LOSING = "with contextlib.suppress(KeyboardInterrupt):"
FOLDER = "folder = tempfile.TemporaryDirectory(dir='.')"


@pytest.mark.parametrize(
    "body",
    [
        # Imports run code by exec(); python -m would end by the signal of one that passed there.
        ["exec('raise KeyboardInterrupt')"],
        ["threading.Timer(0.2, lambda: " + STRIKE + ").start()", "time.sleep(300)"],
        # As torch does while it imports numpy; what was not imported is missed later.
        [LOSING, f"    {STRIKE}", "raise ModuleNotFoundError('numpy')"],
        # As in callbacks of the garbage collector.
        [LOSING, f"    {STRIKE}", "time.sleep(300)"],
        # What torch's libraries do of it amid their import aborts the process.
        [FOLDER, "import slow"],
        ["interrupts.MOST_SECONDS = 3", FOLDER, "while True:", f"  {LOSING}", f"    {STRIKE}"],
    ],
    ids=["raised", "waiting", "missed", "lost", "import", "for ever"],
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
        "import contextlib, os, signal, tempfile, threading, time\n"
        # A shell that runs the tests in its background leaves it ignored.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from bertviewer import app\n"
        "from bertviewer.cli import commands, interrupts\n"
        f"def execute(options):\n    os.chdir('kept')\n{lines}"
        "commands.execute = execute\n"
        "raise SystemExit(app.main(['presets']))\n"
    )
    done = python_of(elsewhere, "-m", "stopped")
    assert done.stderr == f"{ERROR}interrupted\n"
    assert (done.returncode, done.stdout) == (2, "")
    assert list(kept.iterdir()) == []
