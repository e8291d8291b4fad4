"""Limits of time and memory stop any work, also work that never asks."""

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
"""Seconds: a test that is not stopped fails."""


def _count(seconds: float = LONG) -> None:
    """Count in a loop that calls nothing of the limits."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


def _check_often() -> None:
    end = time.monotonic() + LONG
    while time.monotonic() < end:
        check()


def _swallow_an_error() -> None:
    with suppress(Exception):
        _count()
    _count()


class _Destructor:
    def __del__(self) -> None:
        _count()


def _destroy() -> None:
    _Destructor()
    _count()


def _collect_garbage() -> None:
    def callback(phase: str, info: dict[str, int]) -> None:
        _count()

    gc.callbacks.append(callback)
    try:
        gc.collect()
    finally:
        gc.callbacks.remove(callback)
    _count()


@pytest.mark.parametrize("work", [_destroy, _collect_garbage])
def test_an_interruption_that_python_ignores_is_repeated(work: Callable[[], None]) -> None:
    with pytest.raises(OverBudget), limited(no_progress, seconds=0.05):
        work()


@pytest.mark.parametrize("work", [_count, _check_often, _swallow_an_error])
def test_work_is_stopped_at_the_time_limit(work: Callable[[], None]) -> None:
    with (
        pytest.raises(OverBudget, match=r"the time limit of 0\.1 s was reached"),
        limited(no_progress, seconds=0.1),
    ):
        work()


@pytest.mark.parametrize("work", [_count, _check_often, _swallow_an_error])
def test_work_is_cancelled_wherever_it_is(work: Callable[[], None]) -> None:
    wish, cause = threading.Event(), ValueError("what a script's own progress raised")

    def progress(done: int, total: int, label: str) -> None:
        if wish.is_set():
            raise Cancelled from cause

    timer = threading.Timer(0.1, wish.set)
    timer.start()
    with pytest.raises(Cancelled) as raised, limited(progress):
        work()
    timer.join()
    assert raised.value.__cause__ is cause


@pytest.mark.skipif(resident_memory() is None, reason="the system does not say")
def test_work_is_stopped_at_the_memory_limit() -> None:
    held = []

    def take() -> None:
        for _ in range(2_000):
            held.append(b"x" * 10**6)
            _count(0.001)

    with (
        pytest.raises(OverBudget, match=r"the memory limit of 0\.1 GB was reached"),
        limited(no_progress, memory=100_000_000),
    ):
        take()
    assert len(held) < 1_000


def test_memory_is_refused_before_it_is_taken() -> None:
    with limited(no_progress, memory=100_000_000):
        reserve(50_000_000)
        with pytest.raises(OverBudget, match=r"9\.0 GB more"):
            reserve(9 * 10**9)


def test_nothing_is_raised_once_the_work_is_done() -> None:
    for _ in range(5):
        try:
            with limited(no_progress, seconds=0.15):
                _count(0.14)
        except OverBudget:
            continue
    _count(0.2)
    assert not is_limited()


def test_what_a_context_manager_restores_is_restored() -> None:
    done = []

    @contextmanager
    def changing() -> Iterator[None]:
        try:
            yield
        finally:
            _count(0.4)
            done.append(True)

    with pytest.raises(OverBudget), limited(no_progress, seconds=0.1), changing():
        _count()
    assert done == [True]


def test_work_inside_a_context_manager_that_is_entered_is_stopped() -> None:
    @contextmanager
    def opening() -> Iterator[None]:
        with limited(no_progress, seconds=0.1):
            _count()
        yield

    with pytest.raises(OverBudget), opening():
        pass


def test_progress_is_reported_while_the_work_is_silent() -> None:
    said: list[str] = []
    with limited(lambda done, total, label: said.append(label)) as limits:
        limits.report(0, 0, "Working")
        _count(0.3)
    assert len(said) > 2
    assert set(said) == {"Working"}


def test_parts_of_a_budget_share_its_time() -> None:
    budget = Budget(seconds=0.4)
    with pytest.raises(OverBudget), budget.spend(no_progress, 0.5):
        _count()
    assert budget.was_exceeded
    start = time.monotonic()
    with pytest.raises(OverBudget), budget.spend(no_progress, 1.0):
        _count()
    assert time.monotonic() - start < LONG / 2


def test_an_error_in_reporting_ends_the_work_too() -> None:
    work = threading.get_ident()

    def progress(done: int, total: int, label: str) -> None:
        if threading.get_ident() != work:
            raise OSError("the terminal is closed")

    with pytest.raises(OSError, match="the terminal is closed"), limited(progress):
        _count()


def test_a_budget_is_exceeded_by_what_was_refused() -> None:
    budget = Budget()
    with pytest.raises(OverBudget), budget.spend(no_progress, 1.0):
        reserve(10**15)
    assert budget.was_exceeded
