"""Journeys that end with a file: reports and saved runs, and opening these again."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pypdf
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QComboBox, QDialog, QFileDialog, QLabel, QListWidget, QPushButton
from pytestqt.qtbot import QtBot

from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.replay.recorded_run import FROM_FILE
from bertviewer.core.saved_runs.file_format import read_runs
from bertviewer.core.schema.check import Check
from bertviewer.ui.app.application import make_window
from bertviewer.ui.jobs import model_jobs
from bertviewer.ui.jobs.worker import Worker
from bertviewer.ui.settings.settings import recent_names
from bertviewer.ui.shell.main_window import MainWindow
from bertviewer.ui.state.pages import RUN_PAGES
from tests.core.saved_runs.saved_runs import run_file, write
from tests.tools.pdf_text import text_of
from tests.ui.conftest import OPEN_TIMEOUT, reopened
from tests.ui.finding import bring_view, find, has_error, is_drawn, last_run, shown_error

A, B = "the cat sat", "this is a 12212121 test sentence"

Settle = Callable[[MainWindow], None]


@pytest.fixture
def settle(worker: Worker, qtbot: QtBot) -> Settle:
    """Return a function that waits until nothing is computed or drawn any more."""

    def is_settled(window: MainWindow) -> bool:
        workspace = window.workspace
        return not (worker.busy or workspace.jobs.activity or workspace.deferred.pending)

    def settle(window: MainWindow) -> None:
        qtbot.waitUntil(partial(is_settled, window), timeout=OPEN_TIMEOUT)

    return settle


def run(window: MainWindow, text: str, settle: Settle) -> None:
    window.set_sentence(text, None)
    window.run()
    settle(window)
    assert last_run(window).sentence.text == text


def answer_file_dialog(monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(path), ""))


def test_a_run_is_exported_as_pdf(
    demo_window: MainWindow,
    settle: Settle,
    qtbot: QtBot,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    window, path = demo_window, tmp_path / "report.pdf"
    run(window, B, settle)
    find(window, QComboBox, "statisticChoice").setCurrentText("rms")
    find(window, QPushButton, "exportButton").click()
    dialog = find(window, QDialog, "reportDialog")
    answer_file_dialog(monkeypatch, tmp_path / "missing" / "report.pdf")
    find(dialog, QPushButton, "reportExport").click()
    assert "no such folder:" in shown_error(dialog).text()
    answer_file_dialog(monkeypatch, path)
    with qtbot.waitSignal(window.workspace.exported, timeout=OPEN_TIMEOUT):
        find(dialog, QPushButton, "reportExport").click()
    text = text_of(path)
    for part in ("22,713,216", "12212121", "##12", "The root mean square of each layer’s output"):
        assert part in text
    assert pypdf.PdfReader(path).outline
    dialog.close()
    settle(window)


def test_runs_are_saved_and_opened_in_another_window(  # noqa: PLR0917
    demo_window: MainWindow,
    worker: Worker,
    settle: Settle,
    qtbot: QtBot,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    window = demo_window
    run(window, A, settle)
    window.workspace.runs.keep()
    run(window, B, settle)
    current = window.workspace.runs.current
    assert current is not None
    window.workspace.runs.set_check(current, "pooler", Check(()))
    answer_file_dialog(monkeypatch, tmp_path / "two runs")
    with qtbot.waitSignal(window.workspace.saved, timeout=OPEN_TIMEOUT) as saved:
        find(window, QAction, "saveRuns").trigger()
    path = tmp_path / "two runs.bertviewer"
    assert saved.args == [str(path)]
    settle(window)

    other = make_window(worker)
    qtbot.addWidget(other)
    other.show()
    other.open_named(str(path))
    qtbot.waitUntil(lambda: is_drawn(other), timeout=OPEN_TIMEOUT)
    settle(other)
    now, then = other.workspace.runs, window.workspace.runs
    assert now.run == then.run
    assert now.baseline is not None
    assert then.baseline is not None
    assert now.baseline.run == then.baseline.run
    assert (now.checks, now.comparison) == (then.checks, then.comparison)
    assert other.workspace.architecture is not None
    assert window.workspace.architecture is not None
    assert other.workspace.architecture.modules == window.workspace.architecture.modules
    # The file can be replaced by its own runs, which still name the demo.
    answer_file_dialog(monkeypatch, path)
    with qtbot.waitSignal(other.workspace.saved, timeout=OPEN_TIMEOUT):
        find(other, QAction, "saveRuns").trigger()
    settle(other)
    assert read_runs(path).model.name == "demo"


@pytest.fixture(scope="module")
def saved_runs(opened_demo: LoadedModel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a file with a run of the demo and a baseline."""
    from bertviewer.core.runs.running import run_sentence
    from bertviewer.core.schema.activation_run import Sentence

    baseline, last = (run_sentence(opened_demo, Sentence(text)) for text in (A, B))
    path = tmp_path_factory.mktemp("runs") / "two runs.bertviewer"
    write(path, run_file(opened_demo, last, baseline))
    return path


