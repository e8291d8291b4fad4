"""Dialog that runs a corpus: options, cancelling, resuming."""

import shlex
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPointF, Qt, QUrl
from PySide6.QtGui import QAction, QDropEvent, QGuiApplication
from PySide6.QtWidgets import (
    QAbstractButton,
    QFileDialog,
    QLabel,
    QLineEdit,
    QListWidget,
    QPushButton,
    QSpinBox,
    QToolButton,
    QWidget,
)
from pytestqt.qtbot import QtBot

from bertviewer.core.corpus.corpus import Corpus
from bertviewer.ui.corpus.dialog import CorpusDialog
from bertviewer.ui.corpus.window import CorpusWindow
from bertviewer.ui.shell.main_window import MainWindow
from bertviewer.ui.widgets.labels import ElidedLabel
from tests.ui.conftest import OPEN_TIMEOUT
from tests.ui.corpus.corpora import LINES
from tests.ui.finding import find, has_error


def open_dialog(window: MainWindow) -> CorpusDialog:
    window.show()
    find(window, QAction, "runCorpus").trigger()
    return find(window, CorpusDialog)


def add(dialog: CorpusDialog, monkeypatch: pytest.MonkeyPatch, *files: Path) -> None:
    chosen = [str(file) for file in files], ""
    monkeypatch.setattr(QFileDialog, "getOpenFileNames", lambda *_: chosen)
    find(dialog, QPushButton, "corpusAdd").click()


def start(dialog: CorpusDialog) -> QPushButton:
    return find(dialog, QPushButton, "corpusStart")


def state(dialog: CorpusDialog) -> str:
    return find(dialog, QLabel, "corpusState").text()


def status(dialog: CorpusDialog) -> str:
    return find(dialog, QLabel, "corpusTold").text()


@pytest.fixture
def data(tmp_path: Path) -> Path:
    file = tmp_path / "lines.txt"
    file.write_text(LINES * 60, encoding="utf-8")
    return file


def test_files_bring_a_folder_and_a_command(
    demo_window: MainWindow, data: Path, monkeypatch: pytest.MonkeyPatch, qtbot: QtBot
) -> None:
    dialog = open_dialog(demo_window)
    assert not start(dialog).isEnabled()
    assert start(dialog).toolTip() == "Add a sentence file first"
    add(dialog, monkeypatch, data)
    folder = data.with_name("lines-corpus")
    assert find(dialog, QLineEdit, "corpusFolder").text() == str(folder)
    assert start(dialog).isEnabled()
    assert not find(dialog, QLineEdit, "corpusColumn").isVisibleTo(dialog)
    assert not find(dialog, QSpinBox, "corpusShards").isVisibleTo(dialog)
    find(dialog, QToolButton, "corpusMore").click()
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
    find(dialog, QToolButton, "corpusCommandCopy").click()
    assert QGuiApplication.clipboard().text() == command
    dialog.close()
    qtbot.waitUntil(lambda: not demo_window.findChildren(CorpusDialog))
    again = open_dialog(demo_window)
    assert again.task.files == (str(data),)
    assert again.task.options.limit == 7
    assert find(again, QSpinBox, "corpusShards").isVisibleTo(again)
    again.close()


def test_a_file_with_columns_asks_for_one_and_can_be_taken_out(
    demo_window: MainWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, qtbot: QtBot
) -> None:
    dialog = open_dialog(demo_window)
    table = tmp_path / "rows.csv"
    table.write_text("text\nA sentence.\n", encoding="utf-8")
    add(dialog, monkeypatch, table)
    assert find(dialog, QLineEdit, "corpusColumn").isVisibleTo(dialog)
    files = find(dialog, QListWidget, "corpusData")
    files.setCurrentRow(0)
    qtbot.keyClick(files, Qt.Key.Key_Delete)
    assert not dialog.task.files
    assert not find(dialog, QLineEdit, "corpusFolder").text()
    assert not find(dialog, QLineEdit, "corpusColumn").isVisibleTo(dialog)
    mime = QMimeData()
    mime.setUrls([QUrl.fromLocalFile(str(table))])
    buttons, keys = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    drop = QDropEvent(QPointF(5, 5), Qt.DropAction.CopyAction, mime, buttons, keys)
    target = files.parentWidget()
    assert target is not None
    target.dropEvent(drop)
    assert dialog.task.files == (str(table),)
    dialog.close()


