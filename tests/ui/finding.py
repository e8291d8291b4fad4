"""Finds widgets and states of the window, and fails if they are missing."""

from typing import TypeVar

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QTabWidget, QWidget
from pytestqt.qtbot import QtBot

from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.ui.shell.main_window import MainWindow
from bertviewer.ui.widgets.messages import ErrorBar, error_bar

T = TypeVar("T", bound=QObject)


def find(parent: QObject, kind: type[T], name: str | None = None) -> T:
    """Return the child of that kind and object name, however deep."""
    children = parent.findChildren(kind) if name is None else parent.findChildren(kind, name)
    assert len(children) == 1, f"{len(children)} children {kind.__name__} {name!r}"
    child = children[0]
    assert isinstance(child, kind)
    return child


def has_error(window: QWidget) -> bool:
    """Return whether a window shows an error."""
    bar = error_bar(window)
    return bar is not None and not bar.isHidden()


def shown_error(window: QWidget) -> ErrorBar:
    """Return the error that a window shows."""
    bar = error_bar(window)
    assert bar is not None
    assert not bar.isHidden()
    return bar


def activate(window: QWidget, qtbot: QtBot) -> None:
    """Activate a window and wait for it, as a click does."""
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)


def show_tab(window: MainWindow, title: str) -> None:
    """Show the tab of the middle of the window with that title."""
    _bring(find(window, QTabWidget, "detailTabs"), title)


def bring_view(window: MainWindow, title: str) -> None:
    """Show the view of a run with that title."""
    _bring(find(window, QTabWidget, "runViews"), title)


def _bring(tabs: QTabWidget, title: str) -> None:
    (number,) = [n for n in range(tabs.count()) if tabs.tabText(n) == title]
    tabs.setCurrentIndex(number)


def last_run(window: MainWindow) -> ActivationRun:
    """Return the window's last run."""
    run = window.workspace.runs.run
    assert run is not None
    return run


def is_drawn(window: MainWindow) -> bool:
    """Return whether there is a run and everything that shows it is drawn."""
    workspace = window.workspace
    return (
        workspace.runs.run is not None
        and not workspace.jobs.activity
        and not workspace.deferred.pending
    )
