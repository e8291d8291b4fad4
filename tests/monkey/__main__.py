"""Tries to break a window: ``python -m tests.monkey [--minutes N] [--seed S] [--model NAME]``.

The acts are determined by the seed, their timing by the speed of the machine.
"""

import argparse
import faulthandler
import os
import random
import shutil
import sys
import tempfile
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from PySide6.QtCore import QEvent, QSettings, QTimer, QtMsgType, qInstallMessageHandler
from PySide6.QtWidgets import (
    QApplication,
    QDialog,
    QFileDialog,
    QMainWindow,
    QMenu,
    QMessageBox,
    QWidget,
)
from shiboken6 import isValid

from bertviewer.core.util.errors import UserError
from bertviewer.ui.app.application import configure, leave, make_window
from bertviewer.ui.jobs.worker import Worker
from bertviewer.ui.shell.session import Session
from tests.monkey.acts import ACTS
from tests.monkey.contradictions import contradictions

T = TypeVar("T")
W = TypeVar("W", bound=QWidget)
PRESETS = ("demo", "bert-base-uncased", "gpt2", "albert-base-v2")
GAP = 1.0
"""CPU seconds for which the window may not respond; ten times as many by the clock."""
SAVED = ("", "a.pdf", "a.csv", "a.svg", "a.png", "a.json", "a.bertviewer", "nowhere/a.pdf")
PATIENCE = 120.0  # seconds within which the worker must end
REST_EVERY = 15  # acts
IGNORED = ("This plugin does not support",)
"""Messages of Qt about the offscreen platform."""


