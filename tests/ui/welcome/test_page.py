"""The first page: what there is to open, and what it shows while something is opened."""

from pathlib import Path

import pytest
from PySide6.QtCore import QSettings, Qt, QTimer
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QAbstractButton, QCheckBox, QLabel, QPushButton, QTreeView
from pytestqt.qtbot import QtBot

from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.sources.presets import preset_names
from bertviewer.ui.app.application import make_window
from bertviewer.ui.hub.dialog import HubDialog
from bertviewer.ui.jobs.worker import Worker
from bertviewer.ui.settings.settings import opens_last, recent_names, remember
from bertviewer.ui.shell.main_window import MainWindow
from bertviewer.ui.welcome.page import WelcomePage
from bertviewer.ui.widgets import progress_bar as busy_bar
from bertviewer.ui.widgets.column_grid import ColumnGrid
from bertviewer.ui.widgets.progress_bar import ProgressBar
from tests.ui.conftest import OPEN_TIMEOUT
from tests.ui.finding import find

OLD = "/there/is/no/such/model"


@pytest.fixture
def with_recent(tiny_bert_folder: Path, worker: Worker, qtbot: QtBot) -> MainWindow:
    """Return a window that knows two models of an earlier time, one of which is gone."""
    QSettings().setValue("recentModels", [OLD])
    remember(parse_source(str(tiny_bert_folder)))
    window = make_window(worker)
    qtbot.addWidget(window)
    window.show()
    return window


def texts(window: MainWindow) -> list[str]:
    return [label.text() for label in window.welcome.findChildren(QLabel) if label.isVisible()]


def card(window: MainWindow, name: str) -> QAbstractButton:
    (found,) = (b for b in window.findChildren(QAbstractButton) if b.objectName() == name)
    return found


@pytest.mark.parametrize("name", ["demo", *preset_names()])
def test_there_is_a_card_for_each_model_that_comes_with_the_program(
    window: MainWindow, name: str
) -> None:
    button = card(window, f"model-{name}")
    assert button.accessibleName() == name
    assert "parameters" in button.accessibleDescription() or " M" in button.accessibleDescription()


def test_sizes_are_those_of_the_model(window: MainWindow) -> None:
    said = texts(window)
    assert "24 layers · width 1024 · 16 heads" in said
    assert "335.1 M · no weights" in said
    assert "6 + 6 layers · width 512 · 8 heads" in said
    assert "11.7 M · no weights" in said


@pytest.mark.parametrize("key", [Qt.Key.Key_Return, Qt.Key.Key_Space])
def test_a_card_opens_its_model_by_keys(window: MainWindow, key: Qt.Key, qtbot: QtBot) -> None:
    button = card(window, "model-bert-large-uncased")
    button.setFocus()
    qtbot.keyClick(button, key)
    qtbot.waitUntil(lambda: window.workspace.architecture is not None, timeout=OPEN_TIMEOUT)
    assert window.workspace.source is not None
    assert window.workspace.source.name == "bert-large-uncased"
    assert not window.welcome.isVisible()


def test_while_a_model_loads_its_name_stands_there_and_a_bar_moves(
    window: MainWindow, qtbot: QtBot
) -> None:
    button = card(window, "model-bert-base-uncased")
    button.setFocus()
    button.click()
    assert find(window, QLabel, "loadingTitle").text() == "Opening bert-base-uncased"
    cancel = find(window, QPushButton, "loadingCancel")
    assert cancel.isVisible()
    assert cancel.isEnabled()
    assert not cancel.hasFocus()
    qtbot.waitUntil(lambda: window.workspace.architecture is not None, timeout=OPEN_TIMEOUT)


def test_a_bar_of_unknown_length_looks_different_from_time_to_time(qtbot: QtBot) -> None:
    bar = ProgressBar()
    qtbot.addWidget(bar)
    bar.resize(200, 4)
    bar.show()
    first = bar.grab().toImage()
    qtbot.waitUntil(lambda: bar.grab().toImage() != first)
    bar.setRange(0, 4)
    bar.setValue(2)
    second = bar.grab().toImage()
    assert second != first
    qtbot.waitUntil(lambda: bar.grab().toImage() != second)
    # What is done is filled, and what is left is not.
    image = bar.grab().toImage()
    assert image.pixelColor(20, 2) != image.pixelColor(190, 2)


