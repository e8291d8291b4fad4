"""What is typed, and whether it can be run."""

from PySide6.QtWidgets import QCheckBox, QLineEdit, QProgressBar, QPushButton
from pytestqt.qtbot import QtBot

from bertviewer.core.activations.activation_run import Sentence
from bertviewer.core.source.parsing import parse_source
from bertviewer.ui.main_window import MainWindow
from tests.ui.conftest import OPEN_TIMEOUT
from tests.ui.finding import find, is_drawn, last_run


def test_without_weights_that_is_said_first(window: MainWindow, qtbot: QtBot) -> None:
    button = find(window, QPushButton, "runButton")
    assert button.toolTip() == "No model is open yet."
    window.open_source(parse_source("bert-base-uncased"))
    workspace = window.workspace
    qtbot.waitUntil(lambda: workspace.architecture is not None, timeout=OPEN_TIMEOUT)
    qtbot.waitUntil(lambda: not workspace.scheduler.activity, timeout=OPEN_TIMEOUT)
    assert button.toolTip() == "This model has no weights. Choose random weights to run it."
    find(window, QCheckBox, "randomWeightsCheck").setChecked(True)
    assert not button.isEnabled()
    assert button.toolTip() == "Type a sentence first."
    window.set_sentence("a test", None)
    assert button.isEnabled()
    assert button.toolTip() == "Run the sentence (Enter)"


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
    workspace.scheduler.progressed.emit(3, 7, "running")
    find(window, QLineEdit, "sentenceEdit").setText("another one")
    assert (bar.value(), bar.maximum()) == (3, 7)
    assert not find(window, QPushButton, "runButton").isEnabled()
    qtbot.waitUntil(lambda: is_drawn(window), timeout=OPEN_TIMEOUT)
    assert find(window, QPushButton, "runButton").isEnabled()
