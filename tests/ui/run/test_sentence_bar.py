"""Sentence bar: the typed sentence, why it cannot be run, and the buttons around it."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import (
    QCheckBox,
    QLabel,
    QLineEdit,
    QProgressBar,
    QPushButton,
    QToolButton,
    QWidget,
)
from pytestqt.qtbot import QtBot

from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.sources.parsing import parse_source
from bertviewer.ui.run.run_button import RunButton
from bertviewer.ui.run.sentence_bar import BASELINE_WIDTH, EXAMPLE, FULL_WIDTH, SentenceBar
from bertviewer.ui.state.workspace import Workspace
from tests.core.opened import plain
from tests.tools.patient_bot import PATIENCE
from tests.ui.direct_worker import settle, show_architecture
from tests.ui.finding import activate, find


@pytest.fixture
def bar(workspace: Workspace, qtbot: QtBot) -> Iterator[SentenceBar]:
    """Return a bar before a model is open."""
    bar = SentenceBar(workspace)
    qtbot.addWidget(bar)
    bar.resize(1200, 56)
    bar.show()
    yield bar
    assert bar.stop(PATIENCE / 1000)


@pytest.fixture
def demo_bar(bar: SentenceBar, demo_workspace: Workspace) -> SentenceBar:
    """Return a bar over the demo model."""
    return bar


@pytest.fixture
def untrained_bar(bar: SentenceBar, workspace: Workspace) -> SentenceBar:
    """Return a bar over a model without weights."""
    assert find(bar, QPushButton, "runButton").toolTip() == "No model is open."
    show_architecture(workspace, plain("bert-base-uncased"))
    return bar


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Sentence, bool]]:
    """Return the sentences that are run, and whether on random weights."""
    runs: list[tuple[Sentence, bool]] = []
    monkeypatch.setattr(
        Workspace,
        "run_sentence",
        lambda _self, sentence, random_weights: runs.append((sentence, random_weights)),
    )
    return runs


def visible(bar: QWidget, *names: str) -> list[bool]:
    return [find(bar, QWidget, name).isVisible() for name in names]


def test_run_is_enabled_when_nothing_is_missing(untrained_bar: SentenceBar) -> None:
    button = find(untrained_bar, QPushButton, "runButton")
    missing = [button.toolTip()]
    find(untrained_bar, QCheckBox, "randomWeightsCheck").setChecked(True)
    missing.append(button.toolTip())
    assert missing == [
        "This model has no weights. Select random weights to run it.",
        "Type a sentence first.",
    ]
    assert not button.isEnabled()
    untrained_bar.set_sentence("a test", None)
    assert button.isEnabled()
    assert button.toolTip() == "Run the sentence (Enter)"


def test_enter_without_weights_offers_random_weights(
    untrained_bar: SentenceBar, qtbot: QtBot, runs: list[tuple[Sentence, bool]]
) -> None:
    field = find(untrained_bar, QLineEdit, "sentenceEdit")
    names = "runLacking", "runOnRandom", "randomWeightsCheck"
    assert visible(untrained_bar, *names) == [False, False, True]
    qtbot.keyClicks(field, "a test")
    qtbot.keyClick(field, Qt.Key.Key_Return)
    assert find(untrained_bar, QLabel, "runLacking").text() == "This model has no weights."
    assert visible(untrained_bar, *names) == [True, True, False]
    qtbot.keyClicks(field, "s")  # hides the message
    assert visible(untrained_bar, *names) == [False, False, True]
    qtbot.keyClick(field, Qt.Key.Key_Enter)
    assert runs == []
    find(untrained_bar, QPushButton, "runOnRandom").click()
    assert runs == [(Sentence("a tests"), True)]
    assert find(untrained_bar, QCheckBox, "randomWeightsCheck").isChecked()


@pytest.mark.parametrize("key", [Qt.Key.Key_Return, Qt.Key.Key_Enter])
def test_enter_in_an_empty_field_says_what_is_missing(
    demo_bar: SentenceBar, qtbot: QtBot, key: Qt.Key, runs: list[tuple[Sentence, bool]]
) -> None:
    qtbot.keyClick(find(demo_bar, QLineEdit, "sentenceEdit"), key)
    assert find(demo_bar, QLabel, "runLacking").text() == "Type a sentence first."
    assert visible(demo_bar, "runLacking", "runOnRandom") == [True, False]
    assert runs == []


def test_without_a_tokenizer_nothing_can_be_run(
    tiny_bert_folder: Path, tmp_path: Path, bar: SentenceBar, workspace: Workspace
) -> None:
    folder = Path(shutil.copytree(tiny_bert_folder, tmp_path / "model"))
    (folder / "vocab.txt").unlink()
    workspace.open(parse_source(str(folder)))
    settle(workspace)
    bar.set_sentence("the cat", None)
    button, note = find(bar, QPushButton, "runButton"), find(bar, QLabel, "tokenCount")
    assert not button.isEnabled()
    assert button.toolTip() == "This model has no tokenizer, so no sentence can be run."
    assert note.text() == "This model has no tokenizer"
    assert note.toolTip() == button.toolTip()


def test_the_second_sentence_has_a_field_while_it_is_used(
    demo_bar: SentenceBar, demo_workspace: Workspace, qtbot: QtBot
) -> None:
    pair, names = find(demo_bar, QLineEdit, "pairEdit"), ("addPair", "pairEdit")
    assert visible(demo_bar, *names) == [True, False]
    activate(demo_bar, qtbot)
    qtbot.mouseClick(find(demo_bar, QToolButton, "addPair"), Qt.MouseButton.LeftButton)
    assert visible(demo_bar, *names) == [False, True]
    qtbot.waitUntil(pair.hasFocus)
    qtbot.keyClicks(pair, "b")
    qtbot.mouseClick(find(demo_bar, QToolButton, "dropPair"), Qt.MouseButton.LeftButton)
    assert visible(demo_bar, *names) == [True, False]
    assert pair.text() == ""
    sentences = []
    for text, is_shown in (("b", True), (None, False), (" \u2003", True)):
        demo_bar.set_sentence("a", text)
        assert pair.isVisible() == is_shown
        sentences.append(demo_workspace.run_input.sentence)
    assert sentences == [Sentence("a", "b"), Sentence("a"), Sentence("a")]


def test_cancel_replaces_run_while_it_runs_and_takes_over_the_focus(
    demo_bar: SentenceBar, demo_workspace: Workspace, qtbot: QtBot
) -> None:
    run, cancel = (find(demo_bar, QPushButton, name) for name in ("runButton", "cancelButton"))
    progress = find(demo_bar, QProgressBar, "runProgress")
    demo_bar.set_sentence("a test", None)
    activate(demo_bar, qtbot)
    run.setFocus()
    place = run.mapTo(demo_bar, run.rect().topLeft())
    qtbot.keyClick(run, Qt.Key.Key_Space)
    assert visible(demo_bar, "runButton", "cancelButton", "runProgress") == [False, True, True]
    assert cancel.hasFocus()
    assert cancel.mapTo(demo_bar, cancel.rect().topLeft()) == place
    demo_workspace.jobs.progressed.emit(3, 7, "running")
    find(demo_bar, QLineEdit, "sentenceEdit").setText("another one")  # leaves the progress
    assert (progress.value(), progress.maximum()) == (3, 7)
    assert not run.isEnabled()
    settle(demo_workspace)
    assert visible(demo_bar, "runButton", "cancelButton", "runProgress") == [True, False, False]
    assert run.hasFocus()
    assert demo_workspace.runs.run is not None
    assert demo_workspace.runs.run.sentence == Sentence("a test")


def test_up_and_down_go_through_earlier_sentences(
    demo_bar: SentenceBar, demo_workspace: Workspace, qtbot: QtBot
) -> None:
    entries = Sentence("one"), Sentence("two", "a pair")
    demo_workspace.run_input.history.set_entries(entries)
    edit, pair = (find(demo_bar, QLineEdit, name) for name in ("sentenceEdit", "pairEdit"))
    qtbot.keyClicks(edit, "half")
    found = []
    for key in (Qt.Key.Key_Up, Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_Down):
        qtbot.keyClick(edit, key)
        found.append((edit.text(), pair.text()))
    assert found == [("two", "a pair"), ("one", ""), ("two", "a pair"), ("half", "")]


def test_the_menu_of_run(
    demo_bar: SentenceBar, demo_workspace: Workspace, runs: list[tuple[Sentence, bool]]
) -> None:
    button, run_input = find(demo_bar, RunButton), demo_workspace.run_input
    run_input.history.set_entries([Sentence("an earlier one")])

    def is_enabled(name: str) -> bool:
        return find(button.menu(), QAction, name).isEnabled()

    # A trained model has no choice of weights.
    assert find(button.menu(), QAction, "trainedWeights").isChecked()
    names = "randomWeights", "keepChoice", "runAgain"
    assert [is_enabled(name) for name in names] == [False, False, False]
    (earlier,) = [each for each in button.menu().actions() if each.text() == "an earlier one"]
    earlier.trigger()
    assert find(demo_bar, QLineEdit, "sentenceEdit").text() == "an earlier one"
    find(button.menu(), QAction, "runAgain").trigger()
    assert runs == [(Sentence("an earlier one"), False)]
    chosen: list[str] = []
    button.device_chosen.connect(chosen.append)
    find(button.menu(), QAction, "device-cpu").trigger()
    assert chosen == ["cpu"]


def test_an_example_is_offered_until_something_is_typed(
    demo_bar: SentenceBar, runs: list[tuple[Sentence, bool]]
) -> None:
    button = find(demo_bar, QToolButton, "exampleSentence")
    assert button.isVisible()
    demo_bar.set_sentence("a", None)
    assert not button.isVisible()
    demo_bar.set_sentence("", None)
    button.click()
    assert runs == [(EXAMPLE, False)]
    assert not button.isVisible()


def test_the_button_of_the_baseline_becomes_shorter_in_a_narrow_bar(demo_bar: SentenceBar) -> None:
    keep, found = find(demo_bar, QPushButton, "keepRun"), []
    for width in (FULL_WIDTH, FULL_WIDTH - 1, BASELINE_WIDTH, BASELINE_WIDTH - 1):
        demo_bar.resize(width, demo_bar.height())
        found.append((keep.isVisible(), keep.text()))
    assert found == [(True, "Set as baseline"), (True, "A"), (True, "A"), (False, "A")]
    assert keep.accessibleName() == "Set as baseline"
