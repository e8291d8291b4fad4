"""A window that has run a sentence; it shows no formulas, as the views of a run need none."""

from collections.abc import Callable
from functools import partial

import pytest
from PySide6.QtWidgets import QPushButton
from pytestqt.qtbot import QtBot

from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.schema.module_tree import fold
from bertviewer.ui.jobs import model_jobs as jobs
from bertviewer.ui.jobs.worker import Worker
from bertviewer.ui.shell.main_window import MainWindow
from tests.ui.finding import find, is_drawn
from tests.ui.run.layers_window import run


@pytest.fixture(autouse=True)
def _no_formulas(monkeypatch: pytest.MonkeyPatch) -> None:
    def derive(model: LoadedModel, _progress: object) -> jobs.Derived:
        return jobs.Derived(model.architecture, fold(model.architecture))

    for name in ("derive_counts_job", "derive_costs_job"):
        monkeypatch.setattr(jobs, name, derive)


@pytest.fixture
def settle(made_window: MainWindow, worker: Worker, qtbot: QtBot) -> Callable[[], None]:
    """Return what waits until all is computed and drawn."""

    def settled() -> bool:
        return is_drawn(made_window) and not worker.busy

    return partial(qtbot.waitUntil, settled)


@pytest.fixture
def ran(demo_window: MainWindow, worker: Worker, qtbot: QtBot) -> MainWindow:
    """Return the window with a sentence run through the demo model."""
    run(demo_window, worker, qtbot)
    return demo_window


@pytest.fixture
def compared(demo_window: MainWindow, worker: Worker, qtbot: QtBot) -> MainWindow:
    """Return a window with a baseline (``TEXT``) and a later run."""
    run(demo_window, worker, qtbot)
    find(demo_window, QPushButton, "keepRun").click()
    run(demo_window, worker, qtbot, "the cat sat on the old mat")
    return demo_window
