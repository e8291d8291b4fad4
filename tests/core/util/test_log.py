"""The log is kept where it can be, and never in the way."""

import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from bertviewer.core.util.log import private_folder, write_log


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    private_folder.cache_clear()
    yield tmp_path / "state"
    private_folder.cache_clear()


def test_in_the_users_folder(state: Path) -> None:
    path = write_log("what happened")
    assert path.is_relative_to(state)
    assert "what happened" in path.read_text()


def test_among_the_temporary_files_else(state: Path, tmp_path: Path) -> None:
    state.write_text("in the way")
    path = write_log("what happened")
    assert path.parent.parent == tmp_path / "tmp"
    assert write_log("and then") == path
    assert path.read_text().count("--- ") == 2


@pytest.mark.skipif(os.name != "posix", reason="Windows has no such permissions")
def test_nobody_else_can_read_it_or_have_prepared_it(state: Path, tmp_path: Path) -> None:
    state.write_text("in the way")
    # What somebody else may leave there beforehand, in the hope of a known name.
    mine = tmp_path / "mine"
    mine.write_text("precious")
    (tmp_path / "tmp" / "bertviewer.log").symlink_to(mine)
    (tmp_path / "tmp" / "bertviewer").mkdir()
    path = write_log("what happened")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert path.parent.name.startswith("bertviewer-")
    assert mine.read_text() == "precious"
    private_folder.cache_clear()
    assert write_log("again").parent != path.parent


@pytest.mark.skipif(not hasattr(os, "O_NOFOLLOW"), reason="Windows has no such links")
def test_a_link_in_its_place_is_not_followed(state: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.write_text("precious")
    folder = write_log("first").parent
    (folder / "bertviewer.log").unlink()
    (folder / "bertviewer.log").symlink_to(mine)
    assert write_log("second").parent.parent == tmp_path / "tmp"
    assert mine.read_text() == "precious"


def test_nowhere_at_last(state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state.write_text("in the way")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "absent"))
    assert write_log("what happened") == Path(os.devnull)
