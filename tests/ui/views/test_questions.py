"""Questions: each opens its answer below it, by mouse and keyboard."""

import re

import pytest
from msgspec.structs import replace
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QWidget
from pytestqt.qtbot import QtBot

from bertviewer.core.explain.explanation import Answer
from bertviewer.core.schema.activation_run import Sentence
from bertviewer.ui.module.inspector_page import InspectorPage
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.views.links import RichLabel
from bertviewer.ui.views.questions import QuestionLink, Questions
from tests.ui.direct_worker import settle
from tests.ui.finding import activate, find

FIRST = Answer("first", "Why <b>this</b>?", "Because W_Q & more.", "", "Shazeer 2020")
SECOND = Answer("second", "Why that?", "So it is.", "Here it is 7.", "")


@pytest.fixture
def questions(workspace: Workspace, qtbot: QtBot) -> Questions:
    questions = Questions(workspace)
    qtbot.addWidget(questions)
    questions.resize(300, 400)
    questions.show_answers((FIRST, SECOND))
    questions.show()
    return questions


def link(parent: QWidget, name: str) -> QuestionLink:
    return find(parent, QuestionLink, f"question-{name}")


def answers(parent: QWidget) -> list[str]:
    """Return the visible answers."""
    return [label.accessibleName() for label in parent.findChildren(RichLabel) if label.isVisible()]


def test_a_click_opens_and_closes_an_answer(questions: Questions, qtbot: QtBot) -> None:
    found = [answers(questions)]
    for _ in range(2):
        qtbot.mouseClick(link(questions, "second"), Qt.MouseButton.LeftButton)
        found.append(answers(questions))
    assert found == [[], ["So it is.\nHere it is 7."], []]


@pytest.mark.parametrize("key", [Qt.Key.Key_Return, Qt.Key.Key_Space])
def test_keys_open_an_answer(questions: Questions, key: Qt.Key, qtbot: QtBot) -> None:
    activate(questions, qtbot)
    questions.focus_first()
    assert link(questions, "first").hasFocus()
    qtbot.keyClick(link(questions, "first"), key)
    assert answers(questions) == ["Because W_Q & more."]
    qtbot.keyClick(link(questions, "first"), Qt.Key.Key_Tab)
    assert link(questions, "second").hasFocus()


def test_a_question_is_plain_text_and_its_answer_has_a_source(questions: Questions) -> None:
    assert link(questions, "first").text() == "Why <b>this</b>?"
    assert link(questions, "first").accessibleName() == "Why <b>this</b>?"
    questions.open("first")
    sources = {
        label.text(): label.toolTip()
        for label in questions.findChildren(QLabel)
        if label.isVisible()
    }
    assert "https://arxiv.org/abs/2002.05202" in sources["Shazeer 2020"]


def test_an_open_answer_stays_open_when_its_numbers_change(questions: Questions) -> None:
    link(questions, "second").click()
    before = link(questions, "second")
    questions.show_answers((SECOND, replace(FIRST, name="third")))
    questions.show_answers((replace(SECOND, measured="Here it is 8."),))
    assert link(questions, "second") is before
    assert answers(questions) == ["So it is.\nHere it is 8."]
    assert questions.names == ("second",)


def test_a_long_question_is_wrapped(questions: Questions) -> None:
    questions.show_answers((replace(FIRST, question="Why " + "so very long " * 10 + "?"),))
    question = link(questions, "first")
    assert question.heightForWidth(200) > 2 * question.heightForWidth(5000)


def test_the_inspector_asks_about_its_module_and_run(
    demo_workspace: Workspace, qtbot: QtBot
) -> None:
    page, selection = InspectorPage(demo_workspace), demo_workspace.selection
    qtbot.addWidget(page)
    page.show()
    questions = find(page, Questions, "moduleQuestions")

    def names(path: str) -> tuple[str, ...]:
        selection.select(path)
        page.refresh()
        settle(demo_workspace)
        return questions.names

    assert "scale" in names("encoder.layer.3.attention.self")
    assert link(page, "heads").text() == "Why 12 heads of size 32 rather than one of size 384?"
    link(page, "scale").click()
    assert answers(page)[0].startswith("If the components of a query and a key are independent")
    assert names("encoder.layer.3.output.dropout") == ()
    assert names("encoder.layer.3.output.LayerNorm") == ("gamma",)
    assert names("encoder.layer.3") == ("residual", "four-times")
    link(page, "residual").click()
    assert "In this run" not in answers(page)[0]
    demo_workspace.run_sentence(Sentence("A cat."), random_weights=False)
    settle(demo_workspace)
    page.refresh()
    assert re.search(r"before and after a layer is 0\.\d\d in layer 3\.$", answers(page)[0])
