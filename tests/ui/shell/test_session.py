"""A window that is closed and opened again is as it was left."""

from pathlib import Path

import pytest
from PySide6.QtCore import QRect, QSettings, Qt
from PySide6.QtWidgets import QDockWidget, QLineEdit, QToolButton, QTreeView
from pytestqt.qtbot import QtBot

from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.util.errors import UserError
from bertviewer.ui.jobs.worker import Worker
from bertviewer.ui.run.run_area import MIN_OPEN_HEIGHT
from bertviewer.ui.settings.settings import set_opens_last
from bertviewer.ui.shell import main_window
from bertviewer.ui.shell.main_window import MainWindow
from bertviewer.ui.shell.session import LAYOUT_VERSION, SETTING, Session, SessionState
from bertviewer.ui.tree.model import ModuleTreeModel
from tests.ui.conftest import OPEN_TIMEOUT
from tests.ui.finding import find, is_drawn, show_tab
from tests.ui.shell.starts import another, is_open, opened, tab

LAYER = "encoder.layer.3"
RIGHT = Qt.DockWidgetArea.RightDockWidgetArea


@pytest.fixture
def left(window: MainWindow, worker: Worker, qtbot: QtBot) -> MainWindow:
    """Return a window that was looked around in and closed."""
    Session(window, window.workspace)
    opened(window, worker, "bert-base-uncased", qtbot)
    tree = find(window, QTreeView, "moduleTree")
    model = tree.model()
    assert isinstance(model, ModuleTreeModel)
    tree.collapse(model.index_of("embeddings"))
    window.workspace.selection.select(LAYER)
    show_tab(window, "Configuration")
    window.set_sentence("the cat", "the dog")
    window.workspace.next_run.history.add(Sentence("an old one", "and its pair"))
    window.setGeometry(30, 40, 700, 500)
    window.close()
    return window


def test_window_model_tab_row_tree_and_sentence_are_there_again(
    left: MainWindow, worker: Worker, qtbot: QtBot
) -> None:
    window, session = another(worker, qtbot)
    # The offscreen screen is smaller than the least size of a window with a model.
    assert window.screen().availableGeometry().contains(window.geometry())
    assert window.height() == 500
    assert session.source == parse_source("bert-base-uncased")
    assert (session.last.sentence.text, session.last.sentence.pair) == ("the cat", "the dog")
    assert window.workspace.next_run.history.entries == (Sentence("an old one", "and its pair"),)
    opened(window, worker, "bert-base-uncased", qtbot)
    assert tab(window) == "Configuration"
    assert window.workspace.selection.row is not None
    assert window.workspace.selection.row.key == LAYER
    assert not is_open(window, "embeddings")
    assert is_open(window, "encoder")
    assert window.focusWidget() is find(window, QTreeView, "moduleTree")


@pytest.mark.usefixtures("left")
def test_another_model_begins_anew(worker: Worker, qtbot: QtBot) -> None:
    window, _ = another(worker, qtbot)
    opened(window, worker, "distilbert-base-uncased", qtbot)
    assert window.workspace.selection.row is not None
    assert window.workspace.selection.row.key == ""
    assert is_open(window, "embeddings")


@pytest.mark.usefixtures("left")
def test_a_window_that_is_closed_without_a_model_forgets_none(worker: Worker, qtbot: QtBot) -> None:
    window, session = another(worker, qtbot)
    before = session.last
    window.close()
    after = SessionState.from_text(QSettings().value(SETTING))
    assert after.model == before.model
    assert after.pages == before.pages
    assert after.window.layout == before.window.layout


def test_the_layout_of_the_docks_is_there_again(
    window: MainWindow, worker: Worker, qtbot: QtBot
) -> None:
    Session(window, window.workspace)
    opened(window, worker, "bert-base-uncased", qtbot)
    window.panes.toggle("structure")
    before = window.saveState(LAYOUT_VERSION)
    window.close()
    other, _ = another(worker, qtbot)
    opened(other, worker, "bert-base-uncased", qtbot)
    assert not find(other, QTreeView, "moduleTree").isVisible()
    assert other.saveState(LAYOUT_VERSION).size() == before.size()


def test_one_that_ended_with_a_run_leaves_no_dead_space_in_the_next(
    window: MainWindow, worker: Worker, qtbot: QtBot
) -> None:
    Session(window, window.workspace)
    opened(window, worker, "demo", qtbot)
    window.set_sentence("the cat", None)
    window.run()
    qtbot.waitUntil(lambda: is_drawn(window), timeout=OPEN_TIMEOUT)
    assert find(window, QDockWidget, "runPane").height() > MIN_OPEN_HEIGHT
    window.close()
    other, _ = another(worker, qtbot)
    opened(other, worker, "demo", qtbot)
    run = find(other, QDockWidget, "runPane")
    qtbot.waitUntil(lambda: run.height() == run.minimumSizeHint().height())
    assert run.height() < MIN_OPEN_HEIGHT


