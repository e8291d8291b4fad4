"""The window over a lane of its own, and settings that touch nobody's."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QSettings
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from bertviewer.core.source import parse_source
from bertviewer.ui.application import configure, make_window
from bertviewer.ui.lane import Lane
from bertviewer.ui.main_window import MainWindow

OPEN_TIMEOUT = 120_000  # milliseconds; the first one imports torch and transformers


@pytest.fixture(autouse=True)
def _own_settings(qapp: QApplication, tmp_path: Path) -> None:
    configure(qapp)
    QSettings.setPath(QSettings.Format.NativeFormat, QSettings.Scope.UserScope, str(tmp_path))


@pytest.fixture
def lane(qapp: QApplication) -> Iterator[Lane]:
    lane = Lane()
    yield lane
    assert lane.stop(30)


@pytest.fixture
def window(lane: Lane, qtbot: QtBot) -> MainWindow:
    """Return the main window, shown and empty."""
    window = make_window(lane)
    qtbot.addWidget(window)
    window.show()
    return window


@pytest.fixture
def demo_window(window: MainWindow, lane: Lane, qtbot: QtBot) -> MainWindow:
    """Return the main window with the demo model open and its formulas derived."""
    window.open_source(parse_source("demo"))
    qtbot.waitUntil(lambda: window.workspace.architecture is not None, timeout=OPEN_TIMEOUT)
    qtbot.waitUntil(lambda: not lane.busy, timeout=OPEN_TIMEOUT)
    return window
