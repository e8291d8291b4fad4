"""Worker thread: results, errors, cancellation, and priority of the latest job."""

import threading
import time

import pytest
from PySide6.QtCore import QEvent, QObject
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot
from typing_extensions import override

from bertviewer.core.util.progress import Progress
from bertviewer.ui.jobs.worker import Priority, Worker
from tests.tools.patient_bot import PATIENCE


def spin(progress: Progress) -> None:
    """Work until cancelled."""
    while True:
        progress(0, 0, "spinning")
        time.sleep(0.001)


def failed(error: BaseException) -> None:
    pytest.fail(f"ended in {error!r}")


def test_jobs_run_in_the_thread_and_callbacks_in_the_gui_thread(
    worker: Worker, qtbot: QtBot
) -> None:
    threads: list[object] = []

    def returned(name: object) -> None:
        threads.extend((name, threading.current_thread()))

    worker.start(lambda _: threading.current_thread().name, returned, failed)
    qtbot.waitUntil(lambda: bool(threads))
    assert threads == ["bertviewer-worker", threading.current_thread()]


def test_cancel_stops_the_jobs_of_the_user_only(worker: Worker, qtbot: QtBot) -> None:
    ends: list[str] = []
    goes_on = threading.Event()

    def of_a_view(progress: Progress) -> str:
        while not goes_on.wait(0.001):
            progress(0, 0, "view")
        return "view"

    worker.start(spin, lambda _: pytest.fail("not cancelled"), failed, lambda: ends.append("user"))
    with qtbot.waitSignal(worker.progressed):
        pass
    worker.cancel()
    qtbot.waitUntil(lambda: ends == ["user"])
    assert not worker.busy
    reports: list[str] = []
    worker.progressed.connect(lambda _done, _total, label: reports.append(label))
    worker.start(of_a_view, ends.append, failed, priority=Priority.VIEW)
    qtbot.waitUntil(lambda: "view" in reports)
    worker.cancel()
    reports.clear()
    qtbot.waitUntil(lambda: "view" in reports or not worker.busy)
    goes_on.set()
    qtbot.waitUntil(lambda: not worker.busy)
    assert ends == ["user", "view"]


def test_one_job_at_a_time_and_the_latest_wins(worker: Worker, qtbot: QtBot) -> None:
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


def test_an_exception_beyond_exception_is_an_error(worker: Worker, qtbot: QtBot) -> None:
    class Panic(BaseException):
        """As Rust libraries raise."""

    def work(_: Progress) -> None:
        raise Panic

    errors: list[BaseException] = []
    worker.start(work, lambda _: None, errors.append)
    qtbot.waitUntil(lambda: bool(errors))
    assert isinstance(errors[0], Panic)


class StopsAtTheEnd(QObject):
    """Stops a worker when the end of its job is queued, and not delivered yet."""

    def __init__(self, worker: Worker) -> None:
        super().__init__()
        self.stopped: list[bool] = []
        self._worker = worker
        worker.installEventFilter(self)

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.MetaCall and not self.stopped:
            self.stopped.append(self._worker.stop(PATIENCE / 1000))
        return False


@pytest.mark.parametrize("moment", ["while it runs", "at its end"])
def test_no_callback_comes_after_the_worker_was_stopped(moment: str, qtbot: QtBot) -> None:
    worker, calls = Worker(), list[object]()
    if moment == "while it runs":
        worker.start(spin, calls.append, calls.append, lambda: calls.append("cancelled"))
        with qtbot.waitSignal(worker.progressed):
            pass
        assert worker.stop(PATIENCE / 1000)
    else:
        stops = StopsAtTheEnd(worker)
        worker.start(lambda _: None, calls.append, calls.append)
        qtbot.waitUntil(lambda: stops.stopped == [True])
    QApplication.processEvents()
    assert calls == []


def test_a_waiting_job_of_the_user_wins_over_what_the_end_of_a_job_starts(
    worker: Worker, qtbot: QtBot
) -> None:
    ends: list[str] = []
    has_begun, goes_on = threading.Event(), threading.Event()

    def first(progress: Progress) -> None:
        has_begun.set()
        assert goes_on.wait(PATIENCE / 1000)

    def start_another(_: object) -> None:
        worker.start(spin, failed, failed, lambda: ends.append("cancelled"))

    worker.start(first, start_another, failed)
    assert has_begun.wait(PATIENCE / 1000)
    worker.start(lambda _: "of the user", ends.append, failed)
    goes_on.set()
    qtbot.waitUntil(lambda: "of the user" in ends)
    assert ends == ["cancelled", "of the user"]
    qtbot.waitUntil(lambda: not worker.busy)
