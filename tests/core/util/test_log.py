"""The log is written where only the user can read it, and never through a link."""

import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from bertviewer.core.util.log import private_folder, write_log


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return the user's folder of logs, which does not exist yet."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    private_folder.cache_clear()
    yield tmp_path / "state"
    private_folder.cache_clear()


def test_the_log_is_in_the_users_folder(state: Path) -> None:
    path = write_log("what happened")
    assert path.is_relative_to(state)
    assert "what happened" in path.read_text()


@pytest.mark.skipif(os.name != "posix", reason="Windows has no such permissions")
def test_the_fallback_is_a_private_temporary_folder(state: Path, tmp_path: Path) -> None:
    state.write_text("no folder can be created")
    # Another user may have prepared a predictable name.
    precious = tmp_path / "precious"
    precious.write_text("kept")
    (tmp_path / "tmp" / "bertviewer.log").symlink_to(precious)
    (tmp_path / "tmp" / "bertviewer").mkdir()
    path = write_log("what happened")
    assert path.parent.parent == tmp_path / "tmp"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert precious.read_text() == "kept"
    assert write_log("and then") == path
    assert path.read_text().count("--- ") == 2
    private_folder.cache_clear()
    assert write_log("in another process").parent != path.parent


@pytest.mark.skipif(not hasattr(os, "O_NOFOLLOW"), reason="Windows has no such links")
def test_a_link_is_not_followed(state: Path, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("kept")
    log = write_log("first")
    log.unlink()
    log.symlink_to(precious)
    assert write_log("second").parent.parent == tmp_path / "tmp"
    assert precious.read_text() == "kept"


def test_without_a_writable_folder_nothing_is_written(
    state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state.write_text("no folder can be created")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "absent"))
    assert write_log("what happened") == Path(os.devnull)
