"""Steps of a user with a corpus."""

from pathlib import Path

from pytestqt.qtbot import QtBot

from bertviewer.ui.corpus.window import CorpusWindow
from bertviewer.ui.shell.main_window import MainWindow
from tests.ui.finding import find

LINES = "The bank of the river was steep.\nA sentence.\n\nThe cat sat on the mat.\n"


def shown(window: MainWindow, folder: Path, qtbot: QtBot) -> CorpusWindow:
    """Open the folder of a corpus whose model is open."""
    window.show()
    window.opening.open_named(str(folder))
    qtbot.waitUntil(lambda: bool(window.findChildren(CorpusWindow)))
    return find(window, CorpusWindow)
