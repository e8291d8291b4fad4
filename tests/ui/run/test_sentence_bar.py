"""What is typed, and whether it can be run."""

import threading
from typing import Any

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
)
from pytestqt.qtbot import QtBot

from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.sources.parsing import parse_source
from bertviewer.ui.app.application import first_sentence
from bertviewer.ui.jobs import model_jobs as jobs
from bertviewer.ui.run.run_button import RunButton
from bertviewer.ui.run.sentence_bar import EXAMPLE
from bertviewer.ui.shell.main_window import MainWindow
from tests.ui.conftest import OPEN_TIMEOUT
from tests.ui.finding import find, has_error, is_drawn, last_run


def test_without_weights_that_is_said_first(window: MainWindow, qtbot: QtBot) -> None:
    button = find(window, QPushButton, "runButton")
    assert button.toolTip() == "No model is open."
    window.open_source(parse_source("bert-base-uncased"))
    workspace = window.workspace
    qtbot.waitUntil(lambda: workspace.architecture is not None, timeout=OPEN_TIMEOUT)
    qtbot.waitUntil(lambda: not workspace.jobs.activity, timeout=OPEN_TIMEOUT)
    assert button.toolTip() == "This model has no weights. Select random weights to run it."
    find(window, QCheckBox, "randomWeightsCheck").setChecked(True)
    assert not button.isEnabled()
    assert button.toolTip() == "Type a sentence first."
    window.set_sentence("a test", None)
    assert button.isEnabled()
    assert button.toolTip() == "Run the sentence (Enter)"


