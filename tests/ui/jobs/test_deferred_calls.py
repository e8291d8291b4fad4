"""Deferred calls: one per turn, each once, in order, and never lost."""

import pytest
from pytestqt.exceptions import capture_exceptions
from pytestqt.qtbot import QtBot

from bertviewer.ui.jobs.deferred_calls import DeferredCalls


def test_nested_calls_come_before_those_deferred_earlier(qtbot: QtBot) -> None:
    calls, done = DeferredCalls(), []

    def first() -> None:
        done.append("first")
        calls.add(third)

    def second() -> None:
        done.append("second")

    def third() -> None:
        done.append("third")

    calls.add(first)
    calls.add(second)
    calls.add(first)
    assert done == []
    assert calls.pending
    qtbot.waitUntil(lambda: not calls.pending)
    assert done == ["first", "third", "second"], "what a call defers is a part of it"


def test_a_call_that_fails_does_not_hold_up_the_others(qtbot: QtBot) -> None:
    calls, done = DeferredCalls(), []

    def fail() -> None:
        raise ValueError("no")

    with capture_exceptions() as raised:
        calls.add(fail)
        calls.add(lambda: done.append("after"))
        qtbot.waitUntil(lambda: not calls.pending)
    assert done == ["after"]
    assert [kind for kind, *_ in raised] == [ValueError]


@pytest.mark.parametrize("times", [1, 3])
def test_a_function_can_be_deferred_again(qtbot: QtBot, times: int) -> None:
    calls, done = DeferredCalls(), []

    def work() -> None:
        done.append(1)

    for number in range(times):
        calls.add(work)
        qtbot.waitUntil(lambda: not calls.pending)
        assert len(done) == number + 1
