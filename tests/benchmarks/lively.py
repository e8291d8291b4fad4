"""A window that is open, and how long its thread is held while something goes on."""

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from msgspec import Struct

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import numpy as np
from PySide6.QtCore import QSettings, QTimer
from PySide6.QtWidgets import QApplication

from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.sources.parsing import parse_source
from bertviewer.ui.app.application import configure, make_window
from bertviewer.ui.jobs.worker import Worker
from bertviewer.ui.shell.main_window import MainWindow

TICK = 5  # milliseconds


class Gap(Struct, frozen=True):
    """The longest time between two turns of the event loop, and the most that a turn computes.

    The first grows with all else that the machine does, the second does not.
    """

    wall: float
    cpu: float


@contextmanager
def opened_window(
    name: str = "bert-base-uncased",
) -> Iterator[tuple[QApplication, MainWindow]]:
    """Give a window with a model of that name open."""
    application = QApplication.instance() or QApplication([])
    assert isinstance(application, QApplication)
    configure(application)
    worker = Worker()
    with tempfile.TemporaryDirectory() as settings:
        QSettings.setPath(QSettings.Format.NativeFormat, QSettings.Scope.UserScope, settings)
        shown = make_window(worker)
        shown.show()
        try:
            shown.open_source(parse_source(name))
            wait(application, lambda: shown.workspace.architecture is not None)
            wait(application, lambda: not worker.busy)
            yield application, shown
        finally:
            shown.close()
            worker.stop(30)


def wait(application: QApplication, is_done: Callable[[], bool]) -> None:
    """Let the event loop turn until that is so."""
    while not is_done():
        application.processEvents()
        time.sleep(0.001)


def turn(application: QApplication, seconds: float) -> None:
    """Let the event loop turn for so long."""
    until = time.perf_counter() + seconds
    wait(application, lambda: time.perf_counter() > until)


def run(application: QApplication, shown: MainWindow, sentence: Sentence) -> None:
    """Run a sentence, with random weights if need be, until the run is there."""
    before = shown.workspace.runs.run
    shown.workspace.run_sentence(sentence, random_weights=True)
    wait(application, lambda: shown.workspace.runs.run is not before)
    application.processEvents()


def gap(application: QApplication, go: Callable[[], object]) -> Gap:
    """Return how long the window is held while ``go`` turns the event loop, and just after."""
    ticks = [(time.perf_counter(), time.thread_time())]
    timer = QTimer()
    timer.timeout.connect(lambda: ticks.append((time.perf_counter(), time.thread_time())))
    timer.start(TICK)
    go()
    turn(application, 0.5)
    timer.stop()
    wall, cpu = np.diff(np.array(ticks), axis=0).max(axis=0)
    return Gap(float(wall), float(cpu))
