"""Activities of the user, which end with the latest one, and requests of views."""

import threading
from collections.abc import Callable
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
    """A job queue, requests by name, and their results."""

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
    """Return work that ends when the event is set, or when it is cancelled."""

    def work(_: LoadedModel, progress: Progress) -> str:
        while not event.wait(0.005):
            progress(0, 0, "")
        return "waited"

    return work


def blocked(event: threading.Event) -> ModelWork[str]:
    """Return work that cannot be cancelled before the event is set, as inside a library."""

    def work(_model: LoadedModel, _: Progress) -> str:
        assert event.wait(PATIENCE / 1000)
        return "blocked"

    return work


def failed(error: BaseException) -> None:
    pytest.fail(f"ended in {error!r}")


def constant(number: int) -> ModelWork[int]:
    return lambda _model, _: number


def test_an_activity_lasts_until_the_latest_job_ends(desk: Desk, qtbot: QtBot) -> None:
    activities: list[str] = []
    cancelled: list[str] = []
    desk.jobs.activity_changed.connect(lambda: activities.append(desk.jobs.activity))
    desk.jobs.cancelled.connect(cancelled.append)
    first, second = threading.Event(), threading.Event()
    desk.jobs.start("run", lambda progress: blocked(first)(MODEL, progress), desk.results.append)
    desk.jobs.start("export", lambda progress: until(second)(MODEL, progress), desk.results.append)
    first.set()
    qtbot.waitUntil(lambda: desk.results == ["blocked"] or cancelled == ["run"])
    assert desk.jobs.activity == "export"
    second.set()
    qtbot.waitUntil(lambda: "waited" in desk.results)
    assert activities == ["run", "export", ""]


def test_an_activity_may_last_until_its_result_is_drawn(desk: Desk, qtbot: QtBot) -> None:
    drawn: list[str] = []

    def returned(_: object) -> None:
        desk.jobs.deferred.add(lambda: drawn.append(desk.jobs.activity))

    desk.jobs.start("run", lambda _: None, returned, until_drawn=True)
    qtbot.waitUntil(lambda: not desk.jobs.activity)
    assert drawn == ["run"]


def test_a_failed_activity_can_be_started_again(desk: Desk, qtbot: QtBot) -> None:
    retries: list[Callable[[], None] | None] = []
    desk.jobs.errored.connect(lambda _: retries.append(desk.jobs.retry))
    attempts: list[int] = []

    def work(_: Progress) -> str:
        attempts.append(1)
        if len(attempts) == 1:
            raise UserError("no")
        return "done"

    desk.jobs.start("save", work, desk.results.append)
    qtbot.waitUntil(lambda: bool(retries))
    assert desk.jobs.retry is None
    [retry] = retries
    assert retry is not None
    retry()
    qtbot.waitUntil(lambda: desk.results == ["done"])


def test_a_result_is_kept_under_its_key(desk: Desk, qtbot: QtBot) -> None:
    models: list[object] = []

    def work(model: LoadedModel, _: Progress) -> int:
        models.append(model)
        return 7

    assert not desk.want("heads", "a key", work)
    assert desk.jobs.has_requests
    qtbot.waitUntil(lambda: desk.results == [7])
    assert desk.want("heads", "a key", work)
    assert models == [MODEL]
    assert not desk.jobs.has_requests


def test_of_several_keys_the_latest_is_computed(desk: Desk, qtbot: QtBot) -> None:
    desk.want("heads", "first", until(threading.Event()))
    qtbot.waitUntil(lambda: desk.worker.busy)
    for number in range(5):
        desk.want("heads", number, constant(number))
    qtbot.waitUntil(lambda: not desk.worker.busy)
    assert (desk.results, desk.errors) == ([4], [])


def test_the_key_that_is_being_computed_is_not_started_again(desk: Desk, qtbot: QtBot) -> None:
    begun: list[int] = []
    event = threading.Event()

    def work(model: LoadedModel, progress: Progress) -> None:
        begun.append(1)
        until(event)(model, progress)

    desk.want("heads", "key", work)
    qtbot.waitUntil(lambda: bool(begun))
    desk.want("heads", "key", work)
    event.set()
    qtbot.waitUntil(lambda: desk.results == [None])
    assert begun == [1]


def test_requests_are_computed_in_order(desk: Desk, qtbot: QtBot) -> None:
    for number in range(4):
        desk.want(f"view {number}", number, constant(number))
    qtbot.waitUntil(lambda: len(desk.results) == 4)
    assert desk.results == [0, 1, 2, 3]


