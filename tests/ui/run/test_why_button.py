"""Why do I see this: a page of answers about the view in sight, reached by keys as well."""

import pytest
from PySide6.QtCore import QPoint, QRect, QSize, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QLabel, QWidget
from pytestqt.qtbot import QtBot

from bertviewer.core.explain.answers import EXPLANATIONS
from bertviewer.core.util.errors import UserError
from bertviewer.plots.head_grid import HeadGrid
from bertviewer.ui.run import jobs
from bertviewer.ui.run.explanation import ExplainButton
from bertviewer.ui.run.run_view import EXPLAINED
from bertviewer.ui.run.views import VIEWS
from bertviewer.ui.shell.main_window import MainWindow
from bertviewer.ui.views.links import RichLabel
from bertviewer.ui.views.questions import Questions
from tests.ui.finding import activate, bring_view, find, is_drawn


@pytest.fixture
def ran(demo_window: MainWindow, qtbot: QtBot) -> MainWindow:
    demo_window.set_sentence("The bank by the river was closed.", "So she walked.")
    demo_window.run()
    qtbot.waitUntil(lambda: is_drawn(demo_window))
    return demo_window


def button(window: MainWindow) -> ExplainButton:
    return find(window, ExplainButton, "whyButton")


def page(window: MainWindow) -> QWidget:
    return find(window, QWidget, "whyPage")


def asked(window: MainWindow) -> tuple[str, ...]:
    return find(page(window), Questions).names


def has_heads(window: MainWindow) -> bool:
    """Whether the heads of an attention are in sight."""
    return any(grid.chart is not None for grid in window.findChildren(HeadGrid))


def ask(window: MainWindow, view: str, qtbot: QtBot) -> tuple[str, ...]:
    """Ask about a view, and return what is asked there."""
    bring_view(window, view)
    qtbot.waitUntil(lambda: is_drawn(window))
    button(window).click()
    qtbot.waitUntil(lambda: bool(asked(window)))
    return asked(window)


def test_a_view_has_the_answers_that_belong_to_it(ran: MainWindow, qtbot: QtBot) -> None:
    for view, first in (
        ("Layers", "outlier-features"),
        ("Similarity", "alike-vectors"),
        ("Tokens", "start-token"),
    ):
        assert ask(ran, view, qtbot)[0] == first
        button(ran).click()
        assert not page(ran).isVisible()
    answers = {one.name for one in EXPLANATIONS if "Tokens" in one.views}
    assert set(ask(ran, "Tokens", qtbot)) <= answers


def test_the_attention_in_sight_is_what_is_told_of(ran: MainWindow, qtbot: QtBot) -> None:
    ran.workspace.selection.select("encoder.layer.3.attention.self")
    bring_view(ran, "Attention")
    qtbot.waitUntil(lambda: is_drawn(ran) and has_heads(ran))
    assert ask(ran, "Attention", qtbot)[0] == "special-tokens"
    (answer,) = [one for one in page(ran).findChildren(RichLabel) if one.isVisible()]
    assert "Here special tokens" in answer.accessibleName()


def test_the_first_answer_is_open_and_the_focus_is_on_it(ran: MainWindow, qtbot: QtBot) -> None:
    activate(ran, qtbot)
    ask(ran, "Layers", qtbot)
    first = find(page(ran), QAbstractButton, "question-outlier-features")
    assert first.isChecked()
    assert first.hasFocus()
    assert page(ran).isVisible()


def test_escape_closes_it_and_the_focus_goes_back(ran: MainWindow, qtbot: QtBot) -> None:
    activate(ran, qtbot)
    ask(ran, "Layers", qtbot)
    qtbot.keyClick(find(page(ran), QAbstractButton, "question-outlier-features"), Qt.Key.Key_Escape)
    qtbot.waitUntil(lambda: not page(ran).isVisible())
    qtbot.waitUntil(button(ran).hasFocus)


def test_it_lies_in_its_window(ran: MainWindow, qtbot: QtBot) -> None:
    ask(ran, "Layers", qtbot)
    card = page(ran)
    assert card.parentWidget() is ran
    assert ran.rect().contains(card.geometry())
    assert not card.geometry().intersects(QRect(button(ran).mapTo(ran, QPoint()), QSize(1, 1)))


def test_a_click_elsewhere_closes_it(ran: MainWindow, qtbot: QtBot) -> None:
    ask(ran, "Layers", qtbot)
    inside = find(page(ran), QAbstractButton, "question-outlier-features")
    qtbot.mouseClick(inside, Qt.MouseButton.LeftButton)
    assert page(ran).isVisible()
    handle = ran.windowHandle()
    assert handle is not None
    label = find(ran, QLabel, "shownSentence")
    place = label.mapTo(ran, label.rect().center())
    QTest.mouseClick(handle, Qt.MouseButton.LeftButton, pos=place)
    assert not page(ran).isVisible()


def test_another_view_or_run_closes_it(ran: MainWindow, qtbot: QtBot) -> None:
    ask(ran, "Layers", qtbot)
    bring_view(ran, "Tokens")
    assert not page(ran).isVisible()
    ask(ran, "Tokens", qtbot)
    ran.set_sentence("Another one.", None)
    ran.run()
    qtbot.waitUntil(lambda: not page(ran).isVisible())


def test_a_view_without_questions_has_no_button(ran: MainWindow, qtbot: QtBot) -> None:
    bring_view(ran, "Histogram")
    qtbot.waitUntil(lambda: not button(ran).isVisible())
    bring_view(ran, "Layers")
    qtbot.waitUntil(button(ran).isVisible)


def test_where_nothing_is_to_be_explained_it_says_so(ran: MainWindow, qtbot: QtBot) -> None:
    bring_view(ran, "Predictions")
    qtbot.waitUntil(lambda: is_drawn(ran))
    button(ran).click()
    words = find(page(ran), QLabel, "whyWords")
    qtbot.waitUntil(lambda: bool(asked(ran)) or words.text().startswith("None of the"))


def test_what_fails_is_told_in_the_page(
    ran: MainWindow, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise UserError("it cannot be told")

    monkeypatch.setattr(jobs, "answers_job", fail)
    button(ran).click()
    words = find(page(ran), QLabel, "whyWords")
    qtbot.waitUntil(lambda: words.text() == "It cannot be told")
    assert asked(ran) == ()


def test_every_view_of_the_table_is_one(ran: MainWindow) -> None:
    titles = {kind.title for kind in VIEWS} | {"Sentence"}  # a page of the tokens
    assert set(EXPLAINED) == {view for one in EXPLANATIONS for view in one.views} <= titles
    assert button(ran).accessibleName()
    assert button(ran).toolTip()
