"""Bounded reads, and removal of unfinished files."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from bertviewer.core.util.errors import NOT_REGULAR, UserError
from bertviewer.core.util.files import read_small_file, remove_unfinished, unfinished


def test_up_to_so_many_bytes(tmp_path: Path) -> None:
    file = tmp_path / "small"
    file.write_bytes(b"abc")
    assert read_small_file(file, 3, "a word") == b"abc"
    with pytest.raises(UserError) as raised:
        read_small_file(file, 2, "a word")
    assert str(raised.value) == f"{file}: too large for a word"


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="Linux has such files")
def test_a_file_that_says_it_is_empty_and_is_not() -> None:
    assert Path("/proc/self/maps").stat().st_size == 0
    with pytest.raises(UserError, match="too large"):
        read_small_file(Path("/proc/self/maps"), 100, "a word")


@pytest.mark.parametrize(
    ("put", "said"),
    [
        (os.mkfifo, NOT_REGULAR),
        (Path.mkdir, NOT_REGULAR),
        (lambda file: file.symlink_to("/dev/zero"), NOT_REGULAR),
        (lambda file: file.symlink_to(file), "Too many levels of symbolic links"),
        (lambda file: None, "No such file or directory"),
    ],
    ids=["pipe", "folder", "device", "circle", "nothing"],
)
def test_what_is_no_file(put: Callable[[Path], object], said: str, tmp_path: Path) -> None:
    file = tmp_path / "file"
    put(file)
    with pytest.raises(UserError) as raised:
        read_small_file(file, 10_000, "a word")
    assert str(raised.value) == f"{file}: {said}"


def test_what_is_being_written_is_taken_away_and_what_is_done_stays(tmp_path: Path) -> None:
    done, file, folder = (tmp_path / name for name in ("done", "file", "folder"))
    with unfinished(done):
        done.write_text("all of it")
    folder.mkdir()
    with unfinished(file), unfinished(folder), unfinished(tmp_path / "never made"):
        file.write_text("half of it")
        (folder / "part").write_text("half of it")
        remove_unfinished()
        assert list(tmp_path.iterdir()) == [done]
