"""What the next run lacks, and for how long random weights are chosen."""

import pytest
from msgspec.structs import replace
from PySide6.QtWidgets import QApplication

from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.sources.parsing import parse_source
from bertviewer.ui.state.run_input import RunInput
from tests.core.analysis.runs import run_of, tokens_of

SENTENCE = Sentence("a test")


@pytest.fixture
def trained(opened_demo: LoadedModel) -> Architecture:
    return opened_demo.architecture


@pytest.fixture
def bare(trained: Architecture) -> Architecture:
    """Return an architecture without weights."""
    return replace(trained, source=replace(trained.source, weights="none"))


def test_it_says_what_is_missing(
    trained: Architecture, bare: Architecture, qapp: QApplication
) -> None:
    next_run = RunInput()
    assert next_run.lacking == "No model is open."
    next_run.set_model(parse_source("demo"), trained)
    assert next_run.lacking == "Type a sentence first."
    next_run.set_sentence(Sentence(" \u2003"))
    assert next_run.lacking == "Type a sentence first."
    next_run.set_sentence(SENTENCE)
    assert next_run.lacking == ""
    next_run.set_model(parse_source("bert-base-uncased"), bare)
    assert next_run.lacking == "This model has no weights. Select random weights to run it."
    next_run.set_random_weights(True)
    assert next_run.lacking == ""


def test_random_weights_are_chosen_for_all_heads_of_one_model(
    trained: Architecture, bare: Architecture, qapp: QApplication
) -> None:
    next_run = RunInput()
    next_run.set_model(parse_source("bert-base-uncased"), bare)
    next_run.set_random_weights(True)
    next_run.set_model(parse_source("bert-base-uncased", "masked-lm"), bare)
    chosen = [next_run.random_weights]
    for name, architecture in (("bert-large-uncased", bare), ("demo", trained)):
        next_run.set_model(parse_source(name), architecture)
        chosen.append(next_run.random_weights)
        next_run.set_random_weights(True)
    assert chosen == [True, False, False]


def test_the_choice_is_that_of_the_results(bare: Architecture, qapp: QApplication) -> None:
    next_run = RunInput()
    next_run.set_model(parse_source("bert-base-uncased"), bare)
    run = run_of(tokens_of("a", "test"))
    next_run.take_over(replace(run, sentence=SENTENCE))
    assert next_run.random_weights
    assert next_run.history.entries == (SENTENCE,)


def test_it_tells_of_a_change_once(qapp: QApplication) -> None:
    next_run = RunInput()
    heard: list[Sentence] = []
    next_run.changed.connect(lambda: heard.append(next_run.sentence))
    for _ in range(2):
        next_run.set_sentence(SENTENCE)
        next_run.set_random_weights(True)
    assert heard == [SENTENCE, SENTENCE]
