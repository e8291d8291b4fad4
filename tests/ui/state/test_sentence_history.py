"""The sentences before: in order, each once, gone through up and down."""

from PySide6.QtWidgets import QApplication

from bertviewer.core.schema.activation_run import Sentence
from bertviewer.ui.state.run_input import MAX_SENTENCES, SentenceHistory

A, B, C = Sentence("a"), Sentence("b", "second"), Sentence("c")


def test_each_is_kept_once_and_the_last_is_the_newest(qapp: QApplication) -> None:
    history = SentenceHistory()
    heard: list[int] = []
    history.changed.connect(lambda: heard.append(len(history.entries)))
    for sentence in (A, B, A, Sentence("b", "second", cut=True)):
        history.add(sentence)
    assert history.entries == (A, B)
    assert heard == [1, 2, 2, 2]


def test_there_are_never_too_many(qapp: QApplication) -> None:
    history = SentenceHistory()
    history.set_entries(Sentence(str(number)) for number in range(3 * MAX_SENTENCES))
    assert len(history.entries) == MAX_SENTENCES
    assert history.entries[-1] == Sentence(str(3 * MAX_SENTENCES - 1))


def test_up_and_down_come_back_to_what_was_typed(qapp: QApplication) -> None:
    history = SentenceHistory()
    history.set_entries((A, B, C))
    typed = Sentence("half a sen")
    assert history.later(typed) is None
    assert [history.earlier(typed), history.earlier(C), history.earlier(B)] == [C, B, A]
    assert history.earlier(A) is None
    assert [history.later(A), history.later(B), history.later(C)] == [B, C, typed]
    assert history.later(typed) is None


def test_what_was_run_last_is_not_offered_while_it_is_shown(qapp: QApplication) -> None:
    history = SentenceHistory()
    history.set_entries((A, B))
    assert history.earlier(B) == A
    assert history.later(A) == B
