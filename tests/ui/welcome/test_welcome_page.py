"""Welcome page: models to open, and the progress while one is opened."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QIcon
from PySide6.QtWidgets import QAbstractButton, QCheckBox, QLabel, QProgressBar, QPushButton
from pytestqt.qtbot import QtBot

from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.sources.presets import preset_names
from bertviewer.core.util.errors import UserError
from bertviewer.ui.settings.settings import RECENT, opens_last, recent_names, remember, store
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.welcome import start_page
from bertviewer.ui.welcome.page import WelcomePage
from bertviewer.ui.welcome.question_runner import QuestionRunner
from bertviewer.ui.welcome.questions import QUESTIONS
from bertviewer.ui.widgets.column_grid import ColumnGrid
from tests.core.opened import plain
from tests.ui.direct_worker import settle, show_architecture
from tests.ui.finding import find

GONE = "/there/is/no/such/model"


class Opener(QObject):
    """Records the calls of the window's methods that open models."""

    began = Signal(str)
    dragged = Signal(bool)

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace)
        self.calls: list[tuple[str, ...]] = []

    def __getattr__(self, name: str) -> Any:
        return lambda *arguments: self.calls.append((name, *arguments))


@pytest.fixture
def opener(workspace: Workspace) -> Any:
    return Opener(workspace)


@pytest.fixture
def make_page(workspace: Workspace, opener: Any, qtbot: QtBot) -> Callable[[], WelcomePage]:
    def make_page() -> WelcomePage:
        runner = QuestionRunner(workspace, opener, workspace)
        page = WelcomePage(workspace, opener, runner, QIcon())
        qtbot.addWidget(page)
        page.resize(1200, 800)
        page.show()
        return page

    return make_page


@pytest.fixture
def page(make_page: Callable[[], WelcomePage]) -> WelcomePage:
    return make_page()


def texts(page: WelcomePage) -> list[str]:
    return [label.text() for label in page.findChildren(QLabel) if label.isVisible()]


def button(page: WelcomePage, name: str) -> QAbstractButton:
    (found,) = (b for b in page.findChildren(QAbstractButton) if b.objectName() == name)
    return found


def test_built_in_models_are_opened_by_clicks_and_keys(
    page: WelcomePage, opener: Any, qtbot: QtBot
) -> None:
    for name in ("demo", *preset_names()):
        card = button(page, f"model-{name}")
        assert card.accessibleName() == name
        assert " M · " in card.accessibleDescription()
    shown = texts(page)
    for text in (
        "24 layers · width 1024 · 16 heads",
        "335.1 M · no weights",
        "6 + 6 layers · width 512 · 8 heads",
        "11.7 M · no weights",
    ):
        assert text in shown
    card = button(page, "model-gpt2")
    card.click()
    for key in (Qt.Key.Key_Return, Qt.Key.Key_Space):
        qtbot.keyClick(card, key)
    assert opener.calls == [("open_named", "gpt2")] * 3


def test_buttons_choose_a_folder_a_file_or_a_hub_model(page: WelcomePage, opener: Any) -> None:
    for name in ("chooseFolder", "chooseFile", "chooseHub"):
        find(page, QPushButton, name).click()
    assert opener.calls == [("choose_folder",), ("choose_file",), ("choose_hub",)]


def test_recent_models_are_opened_or_removed_from_the_list(
    make_page: Callable[[], WelcomePage], opener: Any, tiny_bert_folder: Path, qtbot: QtBot
) -> None:
    assert "Recent models" not in texts(make_page())
    store(RECENT, [GONE])
    remember(parse_source(str(tiny_bert_folder)))
    page = make_page()
    qtbot.waitUntil(lambda: "not found" in texts(page))
    shown = texts(page)
    assert {tiny_bert_folder.name, str(tiny_bert_folder.parent)} <= set(shown)
    assert shown.count("not found") == 1
    assert any(len(text) == 5 and text[2] == ":" for text in shown)  # opened today
    button(page, f"recent-{tiny_bert_folder}").click()
    assert opener.calls == [("open_recent", str(tiny_bert_folder))]
    button(page, f"forget-{GONE}").click()
    assert recent_names() == [str(tiny_bert_folder)]
    assert not any(b.isVisible() for b in page.findChildren(QAbstractButton, f"recent-{GONE}"))


