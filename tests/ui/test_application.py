"""The program as a process: how it starts, how it ends, what it says without a display."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

TIMEOUT = 120


def run_python(code: str, tmp_path: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run code in a fresh interpreter; a variable set to nothing is taken away."""
    settings = {"QT_QPA_PLATFORM": "offscreen", "XDG_CONFIG_HOME": str(tmp_path)} | environment
    values = {k: v for k, v in (os.environ | settings).items() if v}
    return subprocess.run(
        [sys.executable, "-c", code],
        env=values,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )


# Starts the program as the command does, with a hook into its window.
START = """
import sys, time
from PySide6.QtCore import QTimer
from bertviewer import app
from bertviewer.ui import application
make_window = application.make_window
def hooked(lane):
    window = make_window(lane)
    hook(window, lane)
    return window
application.make_window = hooked
"""


def test_the_window_is_painted_before_torch_is_imported(tmp_path: Path) -> None:
    code = (
        START
        + """
def hook(window, lane):
    def painted():
        image = window.grab().toImage()
        colors = {image.pixel(x, y) for x in range(0, image.width(), 7)
                  for y in range(0, image.height(), 7)}
        print(len(colors) > 3, "torch" in sys.modules, "transformers" in sys.modules)
    window.painted.connect(painted)
    def opened():
        print("torch" in sys.modules, window.workspace.architecture.root.parameters)
        window.close()
    window.workspace.architecture_changed.connect(opened)
sys.exit(app.main(["demo"]))
"""
    )
    done = run_python(code, tmp_path)
    assert done.stdout.splitlines() == ["True False False", "True 22713216"], done.stderr
    assert done.returncode == 0


@pytest.mark.parametrize("moment", ["painted", "opening", "running"])
def test_closing_at_any_moment_exits_with_0(tmp_path: Path, moment: str) -> None:
    code = (
        START
        + f"""
moment = {moment!r}
def hook(window, lane):
    def close():
        global closed
        closed = time.monotonic()
        window.close()
    if moment == "painted":
        window.painted.connect(close)
    elif moment == "opening":
        window.painted.connect(lambda: QTimer.singleShot(400, close))
    else:
        def run():
            window.set_sentence("word " * 500, None)
            window.workspace.progressed.connect(
                lambda done, total, label: done > 10 and "layer" in label and close())
            window.run()
        window.workspace.architecture_changed.connect(lambda: QTimer.singleShot(0, run))
import atexit, os
leave = os._exit
def leaving(status):
    print("seconds", time.monotonic() - closed)
    sys.stdout.flush()
    leave(status)
os._exit = leaving
status = app.main(["demo"])
leaving(status)
"""
    )
    done = run_python(code, tmp_path)
    assert done.returncode == 0, done.stderr
    word, seconds = done.stdout.split()
    assert word == "seconds"
    assert float(seconds) < 2
    assert done.stderr.replace("This plugin does not support propagateSizeHints()\n", "") == ""


def test_an_exception_in_a_slot_becomes_a_dialog_and_a_log_entry(tmp_path: Path) -> None:
    code = (
        START
        + """
from PySide6.QtWidgets import QMessageBox
def hook(window, lane):
    def fail():
        raise RuntimeError("broken on purpose")
    def look():
        box = window.findChild(QMessageBox, "errorDialog")
        print(box.text(), box.informativeText())
        window.close()
    window.painted.connect(fail)
    window.painted.connect(lambda: QTimer.singleShot(200, look))
sys.exit(app.main(["demo"]))
"""
    )
    done = run_python(code, tmp_path, XDG_STATE_HOME=str(tmp_path / "state"))
    assert done.returncode == 0, done.stderr
    assert "The program goes on" in done.stdout
    log = tmp_path / "state" / "bertviewer" / "log" / "bertviewer.log"
    assert str(log) in done.stdout
    assert "broken on purpose" in log.read_text()


@pytest.mark.skipif(sys.platform != "linux", reason="displays are found out about on Linux")
@pytest.mark.parametrize(
    "display",
    [
        {},
        {"DISPLAY": ":7654"},
        {"WAYLAND_DISPLAY": "wayland-7654"},
        {"QT_QPA_PLATFORM": "wayland"},
        {"QT_QPA_PLATFORM": "no-such-platform"},
    ],
)
def test_no_display_is_one_line(tmp_path: Path, display: dict[str, str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "bertviewer"],
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)} | display,
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("bertviewer: error: ")
    assert "bertviewer report MODEL -o FILE.pdf" in done.stderr
    assert done.stdout == ""


def test_an_interrupt_ends_the_window(tmp_path: Path) -> None:
    code = (
        START
        + """
import os, signal
def hook(window, lane):
    window.painted.connect(lambda: os.kill(os.getpid(), signal.SIGINT))
sys.exit(app.main(["demo"]))
"""
    )
    done = run_python(code, tmp_path)
    assert done.returncode == -signal.SIGINT
