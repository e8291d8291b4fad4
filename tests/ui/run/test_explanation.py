"""Popup of common questions about the view in sight."""

import pytest
from PySide6.QtCore import QPoint, QRect, QSize, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QLabel, QWidget
from pytestqt.qtbot import QtBot

from bertviewer.core.explain.answers import EXPLANATIONS
from bertviewer.core.util.errors import UserError
from bertviewer.ui.run import jobs
from bertviewer.ui.run.explanation import ExplainButton
from bertviewer.ui.run.run_view import EXPLAINED
from bertviewer.ui.run.views import VIEWS
from bertviewer.ui.state.pages import Page
from bertviewer.ui.views.links import RichLabel
from bertviewer.ui.views.questions import Questions
from tests.ui.finding import activate
from tests.ui.run.view_harness import PanelHarness


@pytest.fixture
def ran(panel: PanelHarness) -> PanelHarness:
    """Return the panel after a run of two sentences."""
    panel.run("The bank by the river was closed.", "So she walked.")
    return panel


def popup(panel: PanelHarness) -> QWidget:
    return panel.find(QWidget, "whyPage")


def ask(panel: PanelHarness, page: Page) -> tuple[str, ...]:
    """Open the popup on a view, and return the names of its questions."""
    panel.bring(page)
    panel.click("whyButton")
    return panel.find(Questions).names


def test_questions_of_a_view(ran: PanelHarness) -> None:
    for page, first in (
        (Page.LAYERS, "outlier-features"),
        (Page.SIMILARITY, "sentence-vector"),
        (Page.TOKENS, "segments"),
    ):
        names = ask(ran, page)
        assert names[0] == first
        assert set(names) <= {each.name for each in EXPLANATIONS if page in each.views}
        ran.click("whyButton")
        assert not popup(ran).isVisible()
    titles = {kind.title for kind in VIEWS} | {"Sentence"}  # a part of the tokens' page
    assert set(EXPLAINED) == {view for each in EXPLANATIONS for view in each.views} <= titles


def test_answers_are_about_the_attention_in_sight(ran: PanelHarness) -> None:
    ran.select("encoder.layer.3.attention.self")
    assert ask(ran, Page.ATTENTION)[0] == "special-tokens"
    (answer,) = [each for each in popup(ran).findChildren(RichLabel) if each.isVisible()]
    assert "of the attention of layer 3 and" in answer.accessibleName()


def test_the_first_answer_is_open_and_focused_until_escape(ran: PanelHarness, qtbot: QtBot) -> None:
    activate(ran.window, qtbot)
    ask(ran, Page.LAYERS)
    first = ran.find(QAbstractButton, "question-outlier-features")
    assert first.isChecked()
    assert first.hasFocus()
    card = popup(ran)
    button = ran.find(ExplainButton)
    assert card.parentWidget() is ran.window
    assert ran.window.rect().contains(card.geometry())
    assert not card.geometry().intersects(QRect(button.mapTo(ran.window, QPoint()), QSize(1, 1)))
    qtbot.keyClick(first, Qt.Key.Key_Escape)
    assert not card.isVisible()
    assert button.hasFocus()


def test_a_click_elsewhere_another_view_and_another_run_close_it(
    ran: PanelHarness, qtbot: QtBot
) -> None:
    ask(ran, Page.LAYERS)
    inside = ran.find(QAbstractButton, "question-outlier-features")
    qtbot.mouseClick(inside, Qt.MouseButton.LeftButton)
    assert popup(ran).isVisible()
    handle = ran.window.windowHandle()
    assert handle is not None
    label = ran.find(QLabel, "shownSentence")
    place = label.mapTo(ran.window, label.rect().center())
    QTest.mouseClick(handle, Qt.MouseButton.LeftButton, pos=place)
    assert not popup(ran).isVisible()
    ask(ran, Page.LAYERS)
    ran.bring(Page.TOKENS)
    assert not popup(ran).isVisible()
    ask(ran, Page.TOKENS)
    ran.run("Another one.")
    assert not popup(ran).isVisible()


def test_a_view_without_questions_has_no_button(ran: PanelHarness) -> None:
    for page, has_button in ((Page.HISTOGRAM, False), (Page.LAYERS, True)):
        ran.bring(page)
        assert ran.find(ExplainButton).isVisible() == has_button


def test_without_an_answer_and_after_an_error_there_is_a_message(
    ran: PanelHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "answers_job", lambda *_: ())
    assert ask(ran, Page.PREDICTIONS) == ()
    assert ran.text("whyWords").startswith("None of the")

    def fail(*_: object) -> None:
        raise UserError("it cannot be told")

    monkeypatch.setattr(jobs, "answers_job", fail)
    assert ask(ran, Page.LAYERS) == ()
    assert ran.text("whyWords") == "It cannot be told"
