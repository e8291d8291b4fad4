"""Opening by dialogs, by dropping on the window, and once more."""

import os
import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QAction, QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QApplication, QFileDialog, QLabel, QMenu, QMessageBox, QPushButton
from pytestqt.qtbot import QtBot

from bertviewer.core.sources.model_source import ModelSource
from bertviewer.core.util.errors import NOT_REGULAR
from bertviewer.core.util.progress import Progress
from bertviewer.ui.jobs import model_jobs as jobs
from bertviewer.ui.jobs.worker import Worker
from bertviewer.ui.settings.settings import (
    recent_names,
)
from bertviewer.ui.shell.main_window import MainWindow
from bertviewer.ui.shell.opening import DropHint
from tests.ui.conftest import OPEN_TIMEOUT
from tests.ui.finding import activate, find, has_error, shown_error

Wait = Callable[[Path], None]


@pytest.fixture
def folder(tiny_bert_folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(tiny_bert_folder, tmp_path / "a & b 模型"))


@pytest.fixture
def wait(window: MainWindow, worker: Worker, qtbot: QtBot) -> Wait:
    """Return what waits until the model of a path is open."""

    def is_open(path: Path) -> bool:
        source = window.workspace.source
        return source is not None and source.name == str(path)

    def wait(path: Path) -> None:
        qtbot.waitUntil(lambda: is_open(path), timeout=OPEN_TIMEOUT)
        qtbot.waitUntil(lambda: not worker.busy, timeout=OPEN_TIMEOUT)

    return wait


def drop(window: MainWindow, *urls: str) -> bool:
    """Drop something on the window, and return whether it was taken."""
    data = QMimeData()
    data.setUrls([QUrl(url) for url in urls])
    actions, button, keys = (
        Qt.DropAction.CopyAction,
        Qt.MouseButton.LeftButton,
        Qt.KeyboardModifier.NoModifier,
    )
    entered = QDragEnterEvent(QPoint(200, 200), actions, data, button, keys)
    entered.ignore()
    QApplication.sendEvent(window, entered)
    if entered.isAccepted():
        dropped = QDropEvent(QPointF(200, 200), actions, data, button, keys)
        QApplication.sendEvent(window, dropped)
    return entered.isAccepted()


def recent(window: MainWindow) -> list[QAction]:
    """Return the actions of the menu as they are when it comes up."""
    menu = find(window, QMenu, "openRecent")
    above = menu.parentWidget()
    file = window.menuBar().actions()[0].menu()
    assert isinstance(file, QMenu)
    assert above is not None
    file.aboutToShow.emit()
    return menu.actions()


def test_dropping_a_folder_or_a_file(window: MainWindow, folder: Path, wait: Wait) -> None:
    for path in (folder, folder / "config.json", folder / "model.safetensors"):
        assert drop(window, path.as_uri())
        wait(path)


def test_without_a_tokenizer_run_is_off_and_says_why(
    window: MainWindow, folder: Path, wait: Wait
) -> None:
    button = find(window, QPushButton, "runButton")
    window.set_sentence("the cat", None)
    assert drop(window, folder.as_uri())
    wait(folder)
    assert button.isEnabled()
    (folder / "vocab.txt").unlink()
    bare = folder.rename(folder.with_name("bare"))
    assert drop(window, bare.as_uri())
    wait(bare)
    assert not button.isEnabled()
    assert button.toolTip() == "This model has no tokenizer, so no sentence can be run."
    # Where the sentence is typed as well, and whatever is typed.
    note = find(window, QLabel, "tokenCount")
    window.set_sentence("the cat sat", None)
    assert note.isVisible()
    assert note.text() == "This model has no tokenizer"
    assert note.toolTip() == button.toolTip()
    (bare / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]))
    assert drop(window, bare.as_uri())
    wait(bare)
    assert button.isEnabled()
    assert note.text() != "This model has no tokenizer"


@pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
def test_a_pipe_among_the_files_is_told(
    window: MainWindow, folder: Path, wait: Wait, name: str, qtbot: QtBot
) -> None:
    assert drop(window, folder.as_uri())
    wait(folder)
    bad = Path(shutil.copytree(folder, folder.with_name("bad")))
    (bad / name).unlink()
    os.mkfifo(bad / name)
    assert drop(window, bad.as_uri())
    qtbot.waitUntil(lambda: has_error(window))
    box = shown_error(window)
    assert box.text() == f"{bad / name}: {NOT_REGULAR}"
    assert window.workspace.source is not None
    assert window.workspace.source.name == str(folder)
    box.close()
    wait(folder)


def test_what_is_dragged_over_the_window_can_be_dropped_there(
    window: MainWindow, folder: Path, wait: Wait
) -> None:
    window.open_named(str(folder))
    wait(folder)
    hint = find(window, DropHint)
    for is_over in (True, False):
        window.opening.dragged.emit(is_over)
        assert hint.isVisible() == is_over
    window.opening.dragged.emit(True)
    assert hint.geometry() == window.rect()
    assert window.childAt(window.rect().center()) is not hint
    window.opening.dragged.emit(False)


def test_what_is_no_file_is_not_taken(window: MainWindow, folder: Path) -> None:
    assert not drop(window, "https://example.org/model")
    assert not drop(window)
    assert not drop(window, folder.as_uri(), (folder / "config.json").as_uri())


def test_dropping_something_else_is_told(window: MainWindow, folder: Path) -> None:
    assert drop(window, (folder / "vocab.txt").as_uri())
    box = shown_error(window)
    assert "not a model folder, a config.json or a weight file" in box.text()
    box.close()


