"""Fixtures of all tests of the window: workers, workspaces, and the main window."""

import copy
import threading
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QSettings, QTimer
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.schema.module_tree import fold
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.util.progress import Progress, no_progress
from bertviewer.ui.app.application import configure, make_window
from bertviewer.ui.jobs import deferred_calls, prefetcher
from bertviewer.ui.jobs import model_jobs as jobs
from bertviewer.ui.jobs.prefetcher import Prefetcher
from bertviewer.ui.jobs.worker import Job, Worker
from bertviewer.ui.module.inspector_page import InspectorPage
from bertviewer.ui.shell.main_window import MainWindow
from bertviewer.ui.state.workspace import Workspace
from tests.conftest import know_what_comes_with_the_program
from tests.tools.patient_bot import PATIENCE
from tests.ui.direct_worker import DirectWorker, settle

OPEN_TIMEOUT = PATIENCE  # milliseconds; the first model imports torch and transformers


@pytest.fixture(autouse=True)
def _own_settings(qapp: QApplication, tmp_path: Path) -> None:
    """Store settings in a temporary folder."""
    configure(qapp)
    QSettings.setPath(QSettings.Format.NativeFormat, QSettings.Scope.UserScope, str(tmp_path))


LATE = 0.12
"""Seconds by which ``--late`` delays each job of a worker."""


class LateTimer(QTimer):
    """A timer of at least 20 ms."""

    def start(self, *milliseconds: int) -> None:
        super().start(max(20, *milliseconds) if milliseconds else max(20, self.interval()))


