"""Journeys that open a model: from the start page, after errors, and with pickled weights."""

import shutil
from pathlib import Path

import pytest
import torch
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import (
    QAbstractButton,
    QComboBox,
    QLabel,
    QLineEdit,
    QMessageBox,
    QPushButton,
    QTabWidget,
    QToolButton,
    QTreeView,
)
from pytestqt.qtbot import QtBot
from safetensors.torch import load_file

from bertviewer.core.pickles import consent
from bertviewer.ui.jobs.worker import Worker
from bertviewer.ui.settings.settings import recent_names
from bertviewer.ui.shell.main_window import MainWindow
from bertviewer.ui.welcome.questions import QUESTIONS, Question
from tests.ui.conftest import OPEN_TIMEOUT
from tests.ui.finding import activate, find, has_error, shown_error


def settle(window: MainWindow, worker: Worker, qtbot: QtBot) -> None:
    jobs = window.workspace.jobs
    qtbot.waitUntil(lambda: not jobs.activity and not worker.busy, timeout=OPEN_TIMEOUT)


def button(window: MainWindow, name: str) -> QAbstractButton:
    (found,) = (b for b in window.findChildren(QAbstractButton) if b.objectName() == name)
    return found


def test_a_card_opens_its_model_and_the_start_page_leads_back(
    window: MainWindow, worker: Worker, qtbot: QtBot
) -> None:
    card = button(window, "model-bert-large-uncased")
    card.setFocus()
    qtbot.keyClick(card, Qt.Key.Key_Return)
    assert find(window, QLabel, "loadingTitle").text() == "Opening bert-large-uncased"
    assert not find(window, QPushButton, "loadingCancel").hasFocus()
    tree = find(window, QTreeView, "moduleTree")
    qtbot.waitUntil(tree.isVisible, timeout=OPEN_TIMEOUT)
    assert window.windowTitle() == "bert-large-uncased — bertviewer"
    find(window, QAction, "showWelcome").trigger()
    assert window.welcome.isVisible()
    assert not tree.isVisible()
    back = find(window, QPushButton, "backToModel")
    assert back.text() == "Back to bert-large-uncased"
    back.click()
    assert (window.welcome.isVisible(), tree.isVisible()) == (False, True)
    settle(window, worker, qtbot)


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.name)
def test_a_question_opens_the_demo_and_is_answered(
    question: Question, window: MainWindow, worker: Worker, qtbot: QtBot
) -> None:
    button(window, question.name).click()
    qtbot.waitUntil(lambda: bool(window.asking.answer), timeout=OPEN_TIMEOUT)
    workspace = window.workspace
    assert workspace.source is not None
    assert workspace.source.name == "demo"
    assert find(window, QLineEdit, "sentenceEdit").text() == question.sentence.text
    tabs = find(window, QTabWidget, "runViews")
    assert tabs.tabText(tabs.currentIndex()) == question.view
    assert find(window, QLabel, "askedQuestion").text() == question.title
    answer = find(window, QLabel, "givenAnswer")
    assert (answer.isVisible(), answer.text()) == (True, window.asking.answer)
    settle(window, worker, qtbot)
    place = workspace.selection.place
    assert str(place.path).startswith("encoder.layer.")
    assert all(find(window, QToolButton, name).isChecked() for name in question.buttons)
    for name, data in question.choices:
        assert find(window, QComboBox, name).currentData() == data
    if place.head is not None:
        assert f"head {place.head} " in find(window, QToolButton, "bestHead").text()
        assert answer.text().startswith(f"Head {place.head} of ")
    # Of the open model, the question is run at once; another run drops the answer.
    window.show_welcome()
    button(window, question.name).click()
    assert not window.welcome.isVisible()
    qtbot.waitUntil(lambda: bool(window.asking.answer), timeout=OPEN_TIMEOUT)
    window.set_sentence("something else", None)
    settle(window, worker, qtbot)
    window.run()
    qtbot.waitUntil(lambda: not answer.isVisible(), timeout=OPEN_TIMEOUT)
    settle(window, worker, qtbot)


