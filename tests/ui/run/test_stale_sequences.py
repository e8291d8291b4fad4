"""Results, the box of random weights and Run never contradict one another, whatever is done."""

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtWidgets import QCheckBox, QLabel, QPushButton
from pytestqt.qtbot import QtBot

from bertviewer.core.sources.parsing import parse_source
from bertviewer.ui.run.run_area import RunArea
from bertviewer.ui.shell.main_window import MainWindow
from tests.ui.conftest import OPEN_TIMEOUT
from tests.ui.finding import find, last_run

Settle = Callable[[], None]


@pytest.fixture
def bare(window: MainWindow, tiny_bert_folder: Path, qtbot: QtBot) -> MainWindow:
    """Return the window with a model that has no weights."""
    open_model(window, qtbot, tiny_bert_folder / "config.json")
    return window


def open_model(window: MainWindow, qtbot: QtBot, path: Path | str, task: str = "base") -> None:
    before = window.workspace.architecture
    window.open_source(parse_source(str(path), task))
    qtbot.waitUntil(lambda: window.workspace.architecture is not before, timeout=OPEN_TIMEOUT)


def run(window: MainWindow, text: str, qtbot: QtBot, settle: Settle) -> None:
    before = window.workspace.runs.run
    window.set_sentence(text, None)
    window.run()
    qtbot.waitUntil(lambda: window.workspace.runs.run is not before, timeout=OPEN_TIMEOUT)
    settle()


def check(window: MainWindow) -> None:
    """What is shown as random is run on random weights, says so, or is said to be stale."""
    workspace = window.workspace
    box, shown = find(window, QCheckBox, "randomWeightsCheck"), workspace.runs.run
    assert workspace.architecture is not None
    assert box.isChecked() == workspace.next_run.random_weights
    # None of another model or head is shown.
    assert find(window, RunArea).is_open == (shown is not None)
    if shown is None:
        assert workspace.runs.baseline is None
        return
    assert shown.source.task == workspace.architecture.source.task
    assert workspace.architecture.source.weights in (shown.source.weights, "none")
    is_stale = bool(find(window, QLabel, "staleResults").text())
    is_random = shown.source.weights == "random"
    typed = workspace.next_run.sentence
    is_same = typed.text == shown.sentence.text and (box.isChecked() or not is_random)
    assert is_stale != is_same
    assert ("Random weights" in find(window, QLabel, "runWarning").text()) == is_random
    assert find(window, QPushButton, "runButton").isEnabled() == (not workspace.next_run.lacking)


def test_another_head_of_a_random_model(bare: MainWindow, settle: Settle, qtbot: QtBot) -> None:
    box = find(bare, QCheckBox, "randomWeightsCheck")
    box.setChecked(True)
    run(bare, "the cat sat", qtbot, settle)
    check(bare)
    before = bare.workspace.architecture
    bare.workspace.open_head("masked-lm")
    qtbot.waitUntil(lambda: bare.workspace.architecture is not before, timeout=OPEN_TIMEOUT)
    qtbot.waitUntil(lambda: not find(bare, RunArea).is_open)
    check(bare)
    assert box.isChecked()
    run(bare, "the cat sat", qtbot, settle)
    check(bare)
    box.setChecked(False)
    settle()
    check(bare)
    assert not find(bare, QPushButton, "runButton").isEnabled()


def test_a_saved_run_is_opened_edited_and_run(
    bare: MainWindow, tmp_path: Path, settle: Settle, qtbot: QtBot
) -> None:
    find(bare, QCheckBox, "randomWeightsCheck").setChecked(True)
    run(bare, "the cat sat", qtbot, settle)
    file = tmp_path / "kept.bertviewer"
    bare.workspace.save_runs(file)
    qtbot.waitUntil(lambda: file.exists() and not bare.workspace.jobs.activity)
    open_model(bare, qtbot, "demo")
    qtbot.waitUntil(lambda: not find(bare, RunArea).is_open)
    check(bare)
    bare.set_sentence("typed for the demo", None)
    open_model(bare, qtbot, file)
    qtbot.waitUntil(lambda: bare.workspace.runs.run is not None, timeout=OPEN_TIMEOUT)
    settle()
    check(bare)
    assert bare.workspace.next_run.sentence.text == "the cat sat"
    bare.set_sentence("a dog", None)
    settle()
    check(bare)
    run(bare, "a dog", qtbot, settle)
    check(bare)
    assert last_run(bare).sentence.text == "a dog"


def test_run_a_goes_with_its_model(ran: MainWindow, settle: Settle, qtbot: QtBot) -> None:
    ran.workspace.runs.keep()
    settle()
    check(ran)
    open_model(ran, qtbot, "albert-base-v2")
    qtbot.waitUntil(lambda: not find(ran, RunArea).is_open)
    check(ran)
    assert ran.workspace.runs.baseline is None
    assert not find(ran, QPushButton, "keepRun").isEnabled()
