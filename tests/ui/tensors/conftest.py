"""The window with a small model open, or with the demo after a run."""

from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from bertviewer.ui.jobs.worker import Worker
from bertviewer.ui.shell.main_window import MainWindow
from tests.ui.finding import show_tab
from tests.ui.tensors.tensor_tab import LAYER, open_named, run_sentence


@pytest.fixture
def tiny_window(
    window: MainWindow, worker: Worker, qtbot: QtBot, tiny_bert_folder: Path
) -> MainWindow:
    """Return the window with the small BERT open, its tensors' tab in sight."""
    open_named(window, worker, qtbot, str(tiny_bert_folder))
    return window


@pytest.fixture
def ready(demo_window: MainWindow, worker: Worker, qtbot: QtBot) -> MainWindow:
    """Return the window with the demo, a run, and the tensors of a layer in sight."""
    show_tab(demo_window, "Tensors")
    demo_window.workspace.selection.select(LAYER)
    run_sentence(demo_window, worker, "the bank by the river", qtbot)
    return demo_window