@pytest.fixture
def opened(saved_runs: Path, window: MainWindow, settle: Settle, qtbot: QtBot) -> MainWindow:
    """Return the window with the saved runs."""
    window.open_named(str(saved_runs))
    qtbot.waitUntil(lambda: is_drawn(window), timeout=OPEN_TIMEOUT)
    settle(window)
    return window


def texts(window: MainWindow) -> list[str]:
    return [label.text() for label in window.findChildren(QLabel)]


def test_saved_runs_are_shown_without_their_model_and_reported(
    opened: MainWindow, saved_runs: Path, settle: Settle, tmp_path: Path, qtbot: QtBot
) -> None:
    errors: list[object] = []
    opened.workspace.jobs.errored.connect(errors.append)
    banner = find(opened, QLabel, "savedText")
    start = "Loaded from a file: a run of demo (base, trained weights), saved 20"
    assert banner.isVisible()
    assert banner.text().startswith(start)
    assert opened.windowTitle().startswith(str(saved_runs))
    assert recent_names()[0] == str(saved_runs)
    for view in RUN_PAGES:
        bring_view(opened, view)
        settle(opened)
        assert (FROM_FILE in texts(opened)) or view != "Attention"
    assert errors == []
    opened.exporting.choose_report()
    dialog = find(opened, QDialog, "reportDialog")
    chapters = find(dialog, QListWidget, "reportChapters")
    (attention,) = chapters.findItems("Attention", Qt.MatchFlag.MatchStartsWith)
    assert attention.text() == "Attention – run from a file"
    assert not attention.flags() & Qt.ItemFlag.ItemIsEnabled
    (comparison,) = chapters.findItems("Comparison of two runs", Qt.MatchFlag.MatchStartsWith)
    assert comparison.checkState() == Qt.CheckState.Checked
    outcome = find(dialog, QLabel, "reportOutcome")
    qtbot.waitUntil(lambda: outcome.text().endswith(" MB"), timeout=OPEN_TIMEOUT)
    dialog.close()
    settle(opened)
    with qtbot.waitSignal(opened.workspace.exported, timeout=OPEN_TIMEOUT):
        opened.exporting.write_report(tmp_path / "report.pdf")
    settle(opened)
    opened.workspace.check("embeddings")
    qtbot.waitUntil(lambda: has_error(opened), timeout=OPEN_TIMEOUT)
    assert shown_error(opened).text() == FROM_FILE
    settle(opened)


def test_the_model_of_a_saved_run_is_opened_with_the_run_as_baseline(
    opened: MainWindow,
    settle: Settle,
    opened_demo: LoadedModel,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    workspace = opened.workspace
    monkeypatch.setattr(model_jobs, "open_model_job", reopened(opened_demo))
    find(opened, QPushButton, "openSavedModel").click()
    settle(opened)
    assert workspace.source is not None
    assert workspace.source.kind == "demo"
    assert workspace.runs.baseline is not None
    assert workspace.runs.baseline.run.sentence.text == B
    run(opened, A, settle)
    assert not find(opened, QLabel, "savedText").isVisible()
    for view in ("Attention", "Histogram", "Layers"):
        bring_view(opened, view)
        settle(opened)
    assert FROM_FILE not in texts(opened)


def test_a_damaged_file_of_runs_leaves_the_open_model(
    demo_window: MainWindow, tmp_path: Path, qtbot: QtBot
) -> None:
    damaged = tmp_path / "damaged.bertviewer"
    damaged.write_bytes(b"PK")
    demo_window.open_named(str(damaged))
    qtbot.waitUntil(lambda: has_error(demo_window), timeout=OPEN_TIMEOUT)
    assert "not a saved run" in shown_error(demo_window).text()
    assert demo_window.workspace.source is not None
    assert demo_window.workspace.source.name == "demo"
