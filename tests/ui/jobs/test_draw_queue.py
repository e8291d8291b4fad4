"""Work in turns: one piece each, each once, in order, and never lost."""

import pytest
from pytestqt.exceptions import capture_exceptions
from pytestqt.qtbot import QtBot

from bertviewer.ui.jobs.draw_queue import DrawQueue


def test_pieces_are_done_one_a_turn_and_what_they_ask_for_comes_next(qtbot: QtBot) -> None:
    turns, done = DrawQueue(), []

    def first() -> None:
        done.append("first")
        turns.later(third)

    def second() -> None:
        done.append("second")

    def third() -> None:
        done.append("third")

    turns.later(first)
    turns.later(second)
    turns.later(first)
    assert done == []
    assert turns.pending
    qtbot.waitUntil(lambda: not turns.pending)
    assert done == ["first", "third", "second"], "what a piece asks for is a part of it"


def test_a_piece_that_fails_does_not_hold_up_the_others(qtbot: QtBot) -> None:
    turns, done = DrawQueue(), []

    def fail() -> None:
        raise ValueError("no")

    with capture_exceptions() as raised:
        turns.later(fail)
        turns.later(lambda: done.append("after"))
        qtbot.waitUntil(lambda: not turns.pending)
    assert done == ["after"]
    assert [kind for kind, *_ in raised] == [ValueError]


@pytest.mark.parametrize("times", [1, 3])
def test_what_was_done_can_be_asked_for_again(qtbot: QtBot, times: int) -> None:
    turns, done = DrawQueue(), []

    def work() -> None:
        done.append(1)

    for number in range(times):
        turns.later(work)
        qtbot.waitUntil(lambda: not turns.pending)
        assert len(done) == number + 1
