"""The report dialog over a workspace without a main window, with blank figures and pages."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QObject, Qt
from PySide6.QtWidgets import (
    QFileDialog,
    QLabel,
    QListWidget,
    QListWidgetItem,
    QPushButton,
    QWidget,
)
from pytestqt.qtbot import QtBot

from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.loading.opening import open_model
from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.schema.module_tree import fold
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.util import libraries
from bertviewer.core.util.progress import Progress, no_progress
from bertviewer.report.builder import ReportBuilder
from bertviewer.report.options import Options
from bertviewer.ui.export import drawer, preview
from bertviewer.ui.export.dialog import ReportDialog
from bertviewer.ui.export.pages_view import PagesView
from bertviewer.ui.export.preview import Pages
from bertviewer.ui.jobs import model_jobs
from bertviewer.ui.jobs.prefetcher import Prefetcher
from bertviewer.ui.shell.exporting import Exporting
from bertviewer.ui.state.workspace import Workspace
from tests.ui.conftest import OPEN_TIMEOUT
from tests.ui.direct_worker import DirectWorker
from tests.ui.finding import find

SENTENCE = "the cat sat on the mat"
_BLANK = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0} {1}" width="{0}pt" height="{1}pt"/>'
)
_POINTS = {"a4": (595, 842), "letter": (612, 792)}


class BlankDrawer(QObject):
    """Yields blank figures; the real drawer would wait for the GUI thread, in which jobs run."""

    before_each: Callable[[], object] = staticmethod(lambda: None)

    def draw(
        self, pictures: Mapping[str, object], _model: object, _theme: object, progress: Progress
    ) -> Iterator[tuple[str, str]]:
        for name in pictures:
            self.before_each()
            progress(0, 0, "Drawing the figures")
            yield name, _BLANK.format(100, 100)


def _blank_pages(
    builder: ReportBuilder, options: Options, model: LoadedModel, progress: Progress
) -> Pages:
    """Return one blank page for each chapter."""
    chapters = builder.document(options, model, progress).chapters
    page = _BLANK.format(*_POINTS[options.paper]).encode()
    return Pages((page,) * len(chapters), 1_500_000, tuple(each.name for each in chapters))


def are_shown(dialog: ReportDialog) -> bool:
    """Return whether the pages are up to date, and the visible ones drawn."""
    return outcome(dialog).endswith(" MB") and find(dialog, PagesView).is_drawn


def outcome(dialog: ReportDialog) -> str:
    """Return the text below the pages."""
    return find(dialog, QLabel, "reportOutcome").text()


def chapter(dialog: ReportDialog, title: str) -> QListWidgetItem:
    """Return the item of a chapter."""
    items = find(dialog, QListWidget, "reportChapters")
    (found,) = items.findItems(title, Qt.MatchFlag.MatchStartsWith)
    return found


def press(dialog: ReportDialog, name: str) -> None:
    button = find(dialog, QPushButton, name)
    assert button.isVisible()
    assert button.isEnabled()
    button.click()


def answer(monkeypatch: pytest.MonkeyPatch, path: Path | str) -> list[tuple[Any, ...]]:
    """Make the file dialog return a path; return the arguments of its calls."""
    calls: list[tuple[Any, ...]] = []

    def ask(*arguments: Any) -> tuple[str, str]:
        calls.append(arguments)
        return str(path), ""

    monkeypatch.setattr(QFileDialog, "getSaveFileName", ask)
    return calls


class ReportHarness:
    """A workspace with an open model, and its report dialog."""

    def __init__(self, workspace: Workspace, qtbot: QtBot) -> None:
        self.workspace = workspace
        self.corpus = ""
        self._qtbot = qtbot
        self._window = QWidget()
        self._window.resize(1360, 860)
        qtbot.addWidget(self._window)
        self._window.show()
        self._exporting = Exporting(workspace, self._window, lambda: None, lambda: self.corpus)

    def run(self, text: str = SENTENCE, *, is_baseline: bool = False) -> None:
        """Run a sentence."""
        self.workspace.run_sentence(Sentence(text), False)
        self.wait()
        if is_baseline:
            self.workspace.runs.keep()

    def open(self) -> ReportDialog:
        """Open the dialog and wait for its pages."""
        self._exporting.choose_report()
        dialog = find(self._window, ReportDialog)
        self.wait_for_pages(dialog)
        return dialog

    def wait_for_pages(self, dialog: ReportDialog) -> None:
        self._qtbot.waitUntil(lambda: are_shown(dialog), timeout=OPEN_TIMEOUT)

    def wait(self) -> None:
        """Wait until no job is running."""
        jobs = self.workspace.jobs
        self._qtbot.waitUntil(
            lambda: not jobs.worker.busy and not jobs.activity, timeout=OPEN_TIMEOUT
        )

    def close(self, dialog: ReportDialog) -> None:
        """Close the dialog and wait until it is deleted."""
        dialog.close()
        self._qtbot.waitUntil(lambda: not self._window.findChildren(ReportDialog))


@pytest.fixture(scope="session")
def opened_tiny(tiny_bert_folder: Path) -> LoadedModel:
    """Return the small BERT with its formulas and weights."""
    libraries.load(no_progress)
    model = open_model(parse_source(str(tiny_bert_folder)))
    model.with_formulas()
    model.module(random_weights=False)
    return model


@pytest.fixture
def report(
    opened_tiny: LoadedModel, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> Iterator[ReportHarness]:
    """Return a workspace with the small BERT."""
    monkeypatch.setattr(Prefetcher, "start", lambda _: None)
    monkeypatch.setattr(drawer, "Drawer", BlankDrawer)
    monkeypatch.setattr(preview, "typeset_pages", _blank_pages)
    opened = model_jobs.Opened(opened_tiny, fold(opened_tiny.architecture))
    monkeypatch.setattr(model_jobs, "open_model_job", lambda _source, _progress: opened)
    worker = DirectWorker()
    workspace = Workspace(worker)
    workspace.open(opened_tiny.source)
    worker.finish()
    yield ReportHarness(workspace, qtbot)
    assert worker.stop(OPEN_TIMEOUT / 1000)
