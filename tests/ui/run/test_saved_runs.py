"""Runs that were saved are shown as they were, marked as read, and compared with new ones."""

import copy
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import (
    QDialog,
    QFileDialog,
    QLabel,
    QListWidget,
    QPushButton,
)
from pytestqt.qtbot import QtBot

from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.replay.recorded_run import FROM_FILE
from bertviewer.core.runs.running import run_sentence
from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.schema.check import Check
from bertviewer.ui.app.application import make_window
from bertviewer.ui.jobs.worker import Worker
from bertviewer.ui.settings.settings import recent_names
from bertviewer.ui.shell.main_window import MainWindow
from tests.core.saved_runs.saved_runs import run_file, write
from tests.ui.conftest import OPEN_TIMEOUT
from tests.ui.finding import bring_view, find, has_error, is_drawn, last_run, shown_error

A, B = "the cat sat", "the dog sat"


def ran(window: MainWindow, worker: Worker, text: str, qtbot: QtBot) -> None:
    window.set_sentence(text, None)
    window.run()
    qtbot.waitUntil(
        lambda: is_drawn(window) and last_run(window).sentence.text == text, timeout=OPEN_TIMEOUT
    )
    qtbot.waitUntil(lambda: not worker.busy, timeout=OPEN_TIMEOUT)


