"""Deferred calls: one per event-loop turn, each function once, in order."""

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

    for function in (first, second, first):
        calls.add(function)
    assert done == []
    assert calls.pending
    qtbot.waitUntil(lambda: not calls.pending)
    assert done == ["first", "third", "second"]
    calls.add(second)
    qtbot.waitUntil(lambda: not calls.pending)
    assert done[3:] == ["second"]


def test_after_a_call_that_fails_the_others_follow(qtbot: QtBot) -> None:
    calls, done = DeferredCalls(), []

    def fail() -> None:
        raise ValueError("no")

    with capture_exceptions() as raised:
        calls.add(fail)
        calls.add(lambda: done.append("after"))
        qtbot.waitUntil(lambda: not calls.pending)
    assert done == ["after"]
    assert [kind for kind, *_ in raised] == [ValueError]