def test_a_request_waits_for_a_model_and_for_torch(
    desk: Desk, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    are_settled: list[bool] = []
    monkeypatch.setattr(
        "bertviewer.ui.jobs.job_queue.libraries.are_settled", lambda: bool(are_settled)
    )
    with_torch = Request[int](desk.jobs, desk.jobs)
    with_torch.finished.connect(lambda: desk.results.append(with_torch.result))
    desk.jobs.model = None
    desk.want("view", "key", constant(1))
    with_torch.want("key", constant(2))
    assert not desk.worker.busy
    desk.jobs.model = MODEL
    desk.worker.start(lambda _: None, lambda _: None, failed)
    qtbot.waitUntil(lambda: not desk.worker.busy)
    assert desk.results == [1]
    are_settled.append(True)
    desk.worker.start(lambda _: None, lambda _: None, failed)
    qtbot.waitUntil(lambda: desk.results == [1, 2])


def test_a_request_is_interrupted_by_the_user_and_computed_afterwards(
    desk: Desk, qtbot: QtBot
) -> None:
    event = threading.Event()
    desk.want("heads", "key", until(event))
    qtbot.waitUntil(lambda: desk.worker.busy)
    desk.jobs.start("run", lambda _: "run", desk.results.append)
    qtbot.waitUntil(lambda: desk.results == ["run"])
    event.set()
    qtbot.waitUntil(lambda: desk.results == ["run", "waited"])


def test_idle_jobs_are_interrupted_by_requests_and_run_afterwards(desk: Desk, qtbot: QtBot) -> None:
    begun = threading.Event()

    def idle(progress: Progress) -> str:
        if not begun.is_set():
            begun.set()
            while True:
                progress(0, 0, "")
        return "idle"

    desk.worker.start(idle, desk.results.append, failed, priority=Priority.IDLE)
    assert begun.wait(PATIENCE / 1000)
    desk.want("heads", "key", constant(1))
    qtbot.waitUntil(lambda: desk.results == [1, "idle"])


@pytest.mark.parametrize("how", ["want another key", "cancel"])
def test_a_request_that_is_given_up_does_not_cancel_an_activity(
    desk: Desk, qtbot: QtBot, how: str
) -> None:
    event = threading.Event()
    desk.want("heads", "first", blocked(event))
    desk.jobs.start("run", lambda _: "run", desk.results.append)
    # The worker is still in the request, and the run waits for its end.
    if how == "cancel":
        desk.request("heads").cancel()
    else:
        desk.want("heads", "second", constant(1))
    event.set()
    qtbot.waitUntil(lambda: not desk.worker.busy)
    assert desk.results == (["run"] if how == "cancel" else ["run", 1])
    assert desk.errors == []


def test_a_request_that_is_cancelled_while_it_waits_is_never_started(
    desk: Desk, qtbot: QtBot
) -> None:
    event = threading.Event()
    begun: list[str] = []
    desk.worker.start(
        lambda progress: blocked(event)(MODEL, progress), print, print, priority=Priority.IDLE
    )
    desk.want("heads", "key", lambda _model, _: begun.append("heads"))
    desk.request("heads").cancel()
    event.set()
    qtbot.waitUntil(lambda: not desk.worker.busy)
    assert (begun, desk.results) == ([], [])


@pytest.mark.parametrize(
    ("error", "is_internal"), [(ValueError("no"), True), (UserError("no"), False)]
)
def test_an_error_is_kept_under_its_key_and_the_next_request_follows(
    desk: Desk, qtbot: QtBot, error: Exception, is_internal: bool
) -> None:
    internal: list[BaseException] = []
    desk.jobs.errored.connect(internal.append)

    def fail(_model: LoadedModel, _: Progress) -> None:
        raise error

    desk.want("heads", "key", fail)
    desk.want("bins", "key", constant(1))
    qtbot.waitUntil(lambda: desk.results == [1])
    assert desk.errors == ["No"]
    assert internal == ([error] if is_internal else [])
    assert desk.want("heads", "key", fail)  # not computed again


def test_another_model_cancels_requests_and_forgets_results(desk: Desk, qtbot: QtBot) -> None:
    desk.want("weights", "pooler.weight", constant(1))
    qtbot.waitUntil(lambda: desk.results == [1])
    event = threading.Event()
    desk.want("heads", "key", until(event))
    qtbot.waitUntil(lambda: desk.worker.busy)
    desk.want("bins", "key", constant(2))
    desk.jobs.forget_requests()
    event.set()
    qtbot.waitUntil(lambda: not desk.worker.busy)
    assert not desk.jobs.has_requests
    assert (desk.results, desk.errors) == ([1], [])
    assert desk.request("weights").result is None
    assert not desk.want("weights", "pooler.weight", constant(3))
    qtbot.waitUntil(lambda: desk.results == [1, 3])