def test_after_an_error_the_model_can_be_tried_again(
    window: MainWindow, worker: Worker, qtbot: QtBot, tiny_bert_folder: Path, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(tiny_bert_folder, tmp_path / "model"))
    config = folder / "config.json"
    text = config.read_bytes()
    config.write_bytes(b"{")
    window.open_named(str(folder))
    qtbot.waitUntil(lambda: has_error(window), timeout=OPEN_TIMEOUT)
    assert not window.findChildren(QMessageBox)
    (retry,) = shown_error(window).findChildren(QPushButton, "errorRemedy")
    assert retry.text() == "Try again"
    config.write_bytes(text)
    retry.click()
    qtbot.waitUntil(lambda: window.workspace.architecture is not None, timeout=OPEN_TIMEOUT)
    assert not has_error(window)
    assert recent_names() == [str(folder)]
    settle(window, worker, qtbot)
    # Opened again from the list, by its number.
    before = window.workspace.architecture
    activate(window, qtbot)
    qtbot.keyClick(window, Qt.Key.Key_1, Qt.KeyboardModifier.ControlModifier)
    qtbot.waitUntil(lambda: window.workspace.architecture is not before, timeout=OPEN_TIMEOUT)
    settle(window, worker, qtbot)
    shutil.rmtree(folder)
    find(window, QAction, "openAgain").trigger()
    qtbot.waitUntil(lambda: has_error(window), timeout=OPEN_TIMEOUT)
    assert shown_error(window).text() == f"{config}: No such file or directory"
    assert window.workspace.architecture is not None
    settle(window, worker, qtbot)


def test_a_model_or_head_that_cannot_be_opened_leaves_the_open_one(
    demo_window: MainWindow, worker: Worker, qtbot: QtBot
) -> None:
    workspace, before = demo_window.workspace, demo_window.workspace.architecture
    demo_window.open_named("/nowhere/at/all")
    assert "/nowhere/at/all" in shown_error(demo_window).text()
    shown_error(demo_window).close()
    assert workspace.architecture is before
    demo_window.open_named("gpt2")
    qtbot.waitUntil(lambda: workspace.architecture is not before, timeout=OPEN_TIMEOUT)
    settle(demo_window, worker, qtbot)
    find(demo_window, QAction, "next-sentence").trigger()
    qtbot.waitUntil(lambda: has_error(demo_window), timeout=OPEN_TIMEOUT)
    settle(demo_window, worker, qtbot)
    checked = [find(demo_window, QAction, name).isChecked() for name in ("base", "next-sentence")]
    assert checked == [True, False]
    assert demo_window.windowTitle() == "gpt2 — bertviewer"


def test_pickled_weights_are_read_after_consent(  # noqa: PLR0917
    window: MainWindow,
    worker: Worker,
    qtbot: QtBot,
    tiny_bert_folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = Path(shutil.copytree(tiny_bert_folder, tmp_path / "model"))
    weights = folder / "model.safetensors"
    torch.save(load_file(weights), folder / "pytorch_model.bin")
    weights.unlink()

    def convert(_path: Path, work: Path, _progress: object) -> Path:
        shutil.copy(tiny_bert_folder / "model.safetensors", work)
        return work

    monkeypatch.setattr(consent, "convert_pickle", convert)  # takes a process

    def question() -> QMessageBox | None:
        boxes = window.findChildren(QMessageBox, "consentDialog")
        return next((box for box in boxes if box.isVisible()), None)

    def answer(text: str) -> str:
        """Open the model, answer the question, and return the kind of weights."""
        window.workspace.architecture = None
        window.open_named(str(folder))
        qtbot.waitUntil(lambda: question() is not None, timeout=OPEN_TIMEOUT)
        box = question()
        assert box is not None
        (found,) = [b for b in box.buttons() if b.text().replace("&", "") == text]
        qtbot.mouseClick(found, Qt.MouseButton.LeftButton)
        settle(window, worker, qtbot)
        architecture = window.workspace.architecture
        return "not opened" if architecture is None else architecture.source.weights

    answers = [answer(text) for text in ("Cancel", "Architecture only", "Read the tensors")]
    assert answers == ["not opened", "none", "pretrained"]