@pytest.fixture(scope="module")
def written(opened_demo: LoadedModel, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Return what a file of two runs of the demo holds."""
    model = copy.copy(opened_demo)
    run_a, run = (run_sentence(model, Sentence(text)) for text in (A, B))
    path = tmp_path_factory.mktemp("runs") / "written.bertviewer"
    write(path, run_file(model, run, run_a))
    return path.read_bytes()


@pytest.fixture
def file(written: bytes, tmp_path: Path) -> Path:
    """Return a file with two runs of the demo."""
    path = tmp_path / "two runs.bertviewer"
    path.write_bytes(written)
    return path


@pytest.fixture
def opened(file: Path, window: MainWindow, worker: Worker, qtbot: QtBot) -> MainWindow:
    """Return a window in which it is open."""
    open_file(window, file, worker, qtbot)
    return window


def open_file(window: MainWindow, file: Path, worker: Worker, qtbot: QtBot) -> None:
    window.open_named(str(file))
    qtbot.waitUntil(lambda: is_drawn(window), timeout=OPEN_TIMEOUT)
    qtbot.waitUntil(lambda: not worker.busy, timeout=OPEN_TIMEOUT)


def save(window: MainWindow, worker: Worker, tmp_path: Path, qtbot: QtBot) -> Path:
    """Run two sentences, and save them by the menu."""
    ran(window, worker, A, qtbot)
    window.workspace.runs.keep()
    ran(window, worker, B, qtbot)
    watched = window.workspace.runs.current
    assert watched is not None
    window.workspace.runs.set_check(watched, "pooler", Check(()))
    wanted = tmp_path / "two runs"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(wanted), ""))
        find(window, QAction, "saveRuns").trigger()
    path = wanted.with_suffix(".bertviewer")
    qtbot.waitUntil(path.is_file, timeout=OPEN_TIMEOUT)
    qtbot.waitUntil(lambda: not worker.busy, timeout=OPEN_TIMEOUT)
    return path


def test_runs_checks_and_the_way_they_are_compared_are_there(
    demo_window: MainWindow, worker: Worker, tmp_path: Path, qtbot: QtBot
) -> None:
    path = save(demo_window, worker, tmp_path, qtbot)
    opened = make_window(worker)
    qtbot.addWidget(opened)
    opened.show()
    open_file(opened, path, worker, qtbot)
    now, then = opened.workspace.runs, demo_window.workspace.runs
    assert now.run == then.run
    assert now.baseline is not None
    assert then.baseline is not None
    assert now.baseline.run == then.baseline.run
    assert now.checks == then.checks
    assert now.comparison == then.comparison
    assert opened.workspace.architecture is not None
    assert demo_window.workspace.architecture is not None
    assert opened.workspace.architecture.modules == demo_window.workspace.architecture.modules


def test_they_are_marked_as_read_and_say_what_they_cannot_show(
    opened: MainWindow, file: Path, qtbot: QtBot
) -> None:
    text = find(opened, QLabel, "savedText")
    assert text.isVisible()
    assert text.text().startswith(
        "Loaded from a file: a run of demo (base, trained weights), saved 20"
    )
    assert opened.windowTitle().startswith(str(file))
    bring_view(opened, "Attention")
    qtbot.waitUntil(
        lambda: FROM_FILE in [label.text() for label in opened.findChildren(QLabel)],
        timeout=OPEN_TIMEOUT,
    )


def test_no_view_of_them_fails(opened: MainWindow, worker: Worker, qtbot: QtBot) -> None:
    failures: list[object] = []
    opened.workspace.jobs.errored.connect(failures.append)
    for view in ("Token", "Similarity", "Attention", "Histogram", "Predictions", "Layers"):
        bring_view(opened, view)
        qtbot.waitUntil(lambda: is_drawn(opened), timeout=OPEN_TIMEOUT)
        qtbot.waitUntil(lambda: not worker.busy, timeout=OPEN_TIMEOUT)
    assert failures == []


def test_a_check_of_them_says_what_it_needs(opened: MainWindow, qtbot: QtBot) -> None:
    opened.workspace.check("embeddings")
    qtbot.waitUntil(lambda: has_error(opened), timeout=OPEN_TIMEOUT)
    box = shown_error(opened)
    assert box.text() == FROM_FILE
    box.close()


def test_the_model_is_opened_by_its_name_and_the_run_is_its_a(
    opened: MainWindow, worker: Worker, qtbot: QtBot
) -> None:
    find(opened, QPushButton, "openSavedModel").click()
    workspace = opened.workspace
    qtbot.waitUntil(
        lambda: workspace.source is not None and workspace.source.kind == "demo",
        timeout=OPEN_TIMEOUT,
    )
    assert workspace.runs.baseline is not None
    assert workspace.runs.baseline.run.sentence.text == B
    qtbot.waitUntil(lambda: not worker.busy, timeout=OPEN_TIMEOUT)
    ran(opened, worker, A, qtbot)
    assert not find(opened, QLabel, "savedText").isVisible()
    for view in ("Attention", "Histogram", "Layers"):
        bring_view(opened, view)
        qtbot.waitUntil(lambda: is_drawn(opened), timeout=OPEN_TIMEOUT)
        qtbot.waitUntil(lambda: not worker.busy, timeout=OPEN_TIMEOUT)
    assert FROM_FILE not in [label.text() for label in opened.findChildren(QLabel)]


def test_it_is_remembered_like_a_model_and_may_be_saved_over(
    opened: MainWindow,
    file: Path,
    worker: Worker,
    monkeypatch: pytest.MonkeyPatch,
    qtbot: QtBot,
) -> None:
    assert recent_names()[0] == str(file)
    before = file.read_bytes()
    file.write_bytes(before + b"")
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(file), ""))
    saved: list[str] = []
    opened.workspace.saved.connect(saved.append)
    find(opened, QAction, "saveRuns").trigger()
    qtbot.waitUntil(lambda: saved == [str(file)], timeout=OPEN_TIMEOUT)
    qtbot.waitUntil(lambda: not worker.busy, timeout=OPEN_TIMEOUT)
    opened.open_named(str(file))
    qtbot.waitUntil(lambda: is_drawn(opened), timeout=OPEN_TIMEOUT)
    saved_model = opened.workspace.runs.saved
    assert saved_model is not None
    assert saved_model.model.name == "demo"  # and not the file's
    qtbot.waitUntil(lambda: not worker.busy, timeout=OPEN_TIMEOUT)


def test_a_bad_file_is_one_dialog_and_nothing_changes(
    demo_window: MainWindow, tmp_path: Path, qtbot: QtBot
) -> None:
    bad = tmp_path / "bad.bertviewer"
    bad.write_bytes(b"PK")
    demo_window.open_named(str(bad))
    qtbot.waitUntil(lambda: has_error(demo_window), timeout=OPEN_TIMEOUT)
    box = shown_error(demo_window)
    assert "not a saved run" in box.text()
    box.close()
    assert demo_window.workspace.source is not None
    assert demo_window.workspace.source.name == "demo"


def test_their_report_is_that_of_the_run(
    opened: MainWindow, tmp_path: Path, worker: Worker, qtbot: QtBot
) -> None:
    failures: list[object] = []
    opened.workspace.jobs.errored.connect(failures.append)
    opened.exporting.write_report(tmp_path / "report.pdf")
    qtbot.waitUntil(
        lambda: bool(failures) or (tmp_path / "report.pdf").is_file(), timeout=OPEN_TIMEOUT
    )
    assert failures == []
    qtbot.waitUntil(lambda: not worker.busy, timeout=OPEN_TIMEOUT)


def test_their_report_leaves_out_what_needs_a_closer_look(
    opened: MainWindow, worker: Worker, qtbot: QtBot
) -> None:
    opened.exporting.choose_report()
    dialog = find(opened, QDialog, "reportDialog")
    chapters = find(dialog, QListWidget, "reportChapters")
    (attention,) = chapters.findItems("Attention", Qt.MatchFlag.MatchStartsWith)
    assert attention.text() == "Attention – run from a file"
    assert not attention.flags() & Qt.ItemFlag.ItemIsEnabled
    (runs,) = chapters.findItems("Comparison of two runs", Qt.MatchFlag.MatchStartsWith)
    assert runs.checkState() == Qt.CheckState.Checked
    said = find(dialog, QLabel, "reportOutcome")
    qtbot.waitUntil(lambda: said.text().endswith(" MB"), timeout=OPEN_TIMEOUT)
    dialog.close()
    qtbot.waitUntil(lambda: not worker.busy, timeout=OPEN_TIMEOUT)
