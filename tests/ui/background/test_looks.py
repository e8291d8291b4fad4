"""Looks wait for what a person started, and only the latest wish of a view counts."""

import threading
from collections.abc import Callable
from typing import Any

import pytest
from pytestqt.qtbot import QtBot

from bertviewer.core.progress import Progress
from bertviewer.ui.background.looks import Look, Looks
from bertviewer.ui.background.worker import Worker
from tests.patient_bot import PATIENCE


class Desk:
    """Looks over a worker that takes up the next one when it has time, and what came of them."""

    def __init__(self, worker: Worker) -> None:
        self.worker = worker
        self.looks = Looks(worker)
        self.results: list[Any] = []
        self.errors: list[BaseException] = []
        worker.busy_changed.connect(self._on_busy)

    def ask(self, view: str, task: Callable[[Progress], Any]) -> None:
        self.looks.ask(view, Look(task, self.results.append, self.errors.append))
        if not self.worker.busy:
            self.looks.start()

    def _on_busy(self, busy: bool) -> None:
        if not busy:
            self.looks.start()


@pytest.fixture
def desk(worker: Worker) -> Desk:
    return Desk(worker)


def until(event: threading.Event) -> Callable[[Progress], str]:
    """Return a task that goes on until the event is set, or it is cancelled."""

    def task(progress: Progress) -> str:
        while not event.wait(0.005):
            progress(0, 0, "")
        return "waited"

    return task


def deaf(event: threading.Event) -> Callable[[Progress], str]:
    """Return a task that hears of no cancel before the event is set, as inside a library."""

    def task(_: Progress) -> str:
        assert event.wait(PATIENCE / 1000)
        return "deaf"

    return task


def constant(number: int) -> Callable[[Progress], int]:
    """Return a task that gives this number."""
    return lambda _: number


def test_a_result_reaches_the_one_who_asked(desk: Desk, qtbot: QtBot) -> None:
    desk.ask("heads", lambda _: 7)
    qtbot.waitUntil(lambda: desk.results == [7])
    assert not desk.looks.is_running


def test_only_the_latest_wish_of_a_view_comes_true(desk: Desk, qtbot: QtBot) -> None:
    event = threading.Event()
    desk.ask("heads", until(event))
    qtbot.waitUntil(lambda: desk.looks.is_running)
    for number in range(5):
        desk.ask("heads", constant(number))
    qtbot.waitUntil(lambda: not desk.worker.busy)
    assert desk.results == [4]
    assert desk.errors == []


def test_wishes_of_several_views_all_come_true(desk: Desk, qtbot: QtBot) -> None:
    for number in range(4):
        desk.ask(f"view {number}", constant(number))
    qtbot.waitUntil(lambda: len(desk.results) == 4)
    assert desk.results == [0, 1, 2, 3]


def test_what_a_person_starts_goes_first_and_the_look_comes_after(desk: Desk, qtbot: QtBot) -> None:
    event = threading.Event()
    order: list[str] = []
    desk.ask("heads", until(event))
    qtbot.waitUntil(lambda: desk.looks.is_running)
    desk.worker.start(lambda _: "run", order.append, lambda _: None)
    qtbot.waitUntil(lambda: order == ["run"])
    assert desk.results == []
    event.set()
    qtbot.waitUntil(lambda: desk.results == ["waited"])


def test_a_wish_that_is_forgotten_neither_comes_nor_fails(desk: Desk, qtbot: QtBot) -> None:
    event = threading.Event()
    desk.ask("heads", until(event))
    qtbot.waitUntil(lambda: desk.looks.is_running)
    desk.ask("bins", lambda _: 1)
    desk.looks.forget()
    event.set()
    qtbot.waitUntil(lambda: not desk.worker.busy)
    assert desk.results == []
    assert desk.errors == []


@pytest.mark.parametrize("gives_up", ["asks", "forgets"])
def test_a_view_that_gives_its_look_up_leaves_what_a_person_waits_for(
    desk: Desk, qtbot: QtBot, gives_up: str
) -> None:
    event = threading.Event()
    told: list[object] = []
    desk.ask("heads", deaf(event))
    desk.worker.start(lambda _: "run", told.append, told.append)
    # The worker is in the look still, and the run waits for it to end.
    if gives_up == "asks":
        desk.ask("heads", constant(1))
    else:
        desk.looks.forget("heads")
    event.set()
    qtbot.waitUntil(lambda: not desk.worker.busy)
    assert told == ["run"]
    assert desk.results == ([1] if gives_up == "asks" else [])
    assert desk.errors == []


def test_a_look_that_is_given_up_while_it_waits_is_never_begun(desk: Desk, qtbot: QtBot) -> None:
    event = threading.Event()
    begun: list[str] = []
    # Such as formulas, which nobody waits for: a look goes first.
    desk.worker.start(deaf(event), lambda _: None, lambda _: None)
    desk.looks.ask("heads", Look(lambda _: begun.append("heads"), desk.results.append, print))
    desk.looks.start()
    desk.looks.forget("heads")
    event.set()
    qtbot.waitUntil(lambda: not desk.worker.busy)
    assert begun == []
    assert desk.results == []


def test_an_error_is_told_and_the_next_look_goes_on(desk: Desk, qtbot: QtBot) -> None:
    def fail(_: Progress) -> None:
        raise ValueError("no")

    desk.ask("heads", fail)
    desk.ask("bins", lambda _: 1)
    qtbot.waitUntil(lambda: desk.results == [1])
    assert [type(error) for error in desk.errors] == [ValueError]
