"""The command that a report of the window names makes the same report, to the last byte."""

import json
import shlex
from pathlib import Path

import pytest
from PySide6.QtWidgets import QComboBox
from pytestqt.qtbot import QtBot

from bertviewer.app import main
from bertviewer.report.options import Options
from bertviewer.ui.app.application import make_window
from bertviewer.ui.export.settings import sections_without, store_options
from bertviewer.ui.jobs.worker import Worker
from bertviewer.ui.shell.main_window import MainWindow
from tests.ui.conftest import OPEN_TIMEOUT
from tests.ui.export.reporting import run
from tests.ui.finding import find, is_drawn

LEFT_OUT = ("walk", "formulas", "modules", "tensors")


def wait(worker: Worker, qtbot: QtBot) -> None:
    qtbot.waitUntil(lambda: not worker.busy, timeout=OPEN_TIMEOUT)


def exported(window: MainWindow, path: Path, worker: Worker, qtbot: QtBot) -> bytes:
    """Return what the window writes."""
    wait(worker, qtbot)
    window.exporting.write_report(path)
    qtbot.waitUntil(path.is_file, timeout=OPEN_TIMEOUT)
    wait(worker, qtbot)
    return path.read_bytes()


def command_in(report: bytes) -> str:
    """Return the command that a report names."""
    facts = dict(json.loads(report)["front"]["facts"])
    ((code),) = facts["Command"]
    return str(code["text"])


def check_again(report: bytes, folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Carry out the command elsewhere, compare what it writes, and return it."""
    command = command_in(report)
    words = shlex.split(command)
    folder.mkdir()
    monkeypatch.chdir(folder)
    assert main(words[1:]) == 0
    assert (folder / words[words.index("-o") + 1]).read_bytes() == report
    return command


@pytest.fixture(autouse=True)
def _some_chapters() -> None:
    """Choose a report that is made in a few seconds."""
    store_options(Options(sections=sections_without(LEFT_OUT), layers="0, 3", author="Ada"), "demo")


def test_statistic_run_a_and_checks(
    demo_window: MainWindow,
    worker: Worker,
    qtbot: QtBot,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run(demo_window, "the cat sat on the mat", qtbot)
    demo_window.workspace.runs.keep()
    wait(worker, qtbot)
    run(demo_window, "the dog sat", qtbot, "--on $HOME")
    wait(worker, qtbot)
    runs = demo_window.workspace.runs
    for path in ("pooler", "encoder.layer.1"):
        demo_window.workspace.check(path)
        qtbot.waitUntil(lambda path=path: path in runs.checks, timeout=OPEN_TIMEOUT)  # type: ignore[misc]
        wait(worker, qtbot)
    find(demo_window, QComboBox, "statisticChoice").setCurrentText("rms")
    report = exported(demo_window, tmp_path / "a.json", worker, qtbot)
    command = check_again(report, tmp_path / "again", monkeypatch)
    assert "--statistic=rms" in command
    assert "'--against=the cat sat on the mat'" in command
    assert "--check-module=pooler --check-module=encoder.layer.1" in command


def test_runs_that_were_saved(
    demo_window: MainWindow,
    worker: Worker,
    qtbot: QtBot,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run(demo_window, "the cat sat", qtbot)
    demo_window.workspace.runs.keep()
    wait(worker, qtbot)
    run(demo_window, "the dog sat", qtbot)
    wait(worker, qtbot)
    file = tmp_path / "two.bertviewer"
    demo_window.workspace.save_runs(file)
    qtbot.waitUntil(file.is_file, timeout=OPEN_TIMEOUT)
    wait(worker, qtbot)
    window = make_window(worker)
    qtbot.addWidget(window)
    window.show()
    window.open_named(str(file))
    qtbot.waitUntil(lambda: is_drawn(window) and window.workspace.runs.run is not None)
    report = exported(window, tmp_path / "b.json", worker, qtbot)
    command = check_again(report, tmp_path / "again", monkeypatch)
    assert f" --against-saved-a={file} " in command
