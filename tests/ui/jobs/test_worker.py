import itertools
import threading
import time

import pytest
from PySide6.QtCore import QEvent, QObject
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from bertviewer.core.util.progress import Progress
from bertviewer.ui.jobs.worker import Worker
from tests.tools.patient_bot import PATIENCE


def spin(progress: Progress) -> None:
    """Work until cancelled."""
    for step in itertools.count():
        progress(step, 0, "spinning")
        time.sleep(0.001)


def failed(error: BaseException) -> None:
    pytest.fail(f"ended in {error!r}")


def test_results_come_back_in_the_windows_thread(worker: Worker, qtbot: QtBot) -> None:
    seen: list[object] = []

    def returned(result: object) -> None:
        seen.extend((result, threading.current_thread()))

    worker.start(lambda _: threading.current_thread().name, returned, seen.append)
    qtbot.waitUntil(lambda: len(seen) == 2)
    assert seen == ["bertviewer-worker", threading.current_thread()]


def test_cancel_stops_the_task(worker: Worker, qtbot: QtBot) -> None:
    ends: list[str] = []
    worker.start(
        spin,
        lambda _: pytest.fail("was not cancelled"),
        failed,
        lambda: ends.append("cancelled"),
    )
    with qtbot.waitSignal(worker.progressed):
        pass
    worker.cancel()
    qtbot.waitUntil(lambda: ends == ["cancelled"])
    assert not worker.busy


def test_one_task_at_a_time_and_the_last_wish_wins(worker: Worker, qtbot: QtBot) -> None:
    results: list[int] = []
    running: list[int] = []

    def work(number: int, progress: Progress) -> int:
        running.append(number)
        assert len(running) == 1
        try:
            if number < 19:
                spin(progress)
        finally:
            running.remove(number)
        return number

    for number in range(20):
        worker.start(
            lambda progress, number=number: work(number, progress),  # type: ignore[misc]
            results.append,
            failed,
        )
    qtbot.waitUntil(lambda: not worker.busy)
    assert results == [19]


def test_even_a_panic_is_an_error(worker: Worker, qtbot: QtBot) -> None:
    class Panic(BaseException):
        pass

    def work(_: Progress) -> None:
        raise Panic

    errors: list[BaseException] = []
    worker.start(work, lambda _: None, errors.append)
    qtbot.waitUntil(lambda: bool(errors))
    assert isinstance(errors[0], Panic)


def test_nothing_is_heard_of_a_worker_that_was_stopped(qtbot: QtBot) -> None:
    worker = Worker()
    heard: list[object] = []
    worker.start(spin, heard.append, heard.append, lambda: heard.append("cancelled"))
    with qtbot.waitSignal(worker.progressed):
        pass
    assert worker.stop(PATIENCE / 1000)
    QApplication.processEvents()
    assert heard == []


class StopsAtTheEnd(QObject):
    """Stops a worker when a job's end has come to the window's thread, and is not taken yet."""

    def __init__(self, worker: Worker) -> None:
        super().__init__()
        self.stopped: list[bool] = []
        self._worker = worker
        worker.installEventFilter(self)

    def eventFilter(self, _watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.MetaCall and not self.stopped:
            self.stopped.append(self._worker.stop(PATIENCE / 1000))
        return False


def test_nothing_is_heard_of_an_end_that_was_on_its_way_when_the_worker_was_stopped(
    qtbot: QtBot,
) -> None:
    worker = Worker()
    heard: list[object] = []
    stops = StopsAtTheEnd(worker)
    worker.start(lambda _: None, heard.append, heard.append)
    qtbot.waitUntil(lambda: stops.stopped == [True])
    QApplication.processEvents()
    assert heard == []


def test_what_is_started_when_a_job_ends_gives_way_to_the_one_that_waited(
    worker: Worker, qtbot: QtBot
) -> None:
    ends: list[str] = []
    has_begun, goes_on = threading.Event(), threading.Event()

    def first(progress: Progress) -> None:
        has_begun.set()
        assert goes_on.wait(PATIENCE / 1000)

    def another(progress: Progress) -> None:
        while True:
            progress(0, 0, "another")
            time.sleep(0.001)

    def start_another(_: object) -> None:
        ends.append("first")
        worker.start(another, ends.append, failed, lambda: ends.append("cancelled"))

    worker.start(first, start_another, failed)
    assert has_begun.wait(PATIENCE / 1000)
    wished = "wished"
    worker.start(lambda _: wished, ends.append, failed)
    goes_on.set()
    qtbot.waitUntil(lambda: wished in ends)
    assert ends[-1] == wished
    assert "cancelled" in ends
    qtbot.waitUntil(lambda: not worker.busy)
