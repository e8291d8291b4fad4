"""Crash log: what a process that crashed leaves for the next start."""

import faulthandler
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication

from bertviewer.ui.app import crash_log
from bertviewer.ui.app.crash_log import open_crash_log

TRACE = "Fatal Python error: Segmentation fault\n"


@pytest.fixture
def folder(tmp_path: Path, qapp: QApplication, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the log folder; pytest keeps its own fault handler."""
    folder = tmp_path / "log"
    monkeypatch.setattr(crash_log, "user_log_path", lambda *_, **__: folder)
    for name in ("enable", "disable"):
        monkeypatch.setattr(faulthandler, name, lambda *_: None)
    return folder


def test_a_normal_end_leaves_no_log(folder: Path) -> None:
    log = open_crash_log()
    assert log is not None
    assert log.last_crash == ""
    assert log.path.is_file()
    log.close()
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(("trace", "is_crash"), [(TRACE, True), ("", False), ("\n", False)])
def test_the_log_of_an_earlier_process_is_a_crash_if_it_has_a_trace(
    folder: Path, trace: str, is_crash: bool
) -> None:
    folder.mkdir()
    (folder / "crash-0.log").write_text(f"bertviewer 1.0, Python 3.11\n{trace}")
    log = open_crash_log()
    assert log is not None
    assert (TRACE in log.last_crash) == is_crash
    assert bool(log.last_crash) == is_crash
    log.close()
    again = open_crash_log()
    assert again is not None
    assert again.last_crash == ""
    again.close()


def test_each_process_has_its_own_log(folder: Path) -> None:
    logs = [open_crash_log() for _ in range(3)]
    assert len({log.path for log in logs if log is not None}) == 3
    for log in logs:
        assert log is not None
        log.close()


def test_without_a_writable_folder_there_is_no_log(folder: Path) -> None:
    folder.write_text("a file")
    assert open_crash_log() is None
