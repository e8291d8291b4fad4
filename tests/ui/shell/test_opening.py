"""Opening models: by name, by dialogs, by dropping files, from the recent ones, and again."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QApplication, QFileDialog, QPushButton, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.util.errors import NOT_REGULAR
from bertviewer.ui.settings.settings import recent_names
from bertviewer.ui.shell.opening import DropHint, Opening
from bertviewer.ui.state.workspace import Workspace
from tests.ui.direct_worker import settle
from tests.ui.finding import find, has_error, shown_error


@pytest.fixture
def folder(tiny_bert_folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(tiny_bert_folder, tmp_path / "a & b 模型"))


@pytest.fixture
def target(qtbot: QtBot) -> QWidget:
    """Return a window that can show errors, and that files are dropped on."""
    target = QWidget()
    QVBoxLayout(target)
    qtbot.addWidget(target)
    target.resize(600, 400)
    target.show()
    return target


@pytest.fixture
def opening(workspace: Workspace, target: QWidget) -> Opening:
    return Opening(workspace, target)


@pytest.fixture
def errors(workspace: Workspace) -> list[str]:
    """Return the messages of jobs that have failed."""
    errors: list[str] = []
    workspace.jobs.errored.connect(lambda error: errors.append(str(error)))
    return errors


def opened_name(workspace: Workspace) -> str:
    settle(workspace)
    return "" if workspace.source is None else workspace.source.name


def drop(target: QWidget, *urls: str) -> bool:
    """Drop URLs, and return whether they were accepted."""
    data = QMimeData()
    data.setUrls([QUrl(url) for url in urls])
    arguments = (
        *(Qt.DropAction.CopyAction, data),
        *(Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier),
    )
    entered = QDragEnterEvent(QPoint(200, 200), *arguments)
    entered.ignore()
    QApplication.sendEvent(target, entered)
    if entered.isAccepted():
        QApplication.sendEvent(target, QDropEvent(QPointF(200, 200), *arguments))
    return entered.isAccepted()


@pytest.mark.parametrize("name", ["", "config.json", "model.safetensors"])
def test_a_dropped_folder_or_file_is_opened_and_remembered(
    name: str, opening: Opening, target: QWidget, workspace: Workspace, folder: Path
) -> None:
    began: list[str] = []
    opening.began.connect(began.append)
    path = folder / name
    assert drop(target, path.as_uri())
    assert opened_name(workspace) == str(path)
    assert began == recent_names() == [str(path)]


def test_only_a_single_file_can_be_dropped(opening: Opening, target: QWidget, folder: Path) -> None:
    for urls in (
        ("https://example.org/model",),
        (),
        (folder.as_uri(), (folder / "config.json").as_uri()),
    ):
        assert not drop(target, *urls)


def test_the_window_is_covered_while_a_file_is_dragged_over_it(
    opening: Opening, target: QWidget
) -> None:
    hint = find(target, DropHint)
    opening.dragged.emit(True)
    assert hint.isVisible()
    assert hint.geometry() == target.rect()
    assert target.childAt(target.rect().center()) is not hint
    opening.dragged.emit(False)
    assert not hint.isVisible()


def test_a_file_that_is_no_model_is_refused(
    opening: Opening, target: QWidget, folder: Path
) -> None:
    assert drop(target, (folder / "vocab.txt").as_uri())
    expected = "not a model folder, a config.json or a weight file"
    assert expected in shown_error(target).text()


def test_a_missing_folder_can_be_tried_again_where_the_error_is(
    opening: Opening, target: QWidget, workspace: Workspace, folder: Path
) -> None:
    elsewhere = folder.rename(folder.with_name("elsewhere"))
    opening.open_named(str(folder))
    retry, other = shown_error(target).findChildren(QPushButton, "errorRemedy")
    assert (retry.text(), other.text()) == ("Try again", "Open another folder…")
    elsewhere.rename(folder)
    retry.click()
    assert opened_name(workspace) == str(folder)
    assert not has_error(target)


def _empty(file: Path) -> None:
    file.write_bytes(b"")


def _make_pipe(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


@pytest.mark.parametrize(
    ("name", "damage", "message"),
    [
        ("config.json", Path.unlink, "No such file or directory"),
        ("config.json", _make_pipe, NOT_REGULAR),
        ("model.safetensors", _make_pipe, NOT_REGULAR),
        ("model.safetensors", _empty, "the file is empty"),
    ],
)
def test_a_model_that_cannot_be_read_leaves_the_open_one(  # noqa: PLR0917
    name: str,
    damage: Callable[[Path], None],
    message: str,
    opening: Opening,
    folder: Path,
    workspace: Workspace,
    errors: list[str],
) -> None:
    opening.open_named("bert-base-uncased")
    settle(workspace)
    source = parse_source(str(folder))
    damage(folder / name)
    opening.open_source(source)
    assert opened_name(workspace) == "bert-base-uncased"
    assert errors == [f"{folder / name}: {message}"]
    assert recent_names() == []


def test_a_chosen_folder_or_file_is_opened_and_a_cancelled_dialog_opens_nothing(
    opening: Opening, workspace: Workspace, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = folder / "model.safetensors"
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *_: str(folder))
    opening.choose_folder()
    assert opened_name(workspace) == str(folder)
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: (str(file), ""))
    opening.choose_file()
    assert opened_name(workspace) == str(file)
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *_: "")
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: ("", ""))
    opening.choose_folder()
    opening.choose_file()
    assert not workspace.jobs.activity


def test_a_recent_model_that_no_longer_exists_is_removed_from_the_list(
    opening: Opening, target: QWidget, workspace: Workspace, folder: Path
) -> None:
    opening.open_named(str(folder))
    assert opened_name(workspace) == str(folder)
    assert opening.recent == [(str(folder), True)]
    shutil.rmtree(folder)
    assert opening.recent == [(str(folder), False)]
    opening.open_recent(str(folder))
    expected = f"{folder} no longer exists and was removed from the list"
    assert shown_error(target).text() == expected
    assert opening.recent == []
    assert workspace.architecture is not None


def test_the_folder_of_a_corpus_is_passed_on(
    opening: Opening, workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bertviewer.core.corpus.reading.is_corpus", lambda path: path == tmp_path)
    (tmp_path / "manifest.json").write_text("{}")
    wanted: list[str] = []
    opening.corpus_wanted.connect(wanted.append)
    opening.open_named(str(tmp_path))
    assert wanted == [str(tmp_path)]
    assert not workspace.jobs.activity
