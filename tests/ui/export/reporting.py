"""What a person does with the report's dialog, and sees of it."""

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog, QLabel, QListWidget, QListWidgetItem
from pytestqt.qtbot import QtBot

from bertviewer.ui.export.dialog import ReportDialog
from bertviewer.ui.export.pages_view import PagesView
from bertviewer.ui.shell.main_window import MainWindow
from tests.ui.conftest import OPEN_TIMEOUT
from tests.ui.finding import find, is_drawn

SENTENCE = "the cat sat on the mat"


def open_report(window: MainWindow, qtbot: QtBot) -> ReportDialog:
    """Open the dialog, and wait until its first page is in sight."""
    window.exporting.choose_report()
    dialog = find(window, ReportDialog)
    wait_for_pages(dialog, qtbot)
    return dialog


def wait_for_pages(dialog: ReportDialog, qtbot: QtBot) -> None:
    """Wait until the pages are as they are wished for."""
    qtbot.waitUntil(lambda: are_shown(dialog), timeout=OPEN_TIMEOUT)


def are_shown(dialog: ReportDialog) -> bool:
    """Whether the pages are those that are wished for, and drawn as far as they are in sight."""
    return outcome(dialog).endswith(" MB") and find(dialog, PagesView).is_drawn


def outcome(dialog: ReportDialog) -> str:
    """Return what the line below the pages says."""
    return find(dialog, QLabel, "reportOutcome").text()


def pages(dialog: ReportDialog) -> int:
    """Return how many pages are shown."""
    return find(dialog, PagesView).count


def chapter(dialog: ReportDialog, title: str) -> QListWidgetItem:
    """Return the line of a chapter."""
    found = find(dialog, QListWidget, "reportChapters").findItems(
        title, Qt.MatchFlag.MatchStartsWith
    )
    assert len(found) == 1
    return found[0]


def answer(monkeypatch: pytest.MonkeyPatch, path: Path | str) -> list[tuple[object, ...]]:
    """Have the dialog for files give a path; return what it is asked with."""
    asked: list[tuple[object, ...]] = []

    def ask(*wishes: object) -> tuple[str, str]:
        asked.append(wishes)
        return str(path), ""

    monkeypatch.setattr(QFileDialog, "getSaveFileName", ask)
    return asked


def run(window: MainWindow, text: str, qtbot: QtBot, pair: str | None = None) -> None:
    """Run a sentence."""
    window.set_sentence(text, pair)
    window.run()

    def is_there() -> bool:
        last = window.workspace.runs.run
        return is_drawn(window) and last is not None and last.sentence.text == text

    qtbot.waitUntil(is_there, timeout=OPEN_TIMEOUT)