def test_what_failed_can_be_tried_again_where_the_error_is(
    window: MainWindow, folder: Path, wait: Wait, qtbot: QtBot
) -> None:
    # A missing folder fails before a job is started, a broken file in one.
    elsewhere, config = folder.with_name("elsewhere"), folder / "config.json"
    text = config.read_bytes()
    for is_missing in (True, False):
        if is_missing:
            folder.rename(elsewhere)
        else:
            config.write_bytes(b"{")
            window.workspace.source = None
        window.open_named(str(folder))
        qtbot.waitUntil(lambda: has_error(window), timeout=OPEN_TIMEOUT)
        assert not window.findChildren(QMessageBox)
        retry = shown_error(window).findChildren(QPushButton, "errorRemedy")[0]
        assert retry.text() == "Try again"
        if is_missing:
            elsewhere.rename(folder)
        else:
            config.write_bytes(text)
        retry.click()
        wait(folder)
        assert not has_error(window)


def test_the_dialogs(
    window: MainWindow, folder: Path, wait: Wait, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *_: str(folder))
    find(window, QAction, "openFolder").trigger()
    wait(folder)
    file = folder / "model.safetensors"
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: (str(file), ""))
    find(window, QAction, "openFile").trigger()
    wait(file)
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: ("", ""))
    find(window, QAction, "openFile").trigger()
    wait(file)


def test_what_was_open_can_be_opened_again(
    window: MainWindow, folder: Path, wait: Wait, qtbot: QtBot
) -> None:
    assert recent(window) == []
    assert not find(window, QMenu, "openRecent").isEnabled()
    paths = [folder / "config.json", folder]
    for path in paths:
        window.open_named(str(path))
        wait(path)
    first, second = recent(window)
    assert (first.data(), second.data()) == (str(folder), str(folder / "config.json"))
    assert "a && b 模型" in first.text()
    second.trigger()
    wait(folder / "config.json")
    assert [action.data() for action in recent(window)] == [str(paths[0]), str(paths[1])]


def test_numbers_open_what_was_open(
    window: MainWindow, folder: Path, wait: Wait, qtbot: QtBot
) -> None:
    for path in (folder / "config.json", folder):
        window.open_named(str(path))
        wait(path)
    assert [action.text().partition("\t")[2] for action in recent(window)] == ["Ctrl+1", "Ctrl+2"]
    activate(window, qtbot)
    qtbot.keyClick(window, Qt.Key.Key_3, Qt.KeyboardModifier.ControlModifier)  # there is no third
    qtbot.keyClick(window, Qt.Key.Key_2, Qt.KeyboardModifier.ControlModifier)
    wait(folder / "config.json")
    assert recent_names() == [str(folder / "config.json"), str(folder)]


def test_what_is_gone_is_said(window: MainWindow, folder: Path, wait: Wait) -> None:
    window.open_named(str(folder))
    wait(folder)
    shutil.rmtree(folder)
    (action,) = recent(window)
    assert action.text().endswith("(not found)\tCtrl+1")
    action.trigger()
    box = shown_error(window)
    assert box.text() == f"{folder} no longer exists and was removed from the list"
    box.close()
    assert recent(window) == []
    assert window.workspace.architecture is not None


def test_a_folder_that_is_gone_is_named_when_it_is_read_again(
    window: MainWindow, folder: Path, wait: Wait, qtbot: QtBot
) -> None:
    window.open_named(str(folder))
    wait(folder)
    shutil.rmtree(folder)
    window.opening.open_again()
    qtbot.waitUntil(lambda: has_error(window), timeout=OPEN_TIMEOUT)
    box = shown_error(window)
    assert box.text() == f"{folder / 'config.json'}: No such file or directory"
    box.close()
    assert window.workspace.architecture is not None


def test_what_was_asked_for_before_a_model_came_is_not_done_with_the_last_one(
    demo_window: MainWindow,
    folder: Path,
    worker: Worker,
    monkeypatch: pytest.MonkeyPatch,
    qtbot: QtBot,
) -> None:
    is_read = threading.Event()
    open_model = jobs.open_model_job

    def read(source: ModelSource, progress: Progress) -> jobs.Opened:
        opened = open_model(source, progress)
        is_read.set()
        return opened

    monkeypatch.setattr(jobs, "open_model_job", read)
    workspace = demo_window.workspace
    demo_window.open_named(str(folder))
    assert is_read.wait(OPEN_TIMEOUT / 1000)  # and the window has not heard of it yet
    demo_window.set_sentence("a test", None)
    demo_window.run()
    qtbot.waitUntil(lambda: workspace.runs.run is not None, timeout=OPEN_TIMEOUT)
    qtbot.waitUntil(lambda: not workspace.jobs.activity, timeout=OPEN_TIMEOUT)
    assert workspace.source is not None
    assert workspace.architecture is not None
    assert workspace.source.name == workspace.architecture.source.name == "demo"
    assert demo_window.windowTitle() == "demo — bertviewer"


def test_a_model_that_does_not_open_is_not_remembered(
    window: MainWindow, folder: Path, worker: Worker, qtbot: QtBot
) -> None:
    (folder / "model.safetensors").write_bytes(b"")
    window.open_named(str(folder))
    qtbot.waitUntil(lambda: has_error(window), timeout=OPEN_TIMEOUT)
    box = shown_error(window)
    assert box.text() == f"{folder / 'model.safetensors'}: the file is empty"
    box.close()
    qtbot.waitUntil(lambda: not worker.busy, timeout=OPEN_TIMEOUT)
    assert recent(window) == []
