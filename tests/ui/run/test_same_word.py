"""The cosine of one word in both sentences, or in both runs."""

import pytest
from msgspec.structs import replace
from PySide6.QtWidgets import QToolButton
from pytestqt.qtbot import QtBot

from bertviewer.charts.selection_key import SelectionKey
from bertviewer.core.analysis.similarity import token_pair_path
from bertviewer.ui.jobs.worker import Worker
from tests.charts.runs import made_up
from tests.ui.finding import find
from tests.ui.run.made_up import Sight
from tests.ui.run.similarity_sight import (
    OTHER,
    TEXT,
    choice,
    choose,
    line,
    messages,
    similarity_sight,
)


@pytest.fixture
def sight(worker: Worker, qtbot: QtBot) -> Sight:
    return similarity_sight(worker, qtbot)


def press(sight: Sight, name: str) -> None:
    find(sight.view, QToolButton, name).click()
    sight.draw()


def test_one_word_in_both_sentences(sight: Sight) -> None:
    run = made_up(TEXT, "a river has a bank")
    sight.run(run)
    press(sight, "sameWord")
    words = choice(sight, "sameWords")
    assert [words.itemText(n) for n in range(words.count())] == ["bank (2 ↔ 13)", "river (5 ↔ 10)"]
    choose(sight, "sameWords", 1)
    assert sight.workspace.selection.token == 5
    assert line(sight).values == token_pair_path(run, 5, 10)
    # A token of the second sentence is as good.
    sight.workspace.selection.go(SelectionKey(token=13))
    sight.draw()
    assert line(sight).values == token_pair_path(run, 2, 13)


def test_another_token_of_the_same_text_means_the_same_word(sight: Sight) -> None:
    run = made_up("a bank or another bank", "no bank")
    sight.run(run)
    press(sight, "sameWord")
    sight.workspace.selection.go(SelectionKey(token=5))  # has no partner of its own
    sight.draw()
    assert line(sight).values == token_pair_path(run, 2, 8)


def test_one_word_in_both_runs(sight: Sight) -> None:
    a, b = made_up(TEXT), made_up(OTHER, seed=1)
    sight.keep(a)
    sight.run(b)
    press(sight, "sameWord")
    words = choice(sight, "sameWords")
    texts = [words.itemText(n) for n in range(words.count())]
    assert "bank (3 ↔ A 2)" in texts
    choose(sight, "sameWords", texts.index("bank (3 ↔ A 2)"))
    assert line(sight).values == token_pair_path(b, 3, 2, a)
    assert line(sight).style == "solid"


@pytest.mark.parametrize(
    ("text", "pair", "beginning"),
    [
        ("a bank", "", "Add a second sentence"),
        ("a bank", "no river", "The two sentences have no word in common."),
    ],
)
def test_no_word_in_both_sentences(sight: Sight, text: str, pair: str, beginning: str) -> None:
    sight.run(made_up(text, pair))
    press(sight, "sameWord")
    (message,) = messages(sight)
    assert message.startswith(beginning)
    assert choice(sight, "sameWords").isHidden()
    press(sight, "twoTokens")
    assert messages(sight) == []


def test_no_word_in_both_runs(sight: Sight) -> None:
    sight.keep(made_up("a bank"))
    sight.run(made_up("no river"))
    press(sight, "sameWord")
    assert messages(sight) == ["A and B have no word in common."]


def test_a_pair_that_nothing_separates(sight: Sight) -> None:
    run = made_up("a bank", "a bank")
    # As of GPT-2: one segment, and the tokenizer knows which text a token is of.
    tokens = (replace(t, segment=0, sentence=t.segment) for t in run.tokens if t.text != "[SEP]")
    run = replace(run, tokens=tuple(tokens))
    run = replace(run, hidden_states=tuple(state[:5] for state in run.hidden_states))
    sight.run(run)
    press(sight, "sameWord")
    words = choice(sight, "sameWords")
    assert [words.itemText(n) for n in range(words.count())] == ["a (1 ↔ 3)", "bank (2 ↔ 4)"]
