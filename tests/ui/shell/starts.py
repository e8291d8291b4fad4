"""A window that is opened, and the one of the next start."""

from PySide6.QtWidgets import QTabWidget, QTreeView
from pytestqt.qtbot import QtBot

from bertviewer.core.sources.parsing import parse_source
from bertviewer.ui.app.application import make_window
from bertviewer.ui.jobs.worker import Worker
from bertviewer.ui.shell.main_window import MainWindow
from bertviewer.ui.shell.session import Session
from bertviewer.ui.tree.model import ModuleTreeModel
from tests.ui.conftest import OPEN_TIMEOUT
from tests.ui.finding import find


def opened(window: MainWindow, worker: Worker, name: str, qtbot: QtBot) -> None:
    window.open_source(parse_source(name))
    qtbot.waitUntil(lambda: window.workspace.architecture is not None, timeout=OPEN_TIMEOUT)
    qtbot.waitUntil(lambda: not worker.busy, timeout=OPEN_TIMEOUT)


def another(worker: Worker, qtbot: QtBot) -> tuple[MainWindow, Session]:
    """Return the window of the next start."""
    window = make_window(worker)
    qtbot.addWidget(window)
    session = Session(window, window.workspace)
    session.restore()
    window.show()
    return window, session


def is_open(window: MainWindow, key: str) -> bool:
    tree = find(window, QTreeView, "moduleTree")
    model = tree.model()
    assert isinstance(model, ModuleTreeModel)
    return tree.isExpanded(model.index_of(key))


def tab(window: MainWindow) -> str:
    tabs = find(window, QTabWidget, "detailTabs")
    return tabs.tabText(tabs.currentIndex())
