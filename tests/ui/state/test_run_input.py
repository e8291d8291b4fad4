"""Input of the next run: what is missing, random weights, and earlier sentences."""

import pytest
from msgspec.structs import replace
from PySide6.QtWidgets import QApplication

from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.sources.parsing import parse_source
from bertviewer.ui.state.run_input import MAX_SENTENCES, RunInput, SentenceHistory
from tests.core.analysis.runs import run_of, tokens_of
from tests.core.opened import plain

SENTENCE = Sentence("a test")
A, B, C = Sentence("a"), Sentence("b", "second"), Sentence("c")


@pytest.fixture
def untrained() -> Architecture:
    """Return an architecture without weights."""
    return plain("bert-base-uncased")


@pytest.fixture
def trained(untrained: Architecture) -> Architecture:
    return replace(untrained, source=replace(untrained.source, weights="pretrained"))


@pytest.fixture
def run_input(qapp: QApplication) -> RunInput:
    return RunInput()


def test_the_reason_why_nothing_can_be_run(
    run_input: RunInput, trained: Architecture, untrained: Architecture
) -> None:
    assert run_input.disabled_reason == "No model is open."
    run_input.set_model(parse_source("demo"), trained)
    for blank in ("", " \u2003"):
        run_input.set_sentence(Sentence(blank))
        assert run_input.disabled_reason == "Type a sentence first."
    run_input.set_sentence(SENTENCE)
    assert run_input.disabled_reason == ""
    run_input.set_model(parse_source("bert-base-uncased"), untrained)
    assert (
        run_input.disabled_reason == "This model has no weights. Select random weights to run it."
    )
    assert run_input.lacks_weights
    run_input.set_random_weights(True)
    assert run_input.disabled_reason == ""


def test_random_weights_stay_selected_for_other_heads_but_not_for_other_models(
    run_input: RunInput, trained: Architecture, untrained: Architecture
) -> None:
    run_input.set_model(parse_source("bert-base-uncased"), untrained)
    selected = []
    for name, task, architecture in (
        ("bert-base-uncased", "masked-lm", untrained),
        ("bert-large-uncased", "base", untrained),
        ("demo", "base", trained),
    ):
        run_input.set_random_weights(True)
        run_input.set_model(parse_source(name, task), architecture)
        selected.append(run_input.random_weights)
    assert selected == [True, False, False]


def test_a_run_sets_the_choice_of_weights_and_is_added_to_the_history(
    run_input: RunInput, untrained: Architecture
) -> None:
    run_input.set_model(parse_source("bert-base-uncased"), untrained)
    run_input.set_sentence(A)
    run = replace(run_of(tokens_of("a", "test")), sentence=SENTENCE)  # on random weights
    run_input.take_over(run)
    assert run_input.random_weights
    assert run_input.history.entries == (SENTENCE,)
    assert run_input.sentence == A
    run_input.take_over(run, is_saved=True)
    assert run_input.sentence == SENTENCE


def test_changed_is_emitted_once_per_change(run_input: RunInput) -> None:
    emitted: list[Sentence] = []
    run_input.changed.connect(lambda: emitted.append(run_input.sentence))
    for _ in range(2):
        run_input.set_sentence(SENTENCE)
        run_input.set_random_weights(True)
    assert emitted == [SENTENCE, SENTENCE]


@pytest.fixture
def history(qapp: QApplication) -> SentenceHistory:
    return SentenceHistory()


def test_each_sentence_is_stored_once_the_latest_last(history: SentenceHistory) -> None:
    emitted: list[int] = []
    history.changed.connect(lambda: emitted.append(len(history.entries)))
    for sentence in (A, B, A, Sentence("b", "second", cut=True)):
        history.add(sentence)
    assert history.entries == (A, B)
    assert emitted == [1, 2, 2, 2]


def test_the_oldest_sentences_are_dropped(history: SentenceHistory) -> None:
    history.set_entries(Sentence(str(number)) for number in range(3 * MAX_SENTENCES))
    assert len(history.entries) == MAX_SENTENCES
    assert history.entries[-1] == Sentence(str(3 * MAX_SENTENCES - 1))


def test_later_than_the_latest_sentence_is_what_was_typed(history: SentenceHistory) -> None:
    history.set_entries((A, B, C))
    typed = Sentence("half a sen")
    assert history.later(typed) is None
    assert [history.earlier(typed), history.earlier(C), history.earlier(B)] == [C, B, A]
    assert history.earlier(A) is None
    assert [history.later(A), history.later(B), history.later(C)] == [B, C, typed]
    assert history.later(typed) is None


def test_the_shown_sentence_is_skipped(history: SentenceHistory) -> None:
    history.set_entries((A, B))
    assert history.earlier(B) == A
    assert history.later(A) == B
