"""The program in a real X window, driven by keys as a person would."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.ui.test_application import START
from tests.xvfb import AVAILABLE, virtual_display

pytestmark = pytest.mark.skipif(
    not AVAILABLE or shutil.which("xdotool") is None, reason="needs Xvfb and xdotool"
)

REPORT = """
def hook(window, lane):
    def say(*words):
        print(*words, flush=True)
    window.painted.connect(lambda: say("painted"))
    window.workspace.architecture_changed.connect(lambda: say("opened"))
    def ran():
        run = window.workspace.run
        if run is None:
            return
        def look():
            image = window.screen().grabWindow(window.winId()).toImage()
            colors = {image.pixel(x, y) for x in range(0, image.width(), 3)
                      for y in range(0, image.height(), 3)}
            if len(colors) > 50:  # the plots have been drawn
                timer.stop()
                say("ran", len(run.tokens))
        timer = QTimer(window, interval=300, timeout=look)
        timer.start()
    window.workspace.run_changed.connect(ran)
sys.exit(app.main(["demo"]))
"""


def wait_for(path: Path, line: str, process: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + 300
    while line not in path.read_text().splitlines():
        assert process.poll() is None, path.read_text()
        assert time.monotonic() < deadline, path.read_text()
        time.sleep(0.05)


def test_keys_alone_do_the_main_job(tmp_path: Path) -> None:
    output = tmp_path / "output"
    with virtual_display() as display, output.open("wb") as file:
        environment = os.environ | {
            "DISPLAY": display,
            "QT_QPA_PLATFORM": "xcb",
            "XDG_CONFIG_HOME": str(tmp_path),
            "XDG_STATE_HOME": str(tmp_path),
        }
        process = subprocess.Popen(
            [sys.executable, "-c", START + REPORT], env=environment, cwd=tmp_path, stdout=file
        )

        def keys(*arguments: str) -> None:
            subprocess.run(["xdotool", *arguments], env=environment, check=True)

        try:
            wait_for(output, "opened", process)
            keys("search", "--sync", "--name", "demo — bertviewer", "windowfocus")
            keys("key", "ctrl+l")
            keys("type", "hello world")
            keys("key", "Return")
            wait_for(output, "ran 4", process)
            keys("key", "ctrl+q")
            assert process.wait(60) == 0
        finally:
            process.kill()
            process.wait()
