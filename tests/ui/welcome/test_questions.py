"""The questions open the demo and answer themselves: by what the run gives, and nothing else."""

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractButton, QComboBox, QLabel, QLineEdit, QTabWidget, QToolButton
from pytestqt.qtbot import QtBot

from bertviewer.core.analysis.attention_layers import attention_layers
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.replay.attention import attention_of
from bertviewer.core.replay.cached_run import CachedRun
from bertviewer.core.replay.recorded_run import RecordedRun
from bertviewer.core.runs.activation_cache import ActivationCache
from bertviewer.core.runs.running import run_sentence
from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.progress import no_progress
from bertviewer.ui.app.application import make_window
from bertviewer.ui.jobs.worker import Worker
from bertviewer.ui.shell.main_window import MainWindow
from bertviewer.ui.welcome import start_page
from bertviewer.ui.welcome.questions import QUESTIONS, Question
from tests.ui.conftest import OPEN_TIMEOUT
from tests.ui.finding import find

PREVIOUS, SENSES, OUTLIER = QUESTIONS


def watched(model: LoadedModel, sentence: Sentence) -> RecordedRun:
    capture = ActivationCache("units")
    return RecordedRun(run_sentence(model, sentence, cache=capture), capture)


def view(window: MainWindow) -> str:
    tabs = find(window, QTabWidget, "runViews")
    return tabs.tabText(tabs.currentIndex())


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda q: q.name)
def test_a_question_opens_the_demo_runs_and_answers(
    window: MainWindow, worker: Worker, question: Question, qtbot: QtBot
) -> None:
    find(window, QAbstractButton, question.name).click()
    qtbot.waitUntil(lambda: bool(window.asking.answer), timeout=OPEN_TIMEOUT)
    workspace = window.workspace
    assert workspace.source is not None
    assert workspace.source.name == "demo"
    assert workspace.runs.run is not None
    assert workspace.runs.run.sentence == question.sentence
    assert find(window, QLineEdit, "sentenceEdit").text() == question.sentence.text
    assert view(window) == question.view
    assert find(window, QLabel, "askedQuestion").text() == question.title
    answer = find(window, QLabel, "givenAnswer")
    assert answer.isVisible()
    assert answer.text() == window.asking.answer
    assert workspace.selection.row is not None
    assert workspace.selection.row.node.path.startswith("encoder.layer.")
    qtbot.waitUntil(lambda: not worker.busy, timeout=OPEN_TIMEOUT)


def test_the_grid_shows_the_measure_that_answers(
    window: MainWindow, worker: Worker, qtbot: QtBot
) -> None:
    find(window, QAbstractButton, PREVIOUS.name).click()
    qtbot.waitUntil(lambda: bool(window.asking.answer), timeout=OPEN_TIMEOUT)
    qtbot.waitUntil(lambda: not worker.busy, timeout=OPEN_TIMEOUT)
    assert find(window, QToolButton, "allLayers").isChecked()
    assert find(window, QComboBox, "headMeasure").currentData() == "previous"
    highest = find(window, QToolButton, "bestHead")
    qtbot.waitUntil(lambda: window.workspace.selection.head is not None, timeout=OPEN_TIMEOUT)
    place = window.workspace.selection.place
    assert f"head {place.head} " in highest.text()
    assert window.asking.answer.startswith(f"Head {place.head} of ")


def test_the_head_is_the_one_whose_maps_look_one_back(opened_demo: LoadedModel) -> None:
    ran = watched(opened_demo, Sentence("a cat sat on the mat"))
    answer = PREVIOUS.find(opened_demo, ran, no_progress)
    best = -1.0
    for layer in attention_layers(opened_demo.architecture, ran.run):
        maps = attention_of(CachedRun(opened_demo, ran.run, ran.kept), layer.path, no_progress)
        for head, one in enumerate(maps.probabilities):
            share = float(np.mean([one[place, place - 1] for place in range(1, len(one))]))
            if share > best:
                best, where = share, (layer.path, head)
    assert (answer.place.path, answer.place.head) == where
    assert f"{best:.1%}" in answer.text


