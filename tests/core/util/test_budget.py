"""Limits of time and memory stop any work, whether it checks them or not."""

import gc
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest

from bertviewer.core.util.budget import (
    Budget,
    OverBudget,
    check,
    is_limited,
    limited,
    reserve,
)
from bertviewer.core.util.errors import Cancelled
from bertviewer.core.util.memory import resident_memory
from bertviewer.core.util.progress import no_progress

LONG = 20.0
"""Seconds of work that a test fails to stop."""


def spin(seconds: float = LONG) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


def spin_checking() -> None:
    end = time.monotonic() + LONG
    while time.monotonic() < end:
        check()


def spin_suppressing_an_error() -> None:
    with suppress(Exception):
        spin()
    spin()


def spin_in_a_destructor() -> None:
    class Destructor:
        def __del__(self) -> None:
            spin()

    Destructor()
    spin()


def spin_in_garbage_collection() -> None:
    def callback(phase: str, info: dict[str, int]) -> None:
        spin()

    gc.callbacks.append(callback)
    try:
        gc.collect()
    finally:
        gc.callbacks.remove(callback)
    spin()


# Python ignores exceptions in destructors and callbacks of the garbage collector.
STUBBORN = (spin_in_a_destructor, spin_in_garbage_collection)
WORK = (spin, spin_checking, spin_suppressing_an_error)


@pytest.mark.parametrize("work", [*WORK, *STUBBORN])
def test_the_time_limit_stops_any_work(work: Callable[[], None]) -> None:
    with (
        pytest.raises(OverBudget, match=r"the time limit of 0\.1 s was reached"),
        limited(no_progress, seconds=0.1),
    ):
        work()


@pytest.mark.parametrize("work", WORK)
def test_cancelling_stops_any_work_with_its_cause(work: Callable[[], None]) -> None:
    deadline, cause = time.monotonic() + 0.1, ValueError("raised by a script's progress callback")

    def progress(done: int, total: int, label: str) -> None:
        if time.monotonic() > deadline:
            raise Cancelled from cause

    with pytest.raises(Cancelled) as raised, limited(progress):
        work()
    assert raised.value.__cause__ is cause


@pytest.mark.skipif(resident_memory() is None, reason="the system does not say")
def test_the_memory_limit_stops_work() -> None:
    held = []

    def allocate() -> None:
        for _ in range(2_000):
            held.append(b"x" * 10**6)
            spin(0.001)

    with (
        pytest.raises(OverBudget, match=r"the memory limit of 0\.1 GB was reached"),
        limited(no_progress, memory=100_000_000),
    ):
        allocate()
    assert len(held) < 1_000


def test_memory_is_refused_before_it_is_allocated() -> None:
    budget = Budget(memory=100_000_000)
    with budget.spend(no_progress, 1.0):
        reserve(50_000_000)
    assert not budget.was_exceeded
    with pytest.raises(OverBudget, match=r"9\.0 GB more"), budget.spend(no_progress, 1.0):
        reserve(9 * 10**9)
    assert budget.was_exceeded


def test_nothing_is_raised_after_the_work() -> None:
    for _ in range(5):
        with suppress(OverBudget), limited(no_progress, seconds=0.15):
            spin(0.14)
    spin(0.2)
    assert not is_limited()


def test_context_managers_are_left_properly() -> None:
    restored = []

    @contextmanager
    def changing() -> Iterator[None]:
        try:
            yield
        finally:
            spin(0.4)
            restored.append(True)

    with pytest.raises(OverBudget), limited(no_progress, seconds=0.1), changing():
        spin()
    assert restored == [True]


def test_work_inside_an_entered_context_manager_is_stopped() -> None:
    @contextmanager
    def opening() -> Iterator[None]:
        with limited(no_progress, seconds=0.1):
            spin()
        yield

    with pytest.raises(OverBudget), opening():
        pass


def test_progress_is_reported_while_the_work_is_silent() -> None:
    labels: list[str] = []
    with limited(lambda done, total, label: labels.append(label)) as limits:
        limits.report(0, 0, "Working")
        spin(0.3)
    assert len(labels) > 2
    assert set(labels) == {"Working"}


def test_an_error_of_the_progress_callback_ends_the_work() -> None:
    work = threading.get_ident()

    def progress(done: int, total: int, label: str) -> None:
        if threading.get_ident() != work:
            raise OSError("the terminal is closed")

    with pytest.raises(OSError, match="the terminal is closed"), limited(progress):
        spin()


def test_parts_of_a_budget_share_its_time() -> None:
    budget = Budget(seconds=0.4)
    for part in (0.5, 1.0):  # 0.2 s, then what is left
        with pytest.raises(OverBudget) as raised, budget.spend(no_progress, part):
            spin()
        seconds = float(str(raised.value).split()[4])
        assert 0 <= seconds <= 0.2
    assert budget.was_exceeded
