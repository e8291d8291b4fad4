"""Dialog that runs a corpus: options, output folder, cancelling and resuming."""

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QMimeData, QPointF, Qt, QUrl
from PySide6.QtGui import QDropEvent, QGuiApplication
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QFileDialog,
    QLabel,
    QLineEdit,
    QListWidget,
    QPushButton,
    QSpinBox,
    QWidget,
)
from pytestqt.qtbot import QtBot

from bertviewer.core.corpus.corpus import Corpus
from bertviewer.ui.corpus import dialog as dialog_module
from bertviewer.ui.corpus import output_folder
from bertviewer.ui.corpus.controller import CorpusController
from bertviewer.ui.corpus.dialog import CorpusDialog
from bertviewer.ui.corpus.window import CorpusWindow
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.widgets.labels import ElidedLabel
from tests.ui.corpus.conftest import LINES, window_of
from tests.ui.direct_worker import settle
from tests.ui.finding import find, has_error


class DialogHarness:
    """The dialog, and steps of a user in it."""

    def __init__(
        self, controller: CorpusController, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.window = window_of(controller)
        self.workspace = workspace
        self._monkeypatch = monkeypatch
        controller.open_dialog()
        settle(workspace)
        self.dialog = find(self.window, CorpusDialog)

    def add(self, *files: Path) -> None:
        answer = [str(file) for file in files], ""
        self._monkeypatch.setattr(QFileDialog, "getOpenFileNames", lambda *_: answer)
        self.click("corpusAdd")

    def choose_folder(self, folder: Path) -> None:
        self._monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *_: str(folder))
        self.click("corpusChooseFolder")

    def click(self, name: str) -> None:
        find(self.dialog, QAbstractButton, name).click()
        QApplication.processEvents()  # the debounced reading of the folder begins
        settle(self.workspace)

    def is_shown(self, name: str) -> bool:
        return find(self.dialog, QWidget, name).isVisibleTo(self.dialog)

    @property
    def start(self) -> QPushButton:
        return find(self.dialog, QPushButton, "corpusStart")

    @property
    def folder(self) -> str:
        return find(self.dialog, QLineEdit, "corpusFolder").text()

    @property
    def state(self) -> str:
        """What is said about the output folder."""
        return find(self.dialog, QLabel, "corpusState").text()

    @property
    def status(self) -> str:
        """What is said about the run."""
        return find(self.dialog, QLabel, "corpusTold").text()