def test_a_layout_of_a_large_screen_is_fitted_to_a_small_one(
    window: MainWindow, worker: Worker, qtbot: QtBot
) -> None:
    Session(window, window.workspace)
    window.resize(1440, 900)
    opened(window, worker, "demo", qtbot)
    module = find(window, QDockWidget, "modulePane")
    qtbot.waitUntil(module.isVisible)
    window.close()
    # The screen of the tests is of 800 pixels.
    other, _ = another(worker, qtbot)
    opened(other, worker, "demo", qtbot)
    assert not find(other, QDockWidget, "modulePane").isVisible()
    assert find(other, QDockWidget, "structurePane").isVisible()


def test_a_pane_that_had_no_room_is_shown_in_a_wide_window(
    window: MainWindow, worker: Worker, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(main_window, "available", lambda _: QRect(0, 0, 2560, 1440))
    Session(window, window.workspace)
    window.resize(1024, 700)
    opened(window, worker, "demo", qtbot)
    module = find(window, QDockWidget, "modulePane")
    assert module.isHidden()
    # Opened for a moment as a drawer.
    window.panes.toggle("module")
    window.panes.toggle("module")
    window.close()
    other, _ = another(worker, qtbot)
    other.resize(2560, 1400)
    opened(other, worker, "demo", qtbot)
    assert find(other, QDockWidget, "modulePane").isVisible()
    # What the user closed where it had room stays closed, and has a button.
    find(other, QToolButton, "moduleToggle").click()
    other.panes.set_run_open(True)
    assert other.dockWidgetArea(find(other, QDockWidget, "runPane")) == RIGHT
    other.close()
    third, _ = another(worker, qtbot)
    third.resize(2560, 1400)
    opened(third, worker, "demo", qtbot)
    button, module = (
        find(third, QToolButton, "moduleToggle"),
        find(third, QDockWidget, "modulePane"),
    )
    assert (module.isVisible(), button.isChecked()) == (False, False)
    button.click()
    assert (module.isVisible(), button.isChecked()) == (True, True)
    # A run goes beside the map there too: a layout that Qt restores was not chosen by the user.
    third.panes.set_run_open(True)
    assert third.dockWidgetArea(find(third, QDockWidget, "runPane")) == RIGHT


def test_a_layout_of_another_version_is_left_out(
    window: MainWindow, worker: Worker, qtbot: QtBot
) -> None:
    Session(window, window.workspace)
    opened(window, worker, "bert-base-uncased", qtbot)
    window.panes.toggle("structure")
    state = SessionState.from_text(QSettings().value(SETTING))
    assert state == SessionState()
    window.close()
    text = str(QSettings().value(SETTING))
    QSettings().setValue(SETTING, text.replace('"layout": "', '"layout": "AAAA'))
    other, _ = another(worker, qtbot)
    opened(other, worker, "bert-base-uncased", qtbot)
    assert find(other, QTreeView, "moduleTree").isVisible()


def test_a_model_that_is_gone_is_told(
    tiny_bert_folder: Path, tmp_path: Path, qtbot: QtBot, window: MainWindow, worker: Worker
) -> None:
    folder = tmp_path / "model"
    folder.symlink_to(tiny_bert_folder)
    session = Session(window, window.workspace)
    opened(window, worker, str(folder), qtbot)
    session.save()
    folder.unlink()
    _, session = another(worker, qtbot)
    with pytest.raises(UserError):
        _ = session.source


@pytest.mark.usefixtures("left")
def test_a_person_may_want_to_choose_anew_each_time(worker: Worker, qtbot: QtBot) -> None:
    set_opens_last(False)
    _, session = another(worker, qtbot)
    assert session.source is None
    assert session.last.model is not None
    set_opens_last(True)
    assert session.source is not None


def test_the_first_start_has_nothing(worker: Worker, qtbot: QtBot) -> None:
    window, session = another(worker, qtbot)
    assert session.source is None
    assert find(window, QLineEdit, "sentenceEdit").text() == ""


def test_sentences_that_were_run_are_offered_again(
    window: MainWindow, worker: Worker, qtbot: QtBot
) -> None:
    session = Session(window, window.workspace)
    history = (Sentence("one"), Sentence("two", "a pair"))
    window.workspace.next_run.history.set_entries((*history, Sentence("x" * 100_000)))
    session.save()
    again, _ = another(worker, qtbot)
    assert again.workspace.next_run.history.entries == history
