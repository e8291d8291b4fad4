"""A desktop for the program: Xvfb with a window manager, driven by xdotool.

The program prints its state as JSON (see ``reporter``), and this process waits for states.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.tools.xvfb import virtual_display, window_manager
from tests.ui.app.program import START

ROOT = Path(__file__).parents[3]
CODE = """
from tests.ui.journeys.reporter import Reporter
def hook(window, worker):
    Reporter(window)
sys.exit(app.main())
"""
State = dict[str, Any]
"""What ``reporter.Reporter`` prints."""

TIMEOUT = 300
REST = 0.2
"""Seconds after which a place that has not changed is taken to be final."""


class Desktop:
    """The program on a desktop, with its mouse and keyboard."""

    def __init__(self, display: str, folder: Path, *arguments: str) -> None:
        self._environment = os.environ | {
            "DISPLAY": display,
            "QT_QPA_PLATFORM": "xcb",
            "XDG_CONFIG_HOME": str(folder),
            "XDG_STATE_HOME": str(folder),
            "PYTHONPATH": str(ROOT),
        }
        self._output = folder / "output"
        code = f"{START}\nsys.argv[1:] = {list(arguments)!r}\n{CODE}"
        with self._output.open("wb") as file:
            self.process = subprocess.Popen(
                [sys.executable, "-c", code], env=self._environment, cwd=folder, stdout=file
            )

    def xdotool(self, *arguments: str) -> str:
        """Run xdotool, and return what it prints."""
        command = ["xdotool", *arguments]
        done = subprocess.run(
            command, env=self._environment, check=True, capture_output=True, text=True
        )
        return done.stdout

    def press(self, *keys: str) -> None:
        """Press keys, one after the other."""
        self.xdotool("key", *keys)

    def type(self, field: str, text: str) -> None:
        """Type a text instead of that of a field, which has the focus."""
        self.press("ctrl+a")
        self.xdotool("type", text)
        self.wait(lambda state: state["typed"].get(field) == text)

    def click(self, name: str) -> None:
        """Wait for a visible control of that name that does not move any more, and click it."""
        place = None
        while (now := self.wait(lambda s: name in s["places"])["places"][name]) != place:
            place = now
            time.sleep(REST)
        self.xdotool("mousemove", *map(str, now), "click", "1")

    def press_until(self, key: str, condition: Callable[[State], object], most: int = 40) -> State:
        """Press a key until a condition holds, at most ``most`` times."""
        for _ in range(most):
            state = self.wait(lambda _: True)
            if condition(state):
                return state
            number = state["keys"] + 1
            self.press(key)
            self.wait(lambda state, number=number: state["keys"] >= number)  # type: ignore[misc]
        return self.wait(condition)

    def tab_to(self, control: str) -> None:
        """Press Tab until a control has the focus."""
        self.press_until("Tab", lambda state: state["focus"] == control, most=80)

    def wait(self, condition: Callable[[State], object]) -> State:
        """Wait until a condition holds for the state of the window, and return the state."""
        deadline = time.monotonic() + TIMEOUT
        while True:
            state = self._state()
            if state is not None and condition(state):
                return state
            assert self.process.poll() is None, state
            assert time.monotonic() < deadline, state
            time.sleep(0.05)

    def _state(self) -> State | None:
        lines = [line for line in self._output.read_text().split("\n")[:-1] if line[:6] == "state "]
        return json.loads(lines[-1][6:]) if lines else None


@contextmanager
def desktop(folder: Path, *arguments: str) -> Iterator[Desktop]:
    """Start the program on a desktop; the steps inside of the context must quit it."""
    with virtual_display() as display, window_manager(display):
        found = Desktop(display, folder, *arguments)
        try:
            yield found
            assert found.process.wait(60) == 0
        finally:
            found.process.kill()
            found.process.wait()