def test_enter_without_weights_says_what_to_do(
    window: MainWindow, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    window.open_source(parse_source("gpt2"))
    workspace = window.workspace
    qtbot.waitUntil(lambda: workspace.architecture is not None, timeout=OPEN_TIMEOUT)
    qtbot.waitUntil(lambda: not workspace.jobs.activity, timeout=OPEN_TIMEOUT)
    ran: list[tuple[Sentence, bool]] = []
    monkeypatch.setattr(workspace, "run_sentence", lambda *asked: ran.append(asked))
    field, offer = find(window, QLineEdit, "sentenceEdit"), find(window, QPushButton, "runOnRandom")
    said, check = find(window, QLabel, "runLacking"), find(window, QCheckBox, "randomWeightsCheck")
    assert (said.isVisible(), offer.isVisible(), check.isVisible()) == (False, False, True)
    qtbot.keyClicks(field, "a test")
    qtbot.keyClick(field, Qt.Key.Key_Return)
    assert said.text() == "This model has no weights."
    assert (said.isVisible(), offer.isVisible(), check.isVisible()) == (True, True, False)
    assert ran == []
    # What is typed next takes the words away.
    qtbot.keyClicks(field, "s")
    assert (said.isVisible(), offer.isVisible(), check.isVisible()) == (False, False, True)
    qtbot.keyClick(field, Qt.Key.Key_Enter)
    offer.click()
    assert ran == [(Sentence("a tests"), True)]
    assert (said.isVisible(), offer.isVisible(), check.isChecked()) == (False, False, True)


@pytest.mark.parametrize("key", [Qt.Key.Key_Return, Qt.Key.Key_Enter])
def test_enter_without_a_sentence_says_so(
    demo_window: MainWindow, qtbot: QtBot, key: Qt.Key
) -> None:
    field, said = (
        find(demo_window, QLineEdit, "sentenceEdit"),
        find(demo_window, QLabel, "runLacking"),
    )
    qtbot.keyClick(field, key)
    assert (said.isVisible(), said.text()) == (True, "Type a sentence first.")
    assert not find(demo_window, QPushButton, "runOnRandom").isVisible()


def test_spaces_are_no_second_sentence(demo_window: MainWindow, qtbot: QtBot) -> None:
    window = demo_window
    window.set_sentence("a test", " \u2003")
    find(window, QPushButton, "runButton").click()
    qtbot.waitUntil(lambda: is_drawn(window), timeout=OPEN_TIMEOUT)
    assert last_run(window).sentence == Sentence("a test")
    assert {token.segment for token in last_run(window).tokens} == {0}


def test_typing_during_a_run_leaves_its_progress(demo_window: MainWindow, qtbot: QtBot) -> None:
    window = demo_window
    window.set_sentence("a test", None)
    window.run()
    workspace, bar = window.workspace, find(window, QProgressBar, "runProgress")
    workspace.jobs.progressed.emit(3, 7, "running")
    find(window, QLineEdit, "sentenceEdit").setText("another one")
    assert (bar.value(), bar.maximum()) == (3, 7)
    assert not find(window, QPushButton, "runButton").isEnabled()
    qtbot.waitUntil(lambda: is_drawn(window), timeout=OPEN_TIMEOUT)
    assert find(window, QPushButton, "runButton").isEnabled()


def test_the_second_sentence_has_a_field_when_there_is_one(
    demo_window: MainWindow, qtbot: QtBot
) -> None:
    window = demo_window
    add, pair = find(window, QToolButton, "addPair"), find(window, QLineEdit, "pairEdit")
    assert (add.isVisible(), pair.isVisible()) == (True, False)
    qtbot.mouseClick(add, Qt.MouseButton.LeftButton)
    assert (add.isVisible(), pair.isVisible()) == (False, True)
    qtbot.waitUntil(pair.hasFocus)
    qtbot.keyClicks(pair, "b")
    qtbot.mouseClick(find(window, QToolButton, "dropPair"), Qt.MouseButton.LeftButton)
    assert (add.isVisible(), pair.isVisible(), pair.text()) == (True, False, "")
    window.set_sentence("a", "b")
    assert pair.isVisible()
    window.set_sentence("a", None)
    assert not pair.isVisible()
    # Whoever knows the field may write into it.
    pair.setText("b")
    assert pair.isVisible()
    assert window.workspace.next_run.sentence == Sentence("a", "b")


def test_cancel_stands_in_place_of_run_and_the_focus_stays(
    demo_window: MainWindow, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    goes_on = threading.Event()
    run_sentence = jobs.run_sentence_job

    def wait_and_run(*arguments: Any) -> Any:
        assert goes_on.wait(OPEN_TIMEOUT / 1000)
        return run_sentence(*arguments)

    monkeypatch.setattr(jobs, "run_sentence_job", wait_and_run)
    window = demo_window
    button, cancel = (find(window, QPushButton, name) for name in ("runButton", "cancelButton"))
    window.set_sentence("a test", None)
    assert (button.isVisible(), cancel.isVisible(), cancel.isEnabled()) == (True, False, False)
    button.setFocus()
    qtbot.waitUntil(button.hasFocus)
    place = button.mapTo(window, button.rect().topLeft())
    qtbot.keyClick(button, Qt.Key.Key_Space)
    assert (button.isVisible(), cancel.isVisible(), cancel.isEnabled()) == (False, True, True)
    assert cancel.hasFocus()
    assert cancel.mapTo(window, cancel.rect().topLeft()) == place
    goes_on.set()
    qtbot.waitUntil(lambda: is_drawn(window), timeout=OPEN_TIMEOUT)
    assert (button.isVisible(), cancel.isVisible()) == (True, False)
    assert button.hasFocus()


@pytest.mark.qt_log_ignore("does not support")  # the tip comes up in a window of its own
def test_enter_in_an_empty_field_does_nothing(demo_window: MainWindow, qtbot: QtBot) -> None:
    edit = find(demo_window, QLineEdit, "sentenceEdit")
    qtbot.keyClick(edit, Qt.Key.Key_Return)
    demo_window.run()
    assert demo_window.workspace.jobs.activity == ""
    assert not has_error(demo_window)
    assert find(demo_window, QPushButton, "runButton").toolTip() == "Type a sentence first."


def test_arrow_keys_go_through_the_sentences_before(demo_window: MainWindow, qtbot: QtBot) -> None:
    history = demo_window.workspace.next_run.history
    history.set_entries((Sentence("one"), Sentence("two", "a pair")))
    edit, pair = (find(demo_window, QLineEdit, name) for name in ("sentenceEdit", "pairEdit"))
    qtbot.keyClicks(edit, "half")
    found = []
    for key in (Qt.Key.Key_Up, Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_Down):
        qtbot.keyClick(edit, key)
        found.append((edit.text(), pair.text()))
    assert found == [("two", "a pair"), ("one", ""), ("two", "a pair"), ("half", "")]


def test_a_run_is_remembered(demo_window: MainWindow, qtbot: QtBot) -> None:
    demo_window.set_sentence("a test", None)
    demo_window.run()
    qtbot.waitUntil(lambda: is_drawn(demo_window), timeout=OPEN_TIMEOUT)
    assert demo_window.workspace.next_run.history.entries == (Sentence("a test"),)
    menu = find(demo_window, RunButton).menu()
    (action,) = [action for action in menu.actions() if action.text() == "a test"]
    demo_window.set_sentence("another", None)
    action.trigger()
    assert find(demo_window, QLineEdit, "sentenceEdit").text() == "a test"


def test_the_menu_of_run_has_its_choices(demo_window: MainWindow, qtbot: QtBot) -> None:
    button = find(demo_window, RunButton)

    def able(name: str) -> bool:
        return find(button.menu(), QAction, name).isEnabled()

    # A trained model has no choice of weights.
    assert find(button.menu(), QAction, "trainedWeights").isChecked()
    assert not able("randomWeights")
    assert not able("keepChoice")
    demo_window.set_sentence("a test", None)
    find(button.menu(), QAction, "runAgain").trigger()
    qtbot.waitUntil(lambda: is_drawn(demo_window), timeout=OPEN_TIMEOUT)
    find(button.menu(), QAction, "keepChoice").trigger()
    assert demo_window.workspace.runs.baseline is demo_window.workspace.runs.current
    assert not able("keepChoice")
    chosen: list[str] = []
    button.device_chosen.connect(chosen.append)
    find(button.menu(), QAction, "device-cpu").trigger()
    assert chosen == ["cpu"]


def test_an_example_is_offered_until_there_is_a_sentence(
    demo_window: MainWindow, qtbot: QtBot
) -> None:
    button = find(demo_window, QToolButton, "exampleSentence")
    assert button.isVisible()
    demo_window.set_sentence("a", None)
    assert not button.isVisible()
    demo_window.set_sentence("", None)
    button.click()
    qtbot.waitUntil(lambda: is_drawn(demo_window), timeout=OPEN_TIMEOUT)
    assert last_run(demo_window).sentence == EXAMPLE
    assert not button.isVisible()


def test_the_demo_starts_with_an_example_and_other_models_do_not() -> None:
    demo, other = parse_source("demo"), parse_source("gpt2")
    none, last = Sentence(""), Sentence("of the last session")
    assert first_sentence(demo, None, none) == (EXAMPLE, True)
    assert first_sentence(demo, None, last) == (last, False)
    assert first_sentence(demo, Sentence("given"), none) == (Sentence("given"), True)
    assert first_sentence(other, None, none) == (none, False)
    assert first_sentence(None, None, none) == (none, False)


@pytest.mark.parametrize("width", [600, 690, 1200])
def test_a_run_is_kept_as_a_in_a_narrow_bar_too(
    demo_window: MainWindow, qtbot: QtBot, width: int
) -> None:
    bar = demo_window.run_area.bar
    bar.resize(width, bar.height())
    keep = find(demo_window, QPushButton, "keepRun")
    assert not keep.isHidden()
    assert keep.text() == ("Set as baseline" if width > 1000 else "A")
    assert keep.accessibleName() == "Set as baseline"