def test_the_name_and_progress_of_a_model_that_is_opened(
    page: WelcomePage, opener: Any, workspace: Workspace, qtbot: QtBot
) -> None:
    title, cancel = find(page, QLabel, "loadingTitle"), find(page, QPushButton, "loadingCancel")
    button(page, "model-gpt2").setFocus()
    opener.began.emit("gpt2")
    workspace.jobs.start("open", lambda _: None, lambda _: None)
    assert (title.isVisible(), title.text()) == (True, "Opening gpt2")
    assert (cancel.isEnabled(), cancel.hasFocus()) == (True, False)
    bar = find(page, QProgressBar, "loadingBar")
    workspace.jobs.progressed.emit(3, 7, "Reading")
    assert (bar.value(), bar.maximum(), find(page, QLabel, "loadingLabel").text()) == (
        *(3, 7, "Reading…"),
    )
    cancel.click()
    settle(workspace)
    qtbot.waitUntil(lambda: button(page, "model-demo").isVisible())


def test_an_expected_model_is_named_before_it_is_opened(
    workspace: Workspace, opener: Any, qtbot: QtBot
) -> None:
    page = WelcomePage(workspace, opener, QuestionRunner(workspace, opener, workspace), QIcon())
    qtbot.addWidget(page)
    page.expect("some/model", by_itself=True)
    page.show()
    assert find(page, QLabel, "loadingTitle").text() == "Opening some/model"
    assert not page.findChildren(QAbstractButton, "model-demo")
    assert page.opens_by_itself
    page.hide()
    assert not page.opens_by_itself


def test_a_note_is_plain_text_at_the_top(page: WelcomePage) -> None:
    note = find(page, QLabel, "welcomeNote")
    page.say("<b>gone</b> is not there any more")
    assert (note.isVisible(), note.text()) == (True, "<b>gone</b> is not there any more")
    assert note.textFormat() == Qt.TextFormat.PlainText
    page.say("")
    assert not note.isVisible()


def test_the_open_model_can_be_returned_to(
    page: WelcomePage, workspace: Workspace, qtbot: QtBot
) -> None:
    back = find(page, QPushButton, "backToModel")
    assert not back.isVisible()
    page.hide()
    show_architecture(workspace, plain("bert-base-uncased"))
    page.show()
    assert (back.isVisible(), back.text()) == (True, "Back to bert-base-uncased")
    with qtbot.waitSignal(page.left):
        back.click()


def test_whether_the_last_model_is_reopened_is_chosen_here(page: WelcomePage) -> None:
    check, stored = find(page, QCheckBox, "opensLast"), []
    assert check.isChecked()
    for _ in range(2):
        check.click()
        stored.append(opens_last())
    assert stored == [False, True]


def test_without_the_demo_questions_say_what_is_missing(
    make_page: Callable[[], WelcomePage], monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing() -> None:
        raise UserError("the demo model is not installed; pip install it")

    monkeypatch.setattr(start_page, "demo_folder", missing)
    page = make_page()
    assert not any(button(page, question.name).isEnabled() for question in QUESTIONS)
    assert "The demo model is not installed; pip install it" in texts(page)
    assert not page.findChildren(QAbstractButton, "model-demo")


@pytest.mark.parametrize("width", [760, 2560])
def test_cards_fit_into_any_width(page: WelcomePage, width: int, qtbot: QtBot) -> None:
    page.resize(width, 700)
    qtbot.waitUntil(lambda: page.width() == width)
    for grid in page.findChildren(ColumnGrid):
        assert grid.mapTo(page, grid.rect().topRight()).x() <= page.width()
        for card in grid.children():
            if isinstance(card, QAbstractButton):
                assert grid.rect().contains(card.geometry())
