"""Questions that people ask: each opens its answer, by mouse and by keys, and keeps its place."""

import pytest
from msgspec.structs import replace
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractButton, QLabel, QWidget
from pytestqt.qtbot import QtBot

from bertviewer.core.explain.answers import answers_for_module
from bertviewer.core.explain.explanation import Answer
from bertviewer.ui.jobs.worker import Worker
from bertviewer.ui.module.inspector import Inspector
from bertviewer.ui.shell.main_window import MainWindow
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.views.links import RichLabel
from bertviewer.ui.views.questions import QuestionLink, Questions
from tests.core.opened import plain
from tests.ui.finding import activate, find, is_drawn

FIRST = Answer("first", "Why <b>this</b>?", "Because W_Q & more.", "", "Shazeer 2020")
SECOND = Answer("second", "Why that?", "So it is.", "Here it is 7.", "")


@pytest.fixture
def owner(qtbot: QtBot) -> QWidget:
    owner = QWidget()
    qtbot.addWidget(owner)
    return owner


@pytest.fixture
def questions(worker: Worker, owner: QWidget) -> Questions:
    questions = Questions(Workspace(worker, owner), owner)
    questions.resize(300, 400)
    owner.resize(300, 400)
    questions.show_answers((FIRST, SECOND))
    owner.show()
    return questions


def link(parent: QWidget, name: str) -> QuestionLink:
    return find(parent, QuestionLink, f"question-{name}")


def shown(parent: QWidget) -> list[str]:
    """Return the answers that are in sight, as they are read aloud."""
    return [label.accessibleName() for label in parent.findChildren(RichLabel) if label.isVisible()]


def test_a_click_opens_an_answer_and_closes_it(questions: Questions, qtbot: QtBot) -> None:
    assert shown(questions) == []
    qtbot.mouseClick(link(questions, "second"), Qt.MouseButton.LeftButton)
    assert shown(questions) == ["So it is.\nHere it is 7."]
    qtbot.mouseClick(link(questions, "second"), Qt.MouseButton.LeftButton)
    assert shown(questions) == []


@pytest.mark.parametrize("key", [Qt.Key.Key_Return, Qt.Key.Key_Space])
def test_keys_do_the_same(questions: Questions, key: Qt.Key, qtbot: QtBot) -> None:
    activate(questions.window(), qtbot)
    questions.focus_first()
    assert link(questions, "first").hasFocus()
    qtbot.keyClick(link(questions, "first"), key)
    assert shown(questions) == ["Because W_Q & more."]
    qtbot.keyClick(link(questions, "first"), Qt.Key.Key_Tab)
    assert link(questions, "second").hasFocus()


def test_a_question_is_plain_text_and_has_its_source(questions: Questions) -> None:
    assert link(questions, "first").text() == "Why <b>this</b>?"
    assert link(questions, "first").accessibleName() == "Why <b>this</b>?"
    link(questions, "first").click()
    texts = [label.text() for label in questions.findChildren(QLabel) if label.isVisible()]
    assert "Shazeer 2020" in texts
    tips = [label.toolTip() for label in questions.findChildren(QLabel)]
    assert any("arXiv:2002.05202" in tip for tip in tips)


def test_an_answer_stays_open_when_its_numbers_change(questions: Questions) -> None:
    link(questions, "second").click()
    before = link(questions, "second")
    questions.show_answers((SECOND, replace(FIRST, name="third")))
    questions.show_answers((replace(SECOND, measured="Here it is 8."),))
    assert link(questions, "second") is before
    assert shown(questions) == ["So it is.\nHere it is 8."]
    assert questions.names == ("second",)


def test_a_narrow_pane_has_the_question_in_more_lines(questions: Questions) -> None:
    long = replace(FIRST, question="Why " + "so very long " * 10 + "?")
    questions.show_answers((long,))
    one = link(questions, "first")
    assert one.heightForWidth(200) > 2 * one.heightForWidth(5000)


def test_the_inspector_asks_what_belongs_to_the_module(
    demo_window: MainWindow, qtbot: QtBot
) -> None:
    window, pane = demo_window, find(demo_window, Inspector)
    path = "encoder.layer.3.attention.self"
    window.workspace.selection.select(path)
    questions = find(pane, Questions, "moduleQuestions")
    qtbot.waitUntil(lambda: "scale" in questions.names)
    assert link(pane, "heads").text() == "Why 12 heads of size 32 rather than one of size 384?"
    link(pane, "scale").click()
    assert shown(pane)[0].startswith("If the components of a query and a key are independent")
    window.workspace.selection.select("encoder.layer.3.output.LayerNorm")
    qtbot.waitUntil(lambda: questions.names == ("gamma",))
    window.workspace.selection.select("encoder.layer.3.output.dropout")
    qtbot.waitUntil(lambda: questions.names == ())


def test_a_run_puts_its_own_numbers_in(demo_window: MainWindow, qtbot: QtBot) -> None:
    window, pane = demo_window, find(demo_window, Inspector)
    window.workspace.selection.select("encoder.layer.3.output.LayerNorm")
    questions = find(pane, Questions, "moduleQuestions")
    qtbot.waitUntil(lambda: questions.names == ("gamma",))
    link(pane, "gamma").click()
    assert "In this run" not in shown(pane)[0]
    window.set_sentence("A cat.", None)
    window.run()
    qtbot.waitUntil(lambda: is_drawn(window))
    qtbot.waitUntil(lambda: "This run has 5 positions" in shown(pane)[0])


def test_what_is_asked_of_every_module_can_be_read(questions: Questions) -> None:
    architecture = plain("bert-base-uncased")
    for node in architecture.modules[:30]:
        answers = answers_for_module(architecture, node)
        questions.show_answers(answers)
        for button in questions.findChildren(QAbstractButton):
            assert button.accessibleName()
            assert button.objectName()
