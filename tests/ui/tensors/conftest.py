"""The window with a small model open."""

from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from bertviewer.ui.background.worker import Worker
from bertviewer.ui.main_window import MainWindow
from tests.ui.tensors.tensor_window import open_named


@pytest.fixture
def tiny_window(
    window: MainWindow, worker: Worker, qtbot: QtBot, tiny_bert_folder: Path
) -> MainWindow:
    """Return the window with the small BERT open, its tensors' tab in sight."""
    open_named(window, worker, qtbot, str(tiny_bert_folder))
    return window