@pytest.fixture(autouse=True)
def _late(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """With ``--late``, delay jobs and deferred calls as a busy machine would."""
    if not request.config.getoption("--late"):
        return
    start = Worker.start

    def start_late(self: Worker, work: Callable[[Progress], Any], *ends: Any, **named: Any) -> Job:
        def later(progress: Progress) -> Any:
            time.sleep(LATE)
            return work(progress)

        return start(self, later, *ends, **named)

    monkeypatch.setattr(Worker, "start", start_late)
    for module in (deferred_calls, prefetcher):
        monkeypatch.setattr(module, "QTimer", LateTimer)


@pytest.fixture
def worker(qapp: QApplication) -> Iterator[Worker]:
    """Return a worker with a thread, which is stopped after the test."""
    worker = Worker()
    yield worker
    assert worker.stop(OPEN_TIMEOUT / 1000)


@pytest.fixture
def workspace(qapp: QApplication) -> Iterator[Workspace]:
    """Return a workspace without a model, whose jobs run in the GUI thread."""
    worker = DirectWorker()
    yield Workspace(worker)
    assert worker.stop(OPEN_TIMEOUT / 1000)


@pytest.fixture
def open_model(
    workspace: Workspace, opened_demo: LoadedModel, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., LoadedModel]:
    """Return a function that opens a model in the workspace by its name and task.

    Each model is read once for all tests; nothing is derived or imported in advance.
    """
    monkeypatch.setattr(Prefetcher, "start", lambda _prefetcher: None)

    def open_model(name: str | Path, task: str = "base") -> LoadedModel:
        is_demo = (name, task) == ("demo", "base")
        model = copy.copy(opened_demo if is_demo else _opened_once(str(name), task))
        opened = jobs.Opened(model, fold(model.architecture))
        with monkeypatch.context() as patch:
            patch.setattr(jobs, "open_model_job", lambda _source, _progress: opened)
            workspace.open(model.source)
            settle(workspace)
        return model

    return open_model


@cache
def _opened_once(name: str, task: str) -> LoadedModel:
    with pytest.MonkeyPatch.context() as patch:
        know_what_comes_with_the_program(patch)
        model = jobs.open_model_job(parse_source(name, task), no_progress).model
    if model.architecture.source.weights == "pretrained":
        model.tokenizer()
        model.module(random_weights=False)
    return model


@pytest.fixture
def demo_workspace(
    workspace: Workspace,
    opened_demo: LoadedModel,
    random_heads: dict[str, tuple[str, ...]],
    monkeypatch: pytest.MonkeyPatch,
) -> Workspace:
    """Return the workspace with the demo model open and its formulas derived."""
    with monkeypatch.context() as patch:
        patch.setattr(jobs, "open_model_job", reopened(opened_demo))
        patch.setattr(jobs, "random_heads_job", lambda _model, _progress: random_heads)
        confirmed: list[bool] = []
        workspace.confirmed.connect(lambda: confirmed.append(True))
        workspace.open(parse_source("demo"))
        while not confirmed:
            QApplication.processEvents()
        settle(workspace)
    return workspace


@pytest.fixture
def made_window(worker: Worker, qtbot: QtBot) -> MainWindow:
    """Return the main window before it is shown; ``window`` and ``demo_window`` are the same."""
    window = make_window(worker)
    qtbot.addWidget(window)
    window.resize(1360, 860)  # offscreen, the screen is smaller than any real one
    return window


@pytest.fixture
def window(made_window: MainWindow) -> MainWindow:
    """Return the main window, shown and empty."""
    made_window.show()
    return made_window


@pytest.fixture
def formulas_may_come(worker: Worker, monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Return an event that deriving the formulas of a model waits for."""
    may_come = threading.Event()
    derive = jobs.derive_counts_job

    def wait_and_derive(model: LoadedModel, progress: Progress) -> jobs.Derived:
        assert may_come.wait(OPEN_TIMEOUT / 1000)
        return derive(model, progress)

    monkeypatch.setattr(jobs, "derive_counts_job", wait_and_derive)
    yield may_come
    # Before the worker is stopped, which waits for the running job.
    may_come.set()


@pytest.fixture(scope="session")
def opened_demo() -> Iterator[LoadedModel]:
    """Return the demo model with its formulas and weights, opened once; tests don't change it."""
    with pytest.MonkeyPatch.context() as patch:
        know_what_comes_with_the_program(patch)
        opened = jobs.open_model_job(parse_source("demo"), no_progress).model
    opened.with_formulas()
    opened.tokenizer()
    module = opened.module(random_weights=False)
    state = {name: value.clone() for name, value in module.state_dict().items()}
    yield opened
    assert all(bool((value == state[name]).all()) for name, value in module.state_dict().items())


@pytest.fixture(scope="session")
def random_heads(opened_demo: LoadedModel) -> dict[str, tuple[str, ...]]:
    """Return the tensors that the demo lacks for each task, which takes a build of each head."""
    return jobs.random_heads_job(opened_demo, no_progress)


def reopened(model: LoadedModel) -> Callable[..., jobs.Opened]:
    """Return a job that opens a copy of a model, with the same weights."""
    opened = copy.copy(model)
    return lambda _source, _progress: jobs.Opened(opened, fold(opened.architecture))


@pytest.fixture
def demo_window(  # noqa: PLR0917
    made_window: MainWindow,
    worker: Worker,
    opened_demo: LoadedModel,
    random_heads: dict[str, tuple[str, ...]],
    monkeypatch: pytest.MonkeyPatch,
    qtbot: QtBot,
) -> MainWindow:
    """Return the main window with the demo model open and its formulas derived."""
    window = made_window
    with monkeypatch.context() as patch:
        patch.setattr(jobs, "open_model_job", reopened(opened_demo))
        patch.setattr(jobs, "random_heads_job", lambda _model, _progress: random_heads)
        window.open_source(parse_source("demo"))
        window.show()  # later, as for a model of the command line: the start page is not built
        qtbot.waitUntil(lambda: window.workspace.architecture is not None, timeout=OPEN_TIMEOUT)
        # The description of modules is imported when the tree has been drawn.
        qtbot.waitUntil(lambda: bool(window.findChildren(InspectorPage)), timeout=OPEN_TIMEOUT)
        qtbot.waitUntil(lambda: not worker.busy, timeout=OPEN_TIMEOUT)
    return window