def test_a_bar_moves_seldom_where_no_motion_is_wanted(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    paces = []
    for wanted in (True, False):
        monkeypatch.setattr(busy_bar, "has_motion", lambda wanted=wanted: wanted)
        bar = ProgressBar()
        qtbot.addWidget(bar)
        bar.show()
        (timer,) = bar.findChildren(QTimer)
        assert timer.isActive()
        paces.append(timer.interval())
    assert 10 * paces[0] < paces[1]


def test_cancelling_comes_back_to_what_there_is_to_open(window: MainWindow, qtbot: QtBot) -> None:
    card(window, "model-bert-base-uncased").click()
    find(window, QPushButton, "loadingCancel").click()
    qtbot.waitUntil(lambda: not window.workspace.jobs.activity, timeout=OPEN_TIMEOUT)
    if window.workspace.architecture is None:  # it may have been there already
        # The page is updated in the next event-loop turn.
        qtbot.waitUntil(lambda: card(window, "model-demo").isVisible())


def test_a_model_that_is_expected_is_named_at_once(worker: Worker, qtbot: QtBot) -> None:
    window = make_window(worker)
    qtbot.addWidget(window)
    window.welcome.expect("some/model")
    window.show()
    assert find(window, QLabel, "loadingTitle").text() == "Opening some/model"
    assert not window.findChildren(QAbstractButton, "model-demo")


def test_what_was_opened_last_is_there_with_what_is_known_of_it(
    with_recent: MainWindow, tiny_bert_folder: Path, qtbot: QtBot
) -> None:
    qtbot.waitUntil(lambda: "not found" in texts(with_recent))
    said = texts(with_recent)
    assert tiny_bert_folder.name in said
    assert str(tiny_bert_folder.parent) in said
    assert said.count("not found") == 1
    assert any(len(text) == 5 and text[2] == ":" for text in said)  # when it was, today


def test_a_model_that_was_opened_is_opened_again(
    with_recent: MainWindow, tiny_bert_folder: Path, qtbot: QtBot
) -> None:
    card(with_recent, f"recent-{tiny_bert_folder}").click()
    qtbot.waitUntil(lambda: with_recent.workspace.architecture is not None, timeout=OPEN_TIMEOUT)


def test_one_that_is_gone_can_be_taken_off_the_list(with_recent: MainWindow, qtbot: QtBot) -> None:
    card(with_recent, f"forget-{OLD}").click()
    assert OLD not in recent_names()
    qtbot.waitUntil(
        lambda: (
            not [
                b
                for b in with_recent.findChildren(QAbstractButton, f"recent-{OLD}")
                if b.isVisible()
            ]
        )
    )


def test_without_a_recent_model_there_is_no_list(window: MainWindow) -> None:
    assert "Recent models" not in texts(window)
    assert "Open a model" in texts(window)


def test_the_hub_opens_its_dialog(window: MainWindow, qtbot: QtBot) -> None:
    find(window, QPushButton, "chooseHub").click()
    dialog = find(window, HubDialog)
    dialog.reject()


def test_something_that_is_said_stands_above_all_else(window: MainWindow) -> None:
    window.welcome.say("<b>gone</b> is not there any more")
    note = find(window, QLabel, "welcomeNote")
    assert note.isVisible()
    assert note.text() == "<b>gone</b> is not there any more"
    assert note.textFormat() == Qt.TextFormat.PlainText
    window.welcome.say("")
    assert not note.isVisible()


@pytest.mark.parametrize("width", [760, 1024, 1440, 2560])
def test_nothing_is_cut_off_at_the_right(window: MainWindow, width: int, qtbot: QtBot) -> None:
    window.resize(width, 700)
    page = find(window, WelcomePage)
    qtbot.waitUntil(lambda: page.width() == width)
    for grid in window.findChildren(ColumnGrid):
        right = grid.mapTo(page, grid.rect().topRight()).x()
        assert right <= page.width()
        for one in grid.children():
            if isinstance(one, QAbstractButton):
                assert grid.rect().contains(one.geometry())


def test_the_page_is_there_again_and_leads_back(demo_window: MainWindow) -> None:
    find(demo_window, QAction, "showWelcome").trigger()
    assert demo_window.welcome.isVisible()
    assert not find(demo_window, QTreeView, "moduleTree").isVisible()
    back = find(demo_window, QPushButton, "backToModel")
    assert back.text() == "Back to demo"
    back.click()
    assert not demo_window.welcome.isVisible()
    assert find(demo_window, QTreeView, "moduleTree").isVisible()
    assert demo_window.workspace.architecture is not None


def test_a_question_of_the_open_model_leads_back_too(
    demo_window: MainWindow, worker: Worker, qtbot: QtBot
) -> None:
    demo_window.show_welcome()
    card(demo_window, "questionOutlier").click()
    assert not demo_window.welcome.isVisible()
    qtbot.waitUntil(lambda: bool(demo_window.asking.answer), timeout=OPEN_TIMEOUT)
    qtbot.waitUntil(lambda: not worker.busy, timeout=OPEN_TIMEOUT)


def test_without_an_open_model_there_is_no_way_back(window: MainWindow) -> None:
    assert not find(window, QPushButton, "backToModel").isVisible()


def test_a_person_says_how_the_next_start_begins(window: MainWindow) -> None:
    check = find(window, QCheckBox, "opensLast")
    assert check.isChecked()
    check.click()
    assert not opens_last()
    check.click()
    assert opens_last()
