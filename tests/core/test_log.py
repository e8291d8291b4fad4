"""The log is kept where it can be, and never in the way."""

import os
import tempfile
from pathlib import Path

import pytest

from bertviewer.core.log import write_log


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path / "state"


def test_in_the_users_folder(state: Path) -> None:
    path = write_log("what happened")
    assert path.is_relative_to(state)
    assert "what happened" in path.read_text()


def test_among_the_temporary_files_else(state: Path, tmp_path: Path) -> None:
    state.write_text("in the way")
    path = write_log("what happened")
    assert path == tmp_path / "bertviewer.log"
    assert "what happened" in path.read_text()


def test_nowhere_at_last(state: Path, tmp_path: Path) -> None:
    state.write_text("in the way")
    (tmp_path / "bertviewer.log").mkdir()
    assert write_log("what happened") == Path(os.devnull)