def test_the_layer_is_the_one_with_the_least_cosine(opened_demo: LoadedModel) -> None:
    ran = watched(opened_demo, Sentence("a bank by the river", "the money of my bank"))
    answer = SENSES.find(opened_demo, ran, no_progress)
    tokens = [place for place, token in enumerate(ran.run.tokens) if token.text == "bank"]
    cosines = []
    for state in ran.run.hidden_states:
        one, two = (state[token].astype(float) for token in tokens)
        cosines.append(float(one @ two / np.linalg.norm(one) / np.linalg.norm(two)))
    least = int(np.argmin(cosines))
    assert answer.place.token == tokens[0]
    assert answer.place.path == ran.run.state_path(least, tokens[0])
    assert f"{cosines[least]:.3f}" in answer.text


def test_the_feature_is_far_from_the_rest(opened_demo: LoadedModel) -> None:
    ran = watched(opened_demo, Sentence("a cat sat on the mat"))
    answer = OUTLIER.find(opened_demo, ran, no_progress)
    feature, token = answer.place.feature, answer.place.token
    assert feature is not None
    assert token is not None
    states = ran.run.hidden_states
    deviations = [abs(s[token, feature] - s.mean()) / s.std() for s in states]
    assert min(deviations) > 6
    assert f"{max(deviations):.1f}" in answer.text


def test_an_answer_goes_with_its_run(demo_window: MainWindow, worker: Worker, qtbot: QtBot) -> None:
    demo_window.asking.ask(OUTLIER)
    qtbot.waitUntil(lambda: bool(demo_window.asking.answer), timeout=OPEN_TIMEOUT)
    qtbot.waitUntil(lambda: not worker.busy, timeout=OPEN_TIMEOUT)
    demo_window.set_sentence("something else", None)
    demo_window.run()
    qtbot.waitUntil(lambda: demo_window.asking.question is None, timeout=OPEN_TIMEOUT)
    assert not find(demo_window, QLabel, "askedQuestion").isVisible()


def test_the_same_word_is_what_is_compared(
    demo_window: MainWindow, worker: Worker, qtbot: QtBot
) -> None:
    demo_window.asking.ask(SENSES)
    qtbot.waitUntil(lambda: bool(demo_window.asking.answer), timeout=OPEN_TIMEOUT)
    assert find(demo_window, QToolButton, "sameWord").isChecked()
    qtbot.waitUntil(lambda: not worker.busy, timeout=OPEN_TIMEOUT)


def test_a_question_that_is_cancelled_is_none(demo_window: MainWindow, qtbot: QtBot) -> None:
    demo_window.asking.ask(PREVIOUS)
    demo_window.workspace.jobs.cancel()
    qtbot.waitUntil(lambda: demo_window.asking.question is None, timeout=OPEN_TIMEOUT)


def test_what_was_not_found_is_said(
    demo_window: MainWindow, monkeypatch: pytest.MonkeyPatch, worker: Worker, qtbot: QtBot
) -> None:
    def fail(*_: object) -> None:
        raise UserError("nothing of <that> kind")

    failing = Question("q", "Where?", "", "demo", Sentence("a cat"), "Layers", fail)  # type: ignore[arg-type]
    demo_window.asking.ask(failing)
    qtbot.waitUntil(lambda: bool(demo_window.asking.answer), timeout=OPEN_TIMEOUT)
    label = find(demo_window, QLabel, "givenAnswer")
    assert label.text() == "Nothing of <that> kind"
    assert label.textFormat() == Qt.TextFormat.PlainText
    qtbot.waitUntil(lambda: not worker.busy, timeout=OPEN_TIMEOUT)


def test_without_the_demo_the_questions_say_what_is_missing(
    worker: Worker, monkeypatch: pytest.MonkeyPatch, qtbot: QtBot
) -> None:
    def lacking() -> None:
        raise UserError("the demo model is not installed; pip install it")

    monkeypatch.setattr(start_page, "demo_folder", lacking)
    window = make_window(worker)
    qtbot.addWidget(window)
    window.show()
    assert not any(find(window, QAbstractButton, q.name).isEnabled() for q in QUESTIONS)
    texts = [label.text() for label in window.findChildren(QLabel) if label.isVisible()]
    assert "The demo model is not installed; pip install it" in texts
    assert not window.findChildren(QAbstractButton, "model-demo")