@pytest.fixture
def open_dialog(
    controller: CorpusController, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> Callable[[], DialogHarness]:
    monkeypatch.setattr(output_folder, "DEBOUNCE", 0)
    return lambda: DialogHarness(controller, workspace, monkeypatch)


@pytest.fixture
def opened(open_dialog: Callable[[], DialogHarness]) -> DialogHarness:
    return open_dialog()


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Return a file of 180 sentences."""
    file = tmp_path / "lines.txt"
    file.write_text(LINES * 60, encoding="utf-8")
    return file


def test_files_and_options_give_a_folder_and_a_command_and_are_stored(
    opened: DialogHarness, open_dialog: Callable[[], DialogHarness], data: Path, qtbot: QtBot
) -> None:
    dialog = opened.dialog
    assert not opened.start.isEnabled()
    assert opened.start.toolTip() == "Add a sentence file first"
    opened.add(data)
    folder = data.with_name("lines-corpus")
    assert opened.folder == str(folder)
    assert opened.start.isEnabled()
    assert not opened.is_shown("corpusShards")
    opened.click("corpusMore")
    for name, number in (("corpusLimit", 7), ("corpusShards", 2), ("corpusMaxTokens", 32)):
        find(dialog, QSpinBox, name).setValue(number)
    modules = find(dialog, QLineEdit, "corpusModules")
    modules.setText("encoder.*")
    modules.textEdited.emit("encoder.*")
    command = find(dialog, QLineEdit, "corpusCommand").text()
    assert shlex.split(command) == [
        *("bertviewer", "corpus", "demo", str(data), "-o", str(folder), "--max-tokens=32"),
        *("--limit=7", "--shards=2", "--modules=encoder.*"),
    ]
    opened.click("corpusCommandCopy")
    assert QGuiApplication.clipboard().text() == command
    qtbot.keyClick(dialog, Qt.Key.Key_Escape)
    qtbot.waitUntil(lambda: not opened.window.findChildren(CorpusDialog))
    assert not opened.workspace.jobs.has_requests
    again = open_dialog()
    assert again.dialog.task.files == (str(data),)
    assert again.dialog.task.options.limit == 7
    assert again.is_shown("corpusShards")


def test_a_table_needs_a_column_and_files_can_be_removed_and_dropped(
    opened: DialogHarness, tmp_path: Path, qtbot: QtBot
) -> None:
    table = tmp_path / "rows.csv"
    table.write_text("text\nA sentence.\n", encoding="utf-8")
    assert not opened.is_shown("corpusColumn")
    opened.add(table)
    assert opened.is_shown("corpusColumn")
    files = find(opened.dialog, QListWidget, "corpusData")
    files.setCurrentRow(0)
    qtbot.keyClick(files, Qt.Key.Key_Delete)
    assert not opened.dialog.task.files
    assert not opened.folder
    assert not opened.is_shown("corpusColumn")
    mime = QMimeData()
    mime.setUrls([QUrl.fromLocalFile(str(table))])
    buttons, keys = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    target = files.parentWidget()
    assert target is not None
    target.dropEvent(QDropEvent(QPointF(5, 5), Qt.DropAction.CopyAction, mime, buttons, keys))
    assert opened.dialog.task.files == (str(table),)


def test_a_cancelled_run_is_resumed(
    opened: DialogHarness, data: Path, monkeypatch: pytest.MonkeyPatch, qtbot: QtBot
) -> None:
    run = dialog_module.run

    def run_and_cancel(task: Any, model: Any, progress: Any) -> Any:
        def report(done: int, total: int, label: str) -> None:
            if label.startswith("Sentence") and done:
                opened.workspace.jobs.cancel()
            progress(done, total, label)

        return run(task, model, report)

    opened.add(data)
    with monkeypatch.context() as patch:
        patch.setattr(dialog_module, "run", run_and_cancel)
        opened.click("corpusStart")
    assert opened.status.startswith("Stopped. To resume, run again with the same files")
    assert opened.state.startswith("The folder contains an unfinished run: ")
    assert " of 2 shards done, 180 sentences in total from lines.txt." in opened.state
    assert opened.state.endswith("The remaining shards will be run.")
    assert opened.start.text() == "&Resume"

    find(opened.dialog, QSpinBox, "corpusLimit").setValue(7)
    assert opened.state.endswith("with other settings and cannot be resumed with these.")
    assert not opened.start.isEnabled()
    opened.click("corpusTakeOver")
    assert opened.dialog.task.options.limit is None
    assert opened.state.endswith("Its settings are used.")

    opened.click("corpusStart")
    window = find(opened.window, CorpusWindow)
    assert find(window, ElidedLabel, "corpusHead").text().startswith("180 sentences")
    folder = data.with_name("lines-corpus")
    assert sorted(file.name for file in folder.iterdir()) == [
        *("features.safetensors", "manifest.json", "statistics.parquet")
    ]
    window.close()


def test_a_finished_corpus_is_shown_without_a_run(
    opened: DialogHarness, corpus: tuple[Path, Corpus]
) -> None:
    folder, _ = corpus
    opened.add(folder.with_name("lines.txt"))
    opened.choose_folder(folder)
    assert opened.state == (
        "The folder contains a finished corpus: 3 sentences from lines.txt. "
        "It will be shown without running anything."
    )
    opened.click("corpusStart")
    find(opened.window, CorpusWindow).close()


def test_a_folder_with_other_files_is_refused(opened: DialogHarness, data: Path) -> None:
    opened.add(data)
    opened.choose_folder(data.parent)
    assert opened.state.startswith("The folder already contains other files, such as ")
    assert not opened.start.isEnabled()


def test_an_error_is_a_line_in_the_dialog(opened: DialogHarness, data: Path) -> None:
    opened.add(data)
    data.write_bytes(b"")
    opened.click("corpusStart")
    assert opened.status == "lines.txt: the file is empty"
    assert not has_error(opened.window)
    assert opened.dialog.isVisible()
    assert opened.dialog.task.files == (str(data),)


def test_all_controls_have_names_and_tooltips_and_are_reached_by_tab(
    opened: DialogHarness, data: Path
) -> None:
    opened.add(data)
    opened.click("corpusMore")
    kinds = (QAbstractButton, QLineEdit, QSpinBox, QListWidget)
    controls = [w for w in opened.dialog.findChildren(QWidget) if isinstance(w, kinds)]
    controls = [w for w in controls if w.objectName().startswith("corpus")]
    controls = [w for w in controls if w.isVisibleTo(opened.dialog)]
    assert len(controls) == 16
    for widget in controls:
        text = widget.text() if isinstance(widget, QAbstractButton) else ""
        assert widget.accessibleName() or text, widget.objectName()
        assert widget.toolTip(), widget.objectName()
        assert widget.focusPolicy() & Qt.FocusPolicy.TabFocus, widget.objectName()