def test_a_run_is_stopped_and_gone_on_with(
    demo_window: MainWindow, data: Path, monkeypatch: pytest.MonkeyPatch, qtbot: QtBot
) -> None:
    window = demo_window
    dialog = open_dialog(window)
    add(dialog, monkeypatch, data)
    jobs = window.workspace.jobs

    def cancel(done: int, _total: int, label: str) -> None:
        if jobs.activity == "corpus" and label.startswith("Sentence") and done:
            find(dialog, QPushButton, "corpusCancel").click()

    jobs.progressed.connect(cancel)
    with qtbot.waitSignal(jobs.cancelled, timeout=OPEN_TIMEOUT) as stopped:
        start(dialog).click()
    assert stopped.args == ["corpus"]
    jobs.progressed.disconnect(cancel)
    assert (
        status(dialog) == "Stopped. To resume, run again with the same files, settings and folder."
    )
    qtbot.waitUntil(lambda: state(dialog).endswith("The remaining shards will be run."))
    assert state(dialog).startswith("The folder contains an unfinished run: ")
    assert " of 2 shards done, 180 sentences in total from lines.txt." in state(dialog)
    assert start(dialog).text() == "&Resume"

    find(dialog, QSpinBox, "corpusLimit").setValue(7)
    assert state(dialog).endswith(
        "It was started with other settings and cannot be resumed with these."
    )
    assert not start(dialog).isEnabled()
    find(dialog, QPushButton, "corpusTakeOver").click()
    assert dialog.task.options.limit is None
    assert state(dialog).endswith("Its settings are used.")

    start(dialog).click()
    qtbot.waitUntil(lambda: bool(window.findChildren(CorpusWindow)), timeout=OPEN_TIMEOUT)
    head = find(find(window, CorpusWindow), ElidedLabel, "corpusHead")
    assert head.text().startswith("180 sentences")
    folder = data.with_name("lines-corpus")
    assert sorted(file.name for file in folder.iterdir()) == [
        *("features.safetensors", "manifest.json", "statistics.parquet")
    ]
    assert window.corpora.folder == str(folder)
    find(window, CorpusWindow).close()


def test_a_whole_corpus_is_said(
    demo_window: MainWindow,
    corpus: tuple[Path, Corpus],
    monkeypatch: pytest.MonkeyPatch,
    qtbot: QtBot,
) -> None:
    folder, _ = corpus
    dialog = open_dialog(demo_window)
    add(dialog, monkeypatch, folder.with_name("lines.txt"))
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *_: str(folder))
    find(dialog, QPushButton, "corpusChooseFolder").click()
    whole = "The folder contains a finished corpus: 3 sentences from lines.txt."
    qtbot.waitUntil(lambda: state(dialog) == f"{whole} It will be shown without running anything.")
    start(dialog).click()
    qtbot.waitUntil(lambda: bool(demo_window.findChildren(CorpusWindow)), timeout=OPEN_TIMEOUT)
    find(demo_window, CorpusWindow).close()


def test_other_folders_are_refused_before_anything_is_run(
    demo_window: MainWindow, data: Path, monkeypatch: pytest.MonkeyPatch, qtbot: QtBot
) -> None:
    dialog = open_dialog(demo_window)
    add(dialog, monkeypatch, data)
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *_: str(data.parent))
    find(dialog, QPushButton, "corpusChooseFolder").click()
    qtbot.waitUntil(
        lambda: state(dialog).startswith("The folder already contains other files, such as ")
    )
    assert not start(dialog).isEnabled()
    dialog.close()


def test_what_fails_is_a_line_in_the_dialog(
    demo_window: MainWindow, data: Path, monkeypatch: pytest.MonkeyPatch, qtbot: QtBot
) -> None:
    dialog = open_dialog(demo_window)
    add(dialog, monkeypatch, data)
    data.write_bytes(b"")
    start(dialog).click()
    qtbot.waitUntil(lambda: status(dialog) == "lines.txt: the file is empty", timeout=OPEN_TIMEOUT)
    assert not has_error(demo_window)
    assert dialog.isVisible()
    assert dialog.task.files == (str(data),)
    dialog.close()


def test_escape_closes_it_and_nothing_goes_on(demo_window: MainWindow, qtbot: QtBot) -> None:
    dialog = open_dialog(demo_window)
    qtbot.keyClick(dialog, Qt.Key.Key_Escape)
    qtbot.waitUntil(lambda: not demo_window.findChildren(CorpusDialog))
    assert not demo_window.workspace.jobs.has_requests


def test_all_controls_have_names_tips_and_keys(
    demo_window: MainWindow, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dialog = open_dialog(demo_window)
    add(dialog, monkeypatch, data)
    find(dialog, QToolButton, "corpusMore").click()
    kinds = (QAbstractButton, QLineEdit, QSpinBox, QListWidget)
    controls = [w for w in dialog.findChildren(QWidget) if isinstance(w, kinds)]
    controls = [w for w in controls if w.objectName().startswith("corpus")]
    shown = [w for w in controls if w.isVisibleTo(dialog)]
    assert len(shown) == 16
    for widget in shown:
        words = widget.text() if isinstance(widget, QAbstractButton) else ""
        assert widget.accessibleName() or words, widget.objectName()
        assert widget.toolTip(), widget.objectName()
        assert widget.focusPolicy() & Qt.FocusPolicy.TabFocus, widget.objectName()
    dialog.close()
