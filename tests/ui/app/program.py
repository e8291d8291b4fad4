"""The program in a separate process, with a hook into its window."""

import os
import subprocess
import sys
from pathlib import Path

TIMEOUT = 300  # seconds, after which a program that hangs is killed

START = """
import sys
from PySide6.QtCore import QTimer
from bertviewer import app
from bertviewer.ui.app import application
make_window = application.make_window
def hooked(worker):
    window = make_window(worker)
    hook(window, worker)
    return window
application.make_window = hooked
"""
"""Code that calls ``hook(window, worker)`` for the window of ``app.main()``."""


def run_python(code: str, tmp_path: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run code in a new interpreter; an empty variable is removed from the environment."""
    settings = {
        "QT_QPA_PLATFORM": "offscreen",
        "XDG_CONFIG_HOME": str(tmp_path),
        "XDG_STATE_HOME": str(tmp_path / "state"),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),  # without models that other tests opened
    }
    values = {k: v for k, v in (os.environ | settings | environment).items() if v}
    return subprocess.run(
        [sys.executable, "-c", code],
        env=values,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )
