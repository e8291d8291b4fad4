"""A corpus of the open model has a chapter in the report of the window."""

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog, QLabel, QLineEdit, QToolButton
from pytestqt.qtbot import QtBot

from bertviewer.core.corpus.making import CorpusRequest, make_corpus
from bertviewer.core.corpus.options import CorpusOptions
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.util.progress import no_progress
from bertviewer.ui.corpus.window import CorpusWindow
from bertviewer.ui.export.dialog import ReportDialog
from bertviewer.ui.shell.main_window import MainWindow
from tests.tools.pdf_text import text_of
from tests.ui.conftest import OPEN_TIMEOUT
from tests.ui.export.reporting import answer, chapter, open_report, pages, wait_for_pages
from tests.ui.finding import find

_ENABLED = Qt.ItemFlag.ItemIsEnabled


@pytest.fixture(scope="module")
def folder(opened_demo: LoadedModel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a corpus of the demo."""
    place = tmp_path_factory.mktemp("corpus")
    data = place / "lines.txt"
    data.write_text("A sentence.\nThe cat sat on the mat.\n", encoding="utf-8")
    make_corpus(
        opened_demo, CorpusRequest((data,), CorpusOptions(), place / "out", ""), no_progress
    )
    return place / "out"


def test_a_corpus_is_chosen_and_remembered(
    demo_window: MainWindow,
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    qtbot: QtBot,
) -> None:
    dialog = open_report(demo_window, qtbot)
    assert chapter(dialog, "Corpus statistics").text() == "Corpus statistics – no corpus"
    assert not chapter(dialog, "Corpus statistics").flags() & _ENABLED
    before = pages(dialog)
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *_: str(folder))
    find(dialog, QToolButton, "reportChooseCorpus").click()
    qtbot.waitUntil(lambda: pages(dialog) > before, timeout=OPEN_TIMEOUT)
    assert chapter(dialog, "Corpus statistics").text() == "Corpus statistics"
    assert chapter(dialog, "Corpus statistics").checkState() == Qt.CheckState.Checked
    path = tmp_path / "report.pdf"
    answer(monkeypatch, path)
    with qtbot.waitSignal(demo_window.workspace.exported, timeout=OPEN_TIMEOUT):
        dialog.export_wanted.emit()
    text = text_of(path)
    assert "2 sentences with" in text
    assert f"--corpus={folder}" in text.replace(" ", "")
    dialog.close()
    qtbot.waitUntil(lambda: not demo_window.findChildren(ReportDialog))
    again = open_report(demo_window, qtbot)
    assert find(again, QLineEdit, "reportCorpus").text() == str(folder)
    assert chapter(again, "Corpus statistics").text() == "Corpus statistics"


def test_the_corpus_that_is_shown_is_offered(
    demo_window: MainWindow, folder: Path, qtbot: QtBot
) -> None:
    demo_window.opening.open_named(str(folder))
    qtbot.waitUntil(lambda: bool(demo_window.findChildren(CorpusWindow)))
    dialog = open_report(demo_window, qtbot)
    assert dialog.options.corpus == str(folder)
    assert chapter(dialog, "Corpus statistics").checkState() == Qt.CheckState.Checked
    find(demo_window, CorpusWindow).close()


def test_what_is_no_corpus_is_a_line(demo_window: MainWindow, tmp_path: Path, qtbot: QtBot) -> None:
    dialog = open_report(demo_window, qtbot)
    before = pages(dialog)
    trouble = find(dialog, QLabel, "reportCorpusTrouble")
    find(dialog, QLineEdit, "reportCorpus").setText(str(tmp_path))
    qtbot.waitUntil(lambda: trouble.isVisibleTo(dialog), timeout=OPEN_TIMEOUT)
    assert str(tmp_path / "manifest.json") in trouble.text()
    wait_for_pages(dialog, qtbot)
    assert pages(dialog) == before
    find(dialog, QLineEdit, "reportCorpus").clear()
    assert not trouble.isVisibleTo(dialog)
    assert chapter(dialog, "Corpus statistics").text() == "Corpus statistics – no corpus"
