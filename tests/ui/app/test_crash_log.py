"""A crash leaves a trace that the next start offers; an orderly end leaves nothing."""

import signal
import sys
from pathlib import Path

import pytest

from tests.ui.app.program import START, run_python

LOOK = """
from PySide6.QtWidgets import QMessageBox
from bertviewer.ui.widgets.messages import ErrorBar
def hook(window, worker):
    def look():
        for box in window.findChildren(QMessageBox):
            print(box.text(), "|", box.informativeText(), "|", box.detailedText())
        if not window.findChild(ErrorBar).isHidden():
            print(window.findChild(ErrorBar).text())
        window.close()
    window.painted.connect(lambda: QTimer.singleShot(100, look))
sys.exit(app.main(["bert-base-uncased"]))
"""


def crashing(how: str) -> str:
    return f"""
import ctypes, os, signal
def hook(window, worker):
    def crash_on_purpose():
        {how}
    window.painted.connect(crash_on_purpose)
sys.exit(app.main(["bert-base-uncased"]))
"""


@pytest.mark.parametrize(
    ("how", "status"),
    [("os.abort()", signal.SIGABRT), ("ctypes.string_at(0)", signal.SIGSEGV)],
)
def test_a_crash_is_offered_once(tmp_path: Path, how: str, status: signal.Signals) -> None:
    state = {"XDG_STATE_HOME": str(tmp_path / "state")}
    assert run_python(START + crashing(how), tmp_path, **state).returncode == -status
    told = run_python(START + LOOK, tmp_path, **state)
    assert told.returncode == 0, told.stderr
    message, where, trace = told.stdout.split(" | ", 2)
    assert message == "The program quit unexpectedly last time."
    log = tmp_path / "state" / "bertviewer" / "log" / "bertviewer.log"
    assert where == f"Details were saved to {log}"
    assert "crash_on_purpose" in trace
    assert f"Python {sys.version.split()[0]}" in trace
    assert "crash_on_purpose" in log.read_text()
    assert run_python(START + LOOK, tmp_path, **state).stdout == ""


def test_a_program_that_was_killed_has_nothing_to_tell(tmp_path: Path) -> None:
    state = {"XDG_STATE_HOME": str(tmp_path / "state")}
    killed = crashing("os.kill(os.getpid(), signal.SIGKILL)")
    assert run_python(START + killed, tmp_path, **state).returncode == -signal.SIGKILL
    done = run_python(START + LOOK, tmp_path, **state)
    assert (done.stdout, done.returncode) == ("", 0)
    assert list((tmp_path / "state").rglob("crash-*")) == []


def test_a_folder_that_takes_no_log_is_no_reason_to_stop(tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.write_text("a file where a folder should be")
    done = run_python(START + LOOK, tmp_path, XDG_STATE_HOME=str(state))
    assert (done.stdout, done.returncode) == ("", 0), done.stderr


def test_damaged_settings_are_told(tmp_path: Path) -> None:
    file = tmp_path / "bertviewer" / "bertviewer.conf"
    file.parent.mkdir()
    file.write_bytes(b"\0 not settings")
    done = run_python(START + LOOK, tmp_path, XDG_STATE_HOME=str(tmp_path / "state"))
    assert done.returncode == 0, done.stderr
    told = "The settings file was damaged, so the default settings are used. The old file is"
    assert done.stdout.strip() == f"{told} {file}.damaged"
