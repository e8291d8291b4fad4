"""The command in a report of the window writes the same bytes."""

import json
import shlex
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QComboBox
from pytestqt.qtbot import QtBot

from bertviewer.app import main
from bertviewer.report.options import Options
from bertviewer.ui.app.application import make_window
from bertviewer.ui.export.dialog import ReportDialog
from bertviewer.ui.export.settings import sections_without, store_options
from bertviewer.ui.jobs.worker import Worker
from bertviewer.ui.shell.main_window import MainWindow
from tests.tools.pdf_text import text_of
from tests.ui.conftest import OPEN_TIMEOUT
from tests.ui.export.conftest import answer, are_shown, press
from tests.ui.finding import find, is_drawn

LEFT_OUT = ("walk", "formulas", "modules", "tensors")


@pytest.fixture(autouse=True)
def _some_chapters() -> None:
    """Choose a report that takes a few seconds."""
    store_options(Options(sections=sections_without(LEFT_OUT), layers="0, 3", author="Ada"), "demo")


def run(window: MainWindow, worker: Worker, qtbot: QtBot, *texts: str) -> None:
    """Run a sentence and wait for all that follows it."""
    window.set_sentence(texts[0], *texts[1:] or (None,))
    window.run()
    qtbot.waitUntil(lambda: is_drawn(window) and not worker.busy, timeout=OPEN_TIMEOUT)


def check_report(
    window: MainWindow, path: Path, worker: Worker, qtbot: QtBot, patch: pytest.MonkeyPatch
) -> str:
    """Write a report, compare it with the one that its command writes, and return the command."""
    with qtbot.waitSignal(window.workspace.exported, timeout=OPEN_TIMEOUT):
        window.exporting.write_report(path)
    qtbot.waitUntil(lambda: not worker.busy, timeout=OPEN_TIMEOUT)
    report = path.read_bytes()
    ((code),) = dict(json.loads(report)["front"]["facts"])["Command"]
    folder = path.parent / "again"
    folder.mkdir()
    patch.chdir(folder)
    assert main(shlex.split(code["text"])[1:]) == 0
    assert (folder / path.name).read_bytes() == report
    return str(code["text"])


def test_a_pdf_is_written_by_the_dialog(
    demo_window: MainWindow, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    demo_window.exporting.choose_report()
    dialog = find(demo_window, ReportDialog)
    qtbot.waitUntil(lambda: are_shown(dialog), timeout=OPEN_TIMEOUT)
    answer(monkeypatch, tmp_path / "ours.pdf")
    with qtbot.waitSignal(demo_window.workspace.exported, timeout=OPEN_TIMEOUT):
        press(dialog, "reportExport")
    text = text_of(tmp_path / "ours.pdf")
    assert "22,713,216" in text
    assert "bertviewer report demo -o ours.pdf" in text
    qtbot.keyClick(dialog, Qt.Key.Key_Escape)
    qtbot.waitUntil(lambda: not demo_window.findChildren(ReportDialog))


def test_statistic_baseline_and_checks(
    demo_window: MainWindow,
    worker: Worker,
    qtbot: QtBot,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run(demo_window, worker, qtbot, "the cat sat on the mat")
    demo_window.workspace.runs.keep()
    run(demo_window, worker, qtbot, "the dog sat", "--on $HOME")
    runs = demo_window.workspace.runs
    for path in ("pooler", "encoder.layer.1"):
        with qtbot.waitSignal(runs.check_changed, timeout=OPEN_TIMEOUT):
            demo_window.workspace.check(path)
        qtbot.waitUntil(lambda: not worker.busy, timeout=OPEN_TIMEOUT)
    find(demo_window, QComboBox, "statisticChoice").setCurrentText("rms")
    command = check_report(demo_window, tmp_path / "a.json", worker, qtbot, monkeypatch)
    assert "--statistic=rms" in command
    assert "'--against=the cat sat on the mat'" in command
    assert "--check-module=pooler --check-module=encoder.layer.1" in command


def test_saved_runs(
    demo_window: MainWindow,
    worker: Worker,
    qtbot: QtBot,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run(demo_window, worker, qtbot, "the cat sat")
    demo_window.workspace.runs.keep()
    run(demo_window, worker, qtbot, "the dog sat")
    file = tmp_path / "two.bertviewer"
    with qtbot.waitSignal(demo_window.workspace.saved, timeout=OPEN_TIMEOUT):
        demo_window.workspace.save_runs(file)
    window = make_window(worker)
    qtbot.addWidget(window)
    window.show()
    window.open_named(str(file))
    qtbot.waitUntil(lambda: is_drawn(window) and not worker.busy, timeout=OPEN_TIMEOUT)
    command = check_report(window, tmp_path / "b.json", worker, qtbot, monkeypatch)
    assert f" --against-saved-a={file} " in command
