"""The bottom of the window: one line without a run, and no dead space when the run is gone."""

import threading
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtWidgets import QLabel, QPushButton
from pytestqt.qtbot import QtBot

from bertviewer.core.sources.parsing import parse_source
from bertviewer.ui.jobs import model_jobs as jobs
from bertviewer.ui.jobs.worker import Worker
from bertviewer.ui.run.run_area import RunArea
from bertviewer.ui.run.sentence_bar import HEIGHT
from bertviewer.ui.shell.main_window import MainWindow
from tests.ui.conftest import OPEN_TIMEOUT
from tests.ui.finding import find, is_drawn, last_run
from tests.ui.run.test_run_window import run


def height(window: MainWindow) -> int:
    """The height of the pane itself: what stands in it may be lower, with dead space around."""
    return window.panes.dock("run").height()


def settle(window: MainWindow, worker: Worker, qtbot: QtBot) -> None:
    def rests() -> bool:
        workspace = window.workspace
        return not workspace.jobs.activity and not workspace.deferred.pending and not worker.busy

    qtbot.waitUntil(rests, timeout=OPEN_TIMEOUT)


def test_it_opens_with_a_run_and_is_one_line_after_another_model(
    demo_window: MainWindow, worker: Worker, qtbot: QtBot
) -> None:
    window, area = demo_window, find(demo_window, RunArea)
    heard: list[bool] = []
    area.opened.connect(heard.append)
    heights = [height(window)]
    run(window, worker, qtbot)
    assert area.is_open
    assert height(window) > 4 * HEIGHT
    window.open_source(parse_source("albert-base-v2"))
    settle(window, worker, qtbot)
    qtbot.waitUntil(lambda: height(window) <= HEIGHT)
    assert heights[0] <= HEIGHT
    assert heard == [True, False]


def test_it_stays_open_while_the_sentence_is_run_again(
    demo_window: MainWindow, worker: Worker, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    window, area = demo_window, find(demo_window, RunArea)
    run(window, worker, qtbot)
    goes_on = threading.Event()
    run_sentence = jobs.run_sentence_job

    def wait_and_run(*arguments: Any) -> Any:
        assert goes_on.wait(OPEN_TIMEOUT / 1000)
        return run_sentence(*arguments)

    monkeypatch.setattr(jobs, "run_sentence_job", wait_and_run)
    workspace = window.workspace
    # As the button "Open with …" of the predictions does.
    workspace.architecture_changed.connect(lambda: workspace.deferred.add(workspace.run_next))
    before = workspace.architecture
    window.workspace.open_head("masked-lm")
    qtbot.waitUntil(lambda: workspace.architecture is not before, timeout=OPEN_TIMEOUT)
    waiting = find(window, QLabel, "runWait")
    qtbot.waitUntil(waiting.isVisible, timeout=OPEN_TIMEOUT)
    assert area.is_open
    find(window, QPushButton, "cancelButton").click()
    goes_on.set()
    settle(window, worker, qtbot)
    qtbot.waitUntil(lambda: height(window) <= HEIGHT)


def test_a_sentence_of_the_command_line_is_run_once(
    window: MainWindow, worker: Worker, tiny_bert_folder: Path, qtbot: QtBot
) -> None:
    window.set_sentence("the cat sat", None)
    window.run_area.run_when_open()
    window.open_source(parse_source(str(tiny_bert_folder)))
    qtbot.waitUntil(lambda: is_drawn(window), timeout=OPEN_TIMEOUT)
    assert last_run(window).sentence.text == "the cat sat"
    window.open_source(parse_source(str(tiny_bert_folder), "masked-lm"))
    qtbot.waitUntil(lambda: window.workspace.runs.run is None, timeout=OPEN_TIMEOUT)
    settle(window, worker, qtbot)
    assert window.workspace.runs.run is None


def test_without_weights_it_is_filled_in_and_says_what_is_missing(
    window: MainWindow, worker: Worker, tiny_bert_folder: Path, qtbot: QtBot
) -> None:
    window.set_sentence("the cat sat", None)
    window.run_area.run_when_open()
    window.open_source(parse_source(str(tiny_bert_folder / "config.json")))
    qtbot.waitUntil(lambda: window.workspace.architecture is not None, timeout=OPEN_TIMEOUT)
    settle(window, worker, qtbot)
    assert window.workspace.runs.run is None
    button = find(window, QPushButton, "runButton")
    assert not button.isEnabled()
    assert "no weights" in button.toolTip()
