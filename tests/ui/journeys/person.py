"""Somebody at a real X window of the program: the keys, the mouse, and what the window says."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from tests.tools.xvfb import virtual_display, window_manager
from tests.ui.app.program import START

ROOT = Path(__file__).parents[3]
State = dict[str, Any]
"""What ``tests.ui.journeys.watching`` says of a window."""

PATIENCE_SECONDS = 300
STILL_SECONDS = 0.2
"""What has not moved for so long is not about to, as panes are that make room."""


class Person:
    """Somebody at a window of the program."""

    def __init__(self, display: str, code: str, folder: Path) -> None:
        self._environment = os.environ | {
            "DISPLAY": display,
            "QT_QPA_PLATFORM": "xcb",
            "XDG_CONFIG_HOME": str(folder),
            "XDG_STATE_HOME": str(folder),
            "PYTHONPATH": str(ROOT),
        }
        self._output = folder / "output"
        with self._output.open("wb") as file:
            self.process = subprocess.Popen(
                [sys.executable, "-c", START + code],
                env=self._environment,
                cwd=folder,
                stdout=file,
            )

    def does(self, *arguments: str) -> None:
        subprocess.run(["xdotool", *arguments], env=self._environment, check=True)

    def turns_to(self, title: str) -> None:
        """Wait for a window of this title, and give it the keys.

        xdotool's own waiting ends with an error where any window goes while it looks at them all,
        as a menu does, so it is asked again and again.
        """
        command = ["xdotool", "search", "--name", title, "windowfocus"]
        deadline = time.monotonic() + PATIENCE_SECONDS
        while subprocess.run(command, env=self._environment, check=False).returncode != 0:
            assert self.process.poll() is None, title
            assert time.monotonic() < deadline, title
            time.sleep(0.05)

    def finds(self, title: str) -> str:
        """Return the number that X has for the window of this title."""
        command = ["xdotool", "search", "--onlyvisible", "--name", f"^{title}$"]
        found = subprocess.run(
            command, env=self._environment, check=True, capture_output=True, text=True
        )
        return found.stdout.split()[0]

    def sees(self, words: str) -> str:
        """Wait for a line that begins with these words, and return the rest of it."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            text = self._output.read_text()
            for line in text.splitlines():
                if line.startswith(words):
                    return line.removeprefix(words).strip()
            assert self.process.poll() is None, text
            assert time.monotonic() < deadline, text
            time.sleep(0.05)

    def waits(self, condition: Callable[[State], object]) -> State:
        """Wait until the window says what is so of it, and return what it said last."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            state = self._last_state()
            if state is not None and condition(state):
                return state
            assert self.process.poll() is None, state
            assert time.monotonic() < deadline, state
            time.sleep(0.05)

    def clicks(self, name: str) -> None:
        """Wait for something that has this name and stays where it is, and click it."""
        place = None
        while (now := self.waits(lambda s: name in s["places"])["places"][name]) != place:
            place = now
            time.sleep(STILL_SECONDS)
        self.does("mousemove", *map(str, now), "click", "1")

    def presses(self, key: str, condition: Callable[[State], object], most: int = 40) -> State:
        """Press a key again and again until something is so, no more often than ``most`` times."""
        for _ in range(most):
            state = self.waits(lambda _: True)
            if condition(state):
                return state
            self.does("key", key)
            self._waits_for_keys(state["keys"] + 1)
        return self.waits(condition)

    def _waits_for_keys(self, number: int) -> None:
        self.waits(lambda state: state["keys"] >= number)

    def _last_state(self) -> State | None:
        lines = [line for line in self._output.read_text().split("\n")[:-1] if line[:6] == "state "]
        return json.loads(lines[-1][6:]) if lines else None


@contextmanager
def person_at(code: str, folder: Path) -> Iterator[Person]:
    """Have somebody sit at the demo, who closes it at the end."""
    with virtual_display() as display:
        person = Person(display, code, folder)
        try:
            person.sees("opened")
            person.turns_to("demo — bertviewer")
            yield person
            person.does("key", "ctrl+q")
            assert person.process.wait(60) == 0
        finally:
            person.process.kill()
            person.process.wait()


@contextmanager
def person_before(code: str, folder: Path) -> Iterator[Person]:
    """Have somebody start the program on a desktop, who closes it by what they do."""
    with ExitStack() as held:
        display = held.enter_context(virtual_display())
        held.enter_context(window_manager(display))
        person = Person(display, code, folder)
        try:
            yield person
            assert person.process.wait(60) == 0
        finally:
            person.process.kill()
            person.process.wait()