class Monkey:
    """A window, a random generator of acts, and the faults that were found."""

    def __init__(self, seed: int, folder: Path, model: str | None = None) -> None:
        self.random = random.Random(seed)
        self.seed, self.gap = seed, GAP
        self.models = (model,) if model else (*PRESETS, *_folders(folder))
        self.faults: list[str] = []
        self.last: deque[str] = deque(maxlen=30)
        self._clock = time.pthread_getcpuclockid(threading.get_ident())
        self._note_beat()
        self._timer = QTimer()
        self._timer.timeout.connect(self._on_beat)
        self._start()

    def choose(self, things: Sequence[T]) -> T:
        """Return one of them."""
        return self.random.choice(things)

    def say(self, text: str) -> None:
        """Log an act before it is done."""
        self.last.append(text)

    def fault(self, text: str) -> None:
        """Record a fault with the latest acts."""
        acts = "\n  ".join(self.last)
        self.faults.append(f"{text}\nseed {self.seed}, after\n  {acts}")

    def widget(self, kind: type[W]) -> W | None:
        """Return a visible widget of that kind in the front window."""
        shown = [w for w in QApplication.topLevelWidgets() if w.isVisible()]
        front = QApplication.activeModalWidget() or self.choose([*shown, self.window, self.window])
        found = [w for w in front.findChildren(kind) if w.isVisible() and w.isEnabled()]
        return self.choose(found) if found else None

    def restart(self) -> None:
        """Close the window at any moment, and start another one with the same settings."""
        self.window.close()
        if not self.worker.stop(PATIENCE) or not self.window.run_area.bar.stop(PATIENCE):
            self.fault("a thread did not end with its window")
        self.window.deleteLater()
        QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
        self._note_beat()
        self._start()

    def _start(self) -> None:
        self.worker = Worker()
        self.window = make_window(self.worker)
        self.window.workspace.jobs.errored.connect(self._on_error)
        Session(self.window, self.window.workspace).restore()
        self.window.show()
        self.window.open_named(self.models[0])

    def play(self, seconds: float, acts: int | None = None) -> None:
        """Do acts until the time or their number is reached, or a fault is found."""
        until, done = time.monotonic() + seconds, 0
        with self._watched():
            while time.monotonic() < until and done != acts and not self.faults:
                (act,) = self.random.choices([*ACTS], [*ACTS.values()])
                self.say(act.__name__)
                act(self)
                self.wait(self.choose((0, 0, 0.01, 0.05, 0.3)))
                self._look_at_dialogs()
                self._look_for_contradictions()
                done += 1
                if done % REST_EVERY == 0:
                    self.rest()
            self.rest()
        sys.stdout.write(f"seed {self.seed}: {done} acts\n")

    def wait(self, seconds: float) -> None:
        """Process events."""
        until = time.monotonic() + seconds
        QApplication.processEvents()
        while time.monotonic() < until:
            QApplication.processEvents()
            time.sleep(0.002)

    def rest(self) -> None:
        """Wait until all jobs have ended, and look for contradictions."""
        until, workspace = time.monotonic() + PATIENCE, self.window.workspace
        while not self._is_at_rest():
            self.wait(0.02)
            if time.monotonic() > until:
                self.fault(f"the worker does not end: {workspace.jobs.activity!r}")
                faulthandler.dump_traceback(all_threads=True)
                return
        self.wait(0.1)
        self._look_at_dialogs()
        self._look_for_contradictions()

    def _is_at_rest(self) -> bool:
        workspace = self.window.workspace
        is_working = self.worker.busy or workspace.jobs.activity
        return not is_working and not workspace.deferred.pending

    def _look_for_contradictions(self) -> None:
        if self._is_at_rest():
            for text in contradictions(self.window):
                self.fault(text)

    def _look_at_dialogs(self) -> None:
        """Close menus and most dialogs; that of an internal error is a fault."""
        while (popup := QApplication.activePopupWidget()) is not None:
            popup.close()
        for window in QApplication.topLevelWidgets():
            if isinstance(window, QMainWindow | QMenu) or not window.isVisible():
                continue
            if isinstance(window, QMessageBox):
                if "internal error" in window.text():
                    self.fault(f"{window.text()} {window.informativeText()}")
                window.close()
            elif isinstance(window, QDialog) and (window.isModal() or self.random.random() < 0.2):
                window.close()

    def _note_beat(self) -> None:
        self._beat = time.monotonic(), time.clock_gettime(self._clock)

    def _on_beat(self) -> None:
        self._note_beat()
        # The menu of a button blocks its caller until it is closed.
        if isinstance(menu := QApplication.activePopupWidget(), QMenu):
            actions = [
                each
                for each in menu.actions()
                if each.isEnabled() and not each.menu() and each.objectName() != "quit"
            ]
            if actions and self.random.random() < 0.5:
                action = self.choose(actions)
                self.say(f"menu {action.text()}")
                action.trigger()
            if isValid(menu):
                menu.close()

    def _on_error(self, error: BaseException) -> None:
        if not isinstance(error, UserError):
            self.fault("".join(traceback.format_exception(error)))

    @contextmanager
    def _watched(self) -> Iterator[None]:
        """Record exceptions, Qt's warnings and an unresponsive window as faults."""

        def on_exception(*args: Any) -> None:
            self.fault("".join(traceback.format_exception(*args)))

        def on_message(kind: QtMsgType, _context: object, text: str) -> None:
            is_bad = kind not in (QtMsgType.QtDebugMsg, QtMsgType.QtInfoMsg)
            if is_bad and not any(word in text for word in IGNORED):
                self.fault(f"Qt says: {text}\n" + "".join(traceback.format_stack(limit=8)))

        over, main = threading.Event(), threading.get_ident()

        def watch() -> None:
            while not over.wait(0.1):
                beat, worked = self._beat
                late, work = time.monotonic() - beat, time.clock_gettime(self._clock) - worked
                if work > self.gap or late > 10 * self.gap:
                    stack = "".join(traceback.format_stack(sys._current_frames()[main]))
                    self.fault(f"no response for {late:.1f} s, {work:.1f} s of work\n{stack}")
                    self._note_beat()

        hook, sys.excepthook = sys.excepthook, on_exception
        before = qInstallMessageHandler(on_message)
        self._note_beat()
        self._timer.start(20)
        thread = threading.Thread(target=watch, daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()
            self._timer.stop()
            qInstallMessageHandler(before)
            sys.excepthook = hook


def _folders(folder: Path) -> Iterator[str]:
    """Write small models, intact and damaged, and return their names."""
    from tests.conftest import write_tiny_bert

    tiny = folder / "tiny"
    tiny.mkdir()
    write_tiny_bert(tiny)
    alone, broken = folder / "structure-alone", folder / "broken"
    alone.mkdir()
    shutil.copy(tiny / "config.json", alone)
    shutil.copytree(tiny, broken)
    (broken / "model.safetensors").write_bytes((tiny / "model.safetensors").read_bytes()[:5000])
    (folder / "bad.bertviewer").write_bytes(b"no run")
    return map(str, (tiny, alone, broken, folder / "bad.bertviewer", folder / "a.bertviewer"))


def _answer_dialogs(monkey: Callable[[], Monkey], folder: Path) -> None:
    """Answer file dialogs, which would block."""

    def saved(*_: object, **__: object) -> tuple[str, str]:
        name = monkey().choose(SAVED)
        return (str(folder / name) if name else "", "")

    def opened(*_: object, **__: object) -> str:
        return monkey().choose(("", *monkey().models))

    QFileDialog.getSaveFileName = saved  # type: ignore[method-assign]
    QFileDialog.getExistingDirectory = opened  # type: ignore[method-assign]
    QFileDialog.getOpenFileName = lambda *_, **__: (opened(), "")  # type: ignore[method-assign]


def main() -> None:
    """Play for some minutes, and print the faults."""
    parser = argparse.ArgumentParser(prog="python -m tests.monkey", description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--acts", type=int)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("--model", help="open only this model")
    parser.add_argument("--gap", type=float, default=GAP, help="seconds without a response")
    options = parser.parse_args()
    faulthandler.enable()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ.update({"XDG_CONFIG_HOME": name, "XDG_STATE_HOME": name, "HF_HUB_OFFLINE": "1"})
        os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
        application = QApplication([])
        configure(application)
        QSettings.setPath(QSettings.Format.NativeFormat, QSettings.Scope.UserScope, name)
        monkey = Monkey(options.seed, folder, options.model)
        monkey.gap = options.gap
        _answer_dialogs(lambda: monkey, folder)
        monkey.play(60 * options.minutes, options.acts)
        sys.stdout.write("\n\n".join(monkey.faults) + "\n")
        monkey.window.close()
        monkey.worker.stop(10)
    leave(1 if monkey.faults else 0)


if __name__ == "__main__":
    main()
