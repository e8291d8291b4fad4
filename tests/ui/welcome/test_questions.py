"""Questions of the start page: their answers, and how they are found in the window."""

import numpy as np
import pytest
from PySide6.QtCore import QObject
from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from bertviewer.charts.selection_key import SelectionKey
from bertviewer.core.analysis.attention_layers import attention_layers
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.replay.attention import attention_of
from bertviewer.core.replay.recorded_run import RecordedRun
from bertviewer.core.runs.activation_cache import ActivationCache
from bertviewer.core.runs.running import run_sentence
from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.progress import no_progress
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.welcome.question_runner import AnswerBar, QuestionRunner
from bertviewer.ui.welcome.questions import QUESTIONS, Answer, Question
from tests.core.opened import plain
from tests.ui.direct_worker import settle, show_architecture
from tests.ui.finding import find

PREVIOUS, SENSES, OUTLIER = QUESTIONS


def recorded(model: LoadedModel, sentence: Sentence) -> RecordedRun:
    cache = ActivationCache("units")
    return RecordedRun(run_sentence(model, sentence, cache=cache), cache)


def test_the_head_with_most_attention_to_the_previous_token(opened_demo: LoadedModel) -> None:
    run = recorded(opened_demo, Sentence("a cat sat on the mat"))
    answer = PREVIOUS.find(opened_demo, run, no_progress)
    best = -1.0
    for layer in attention_layers(opened_demo.architecture, run.run):
        maps = attention_of(run.cached(opened_demo), layer.path, no_progress)
        for head, one in enumerate(maps.probabilities):
            share = float(np.mean([one[place, place - 1] for place in range(1, len(one))]))
            if share > best:
                best, where = share, (layer.path, head)
    assert (answer.place.path, answer.place.head) == where
    assert f"{best:.1%}" in answer.text


def test_the_layer_with_the_smallest_cosine(opened_demo: LoadedModel) -> None:
    run = recorded(opened_demo, Sentence("a bank by the river", "the money of my bank"))
    answer = SENSES.find(opened_demo, run, no_progress)
    tokens = [place for place, token in enumerate(run.run.tokens) if token.text == "bank"]
    cosines = []
    for state in run.run.hidden_states:
        one, two = (state[token].astype(float) for token in tokens)
        cosines.append(float(one @ two / np.linalg.norm(one) / np.linalg.norm(two)))
    smallest = int(np.argmin(cosines))
    assert answer.place.token == tokens[0]
    assert answer.place.path == run.run.state_path(smallest, tokens[0])
    assert f"{cosines[smallest]:.3f}" in answer.text


def test_the_feature_that_is_far_from_the_mean(opened_demo: LoadedModel) -> None:
    run = recorded(opened_demo, Sentence("a cat sat on the mat"))
    answer = OUTLIER.find(opened_demo, run, no_progress)
    feature, token = answer.place.feature, answer.place.token
    assert feature is not None
    assert token is not None
    states = run.run.hidden_states
    deviations = [abs(s[token, feature] - s.mean()) / s.std() for s in states]
    assert min(deviations) > 6
    assert f"{max(deviations):.1f}" in answer.text


class Window(QObject):
    """What questions use of the window."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace)
        self._workspace = workspace
        self.opened: list[str] = []

    def open_named(self, name: str) -> None:
        self.opened.append(name)

    def set_sentence(self, text: str, pair: str | None) -> None:
        self._workspace.run_input.set_sentence(Sentence(text, pair))

    def run(self) -> None:
        self._workspace.run_next()


def asked(find_answer: object = None, model: str = "demo") -> Question:
    def answer(*_: object) -> Answer:
        return Answer(SelectionKey("pooler", token=2), "It is <there>.")

    sentence = Sentence("a cat")
    return Question("q", "Where?", "", model, sentence, "Layers", find_answer or answer)  # type: ignore[arg-type]


@pytest.fixture
def window(demo_workspace: Workspace) -> Window:
    return Window(demo_workspace)


@pytest.fixture
def runner(demo_workspace: Workspace, window: Window) -> QuestionRunner:
    return QuestionRunner(demo_workspace, window, demo_workspace)


def test_a_question_runs_its_sentence_and_selects_the_answer(
    runner: QuestionRunner, demo_workspace: Workspace, qtbot: QtBot
) -> None:
    bar = AnswerBar(runner)
    qtbot.addWidget(bar)
    runner.ask(asked())
    label = find(bar, QLabel, "givenAnswer")
    assert (bar.isHidden(), label.text()) == (False, "Looking…")
    settle(demo_workspace)
    assert demo_workspace.runs.run is not None
    assert demo_workspace.runs.run.sentence == Sentence("a cat")
    assert (runner.answer, label.text()) == ("It is <there>.", "It is <there>.")
    assert demo_workspace.selection.place == SelectionKey("pooler", token=2)
    runner.dismiss()
    assert bar.isHidden()
    assert demo_workspace.selection.place.path == "pooler"


def test_a_question_about_another_model_opens_it_first(
    runner: QuestionRunner, window: Window, demo_workspace: Workspace
) -> None:
    runner.ask(asked(model="bert-base-uncased"))
    assert window.opened == ["bert-base-uncased"]
    assert not runner.is_of_open_model
    demo_workspace.run_input.set_random_weights(True)
    ran: list[Sentence] = []
    window.run = lambda: ran.append(demo_workspace.run_input.sentence)  # type: ignore[method-assign]
    show_architecture(demo_workspace, plain("bert-base-uncased"))
    settle(demo_workspace)
    assert ran == [Sentence("a cat")]
    show_architecture(demo_workspace, plain("distilbert-base-uncased"))
    assert runner.question is None


def test_a_question_without_an_answer_says_why(
    runner: QuestionRunner, demo_workspace: Workspace
) -> None:
    def fail(*_: object) -> Answer:
        raise UserError("nothing of <that> kind")

    runner.ask(asked(fail))
    settle(demo_workspace)
    assert runner.answer == "Nothing of <that> kind"


def test_a_question_is_dropped_for_another_run_or_if_it_is_cancelled_or_dismissed(
    runner: QuestionRunner, demo_workspace: Workspace
) -> None:
    questions: list[Question | None] = []

    def note() -> None:
        settle(demo_workspace)
        questions.append(runner.question)

    question = asked()
    runner.ask(question)
    note()
    demo_workspace.run_sentence(Sentence("something else"), random_weights=False)
    note()
    runner.ask(question)
    demo_workspace.jobs.cancel()
    note()

    def dismiss_and_answer(*_: object) -> Answer:
        runner.dismiss()
        return Answer(SelectionKey("encoder"), "Too late.")

    runner.ask(asked(dismiss_and_answer))
    note()
    assert questions == [question, None, None, None]
    assert runner.answer == ""
    assert demo_workspace.selection.place.path == "pooler"
