"""Requests wait for what the user started, and only the latest key of each counts."""

import threading
from typing import Any, cast

import pytest
from pytestqt.qtbot import QtBot

from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.progress import Progress
from bertviewer.ui.jobs.job_queue import JobQueue, ModelWork, Request
from bertviewer.ui.jobs.worker import Priority, Worker
from tests.tools.patient_bot import PATIENCE

MODEL = cast(LoadedModel, "the model")
"""Nothing here looks into it."""


class Desk:
    """A worker with what is to be done, requests by name, and what came of them."""

    def __init__(self, worker: Worker) -> None:
        self.worker = worker
        self.jobs = JobQueue(worker)
        self.jobs.model = MODEL
        self.results: list[Any] = []
        self.errors: list[str] = []
        self._requests: dict[str, Request[Any]] = {}

    def request(self, name: str) -> Request[Any]:
        if name not in self._requests:
            request = Request[Any](self.jobs, self.jobs, needs_torch=False)
            request.finished.connect(lambda: self._on_finished(request))
            self._requests[name] = request
        return self._requests[name]

    def want(self, name: str, key: object, work: ModelWork[Any]) -> bool:
        return self.request(name).want(key, work)

    def _on_finished(self, request: Request[Any]) -> None:
        if request.error:
            self.errors.append(request.error)
        else:
            self.results.append(request.result)


@pytest.fixture
def desk(worker: Worker) -> Desk:
    return Desk(worker)


def until(event: threading.Event) -> ModelWork[str]:
    """Return work that goes on until the event is set, or it is cancelled."""

    def work(_: LoadedModel, progress: Progress) -> str:
        while not event.wait(0.005):
            progress(0, 0, "")
        return "waited"

    return work


def deaf(event: threading.Event) -> ModelWork[str]:
    """Return work that hears of no cancel before the event is set, as inside a library."""

    def work(_model: LoadedModel, _: Progress) -> str:
        assert event.wait(PATIENCE / 1000)
        return "deaf"

    return work


def constant(number: int) -> ModelWork[int]:
    """Return work that gives this number."""
    return lambda _model, _: number


def test_a_result_is_there_under_its_key(desk: Desk, qtbot: QtBot) -> None:
    given: list[object] = []

    def work(model: LoadedModel, _: Progress) -> int:
        given.append(model)
        return 7

    assert not desk.want("heads", "a key", work)
    assert desk.request("heads").is_waiting
    qtbot.waitUntil(lambda: desk.results == [7])
    assert desk.want("heads", "a key", work)
    assert given == [MODEL]
    assert not desk.request("heads").is_waiting
    assert not desk.jobs.has_requests


def test_only_the_latest_key_of_a_request_is_found(desk: Desk, qtbot: QtBot) -> None:
    event = threading.Event()
    desk.want("heads", "first", until(event))
    qtbot.waitUntil(lambda: desk.worker.busy)
    for number in range(5):
        desk.want("heads", number, constant(number))
    qtbot.waitUntil(lambda: not desk.worker.busy)
    assert desk.results == [4]
    assert desk.errors == []


def test_a_key_that_is_on_its_way_is_not_begun_again(desk: Desk, qtbot: QtBot) -> None:
    begun: list[int] = []
    event = threading.Event()

    def work(_: LoadedModel, progress: Progress) -> None:
        begun.append(1)
        until(event)(MODEL, progress)

    desk.want("heads", "key", work)
    qtbot.waitUntil(lambda: bool(begun))
    desk.want("heads", "key", work)
    event.set()
    qtbot.waitUntil(lambda: desk.results == [None])
    assert begun == [1]


def test_requests_of_several_all_come(desk: Desk, qtbot: QtBot) -> None:
    for number in range(4):
        desk.want(f"view {number}", number, constant(number))
    qtbot.waitUntil(lambda: len(desk.results) == 4)
    assert desk.results == [0, 1, 2, 3]


def test_what_a_person_starts_goes_first_and_the_request_after(desk: Desk, qtbot: QtBot) -> None:
    event = threading.Event()
    order: list[str] = []
    desk.want("heads", "key", until(event))
    qtbot.waitUntil(lambda: desk.worker.busy)
    desk.jobs.start("run", lambda _: "run", order.append)
    qtbot.waitUntil(lambda: order == ["run"])
    assert desk.results == []
    event.set()
    qtbot.waitUntil(lambda: desk.results == ["waited"])


def test_requests_that_are_cancelled_all_neither_come_nor_fail(desk: Desk, qtbot: QtBot) -> None:
    event = threading.Event()
    desk.want("heads", "key", until(event))
    qtbot.waitUntil(lambda: desk.worker.busy)
    desk.want("bins", "key", constant(1))
    desk.jobs.forget_requests()
    event.set()
    qtbot.waitUntil(lambda: not desk.worker.busy)
    assert desk.results == []
    assert desk.errors == []
    assert not desk.request("heads").is_waiting
    assert not desk.request("bins").is_waiting


@pytest.mark.parametrize("how", ["wants another", "cancels"])
def test_a_request_that_is_given_up_leaves_what_a_person_waits_for(
    desk: Desk, qtbot: QtBot, how: str
) -> None:
    event = threading.Event()
    order: list[object] = []
    desk.want("heads", "first", deaf(event))
    desk.jobs.start("run", lambda _: "run", order.append)
    # The worker is in the request still, and the run waits for it to end.
    if how == "cancels":
        desk.request("heads").cancel()
    else:
        desk.want("heads", "second", constant(1))
    event.set()
    qtbot.waitUntil(lambda: not desk.worker.busy)
    assert order == ["run"]
    assert desk.results == ([] if how == "cancels" else [1])
    assert desk.errors == []


def test_a_request_that_is_cancelled_while_it_waits_is_never_begun(
    desk: Desk, qtbot: QtBot
) -> None:
    event = threading.Event()
    begun: list[str] = []
    # Such as formulas, which nobody waits for: a request goes first.
    desk.worker.start(
        lambda progress: deaf(event)(MODEL, progress), print, print, priority=Priority.IDLE
    )
    desk.want("heads", "key", lambda _model, _: begun.append("heads"))
    desk.request("heads").cancel()
    event.set()
    qtbot.waitUntil(lambda: not desk.worker.busy)
    assert begun == []
    assert desk.results == []


@pytest.mark.parametrize(("error", "is_ours"), [(ValueError("no"), True), (UserError("no"), False)])
def test_an_error_is_said_and_the_next_request_goes_on(
    desk: Desk, qtbot: QtBot, error: Exception, is_ours: bool
) -> None:
    ours: list[BaseException] = []
    desk.jobs.errored.connect(ours.append)

    def fail(_model: LoadedModel, _: Progress) -> None:
        raise error

    desk.want("heads", "key", fail)
    desk.want("bins", "key", constant(1))
    qtbot.waitUntil(lambda: desk.results == [1])
    assert desk.errors == ["No"]
    assert ours == ([error] if is_ours else [])
    # Nor is it tried again for the same key.
    assert desk.want("heads", "key", fail)


def test_another_models_result_is_not_found_under_the_same_key(desk: Desk, qtbot: QtBot) -> None:
    assert not desk.want("weights", "word_embeddings.weight", lambda *_: "of the first model")
    qtbot.waitUntil(lambda: desk.results == ["of the first model"])
    desk.jobs.forget_requests()
    assert desk.request("weights").result is None
    assert not desk.want("weights", "word_embeddings.weight", lambda *_: "of the second")
    qtbot.waitUntil(lambda: desk.results == ["of the first model", "of the second"])


def test_idle_jobs_run_again_after_a_request_that_interrupts_them(desk: Desk, qtbot: QtBot) -> None:
    ends: list[str] = []
    begun = threading.Event()

    def idle(progress: Progress) -> str:
        if not begun.is_set():
            begun.set()
            while True:
                progress(0, 0, "")
        return "idle"

    desk.worker.start(idle, ends.append, print, priority=Priority.IDLE)
    assert begun.wait(PATIENCE / 1000)
    desk.request("heads").finished.connect(lambda: ends.append("request"))
    desk.want("heads", "key", constant(1))
    qtbot.waitUntil(lambda: len(ends) == 2)
    assert ends == ["request", "idle"]
