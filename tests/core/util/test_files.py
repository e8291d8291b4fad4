"""Bounded reads, and removal of unfinished files."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from bertviewer.core.util.errors import NOT_REGULAR, UserError
from bertviewer.core.util.files import read_small_file, remove_unfinished, unfinished


def test_a_file_is_read_up_to_the_limit(tmp_path: Path) -> None:
    file = tmp_path / "small"
    file.write_bytes(b"abc")
    assert read_small_file(file, 3, "a word") == b"abc"
    with pytest.raises(UserError) as raised:
        read_small_file(file, 2, "a word")
    assert str(raised.value) == f"{file}: too large for a word"


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="Linux has such files")
def test_a_file_of_size_0_with_content_is_limited() -> None:
    assert Path("/proc/self/maps").stat().st_size == 0
    with pytest.raises(UserError, match="too large"):
        read_small_file(Path("/proc/self/maps"), 100, "a word")


@pytest.mark.parametrize(
    ("create", "message"),
    [
        (os.mkfifo, NOT_REGULAR),
        (Path.mkdir, NOT_REGULAR),
        (lambda file: file.symlink_to("/dev/zero"), NOT_REGULAR),
        (lambda file: file.symlink_to(file), "Too many levels of symbolic links"),
        (lambda file: None, "No such file or directory"),
    ],
    ids=["pipe", "folder", "device", "circular link", "missing"],
)
def test_only_regular_files_are_read(
    create: Callable[[Path], object], message: str, tmp_path: Path
) -> None:
    file = tmp_path / "file"
    create(file)
    with pytest.raises(UserError) as raised:
        read_small_file(file, 10_000, "a word")
    assert str(raised.value) == f"{file}: {message}"


def test_unfinished_files_are_removed_and_finished_ones_kept(tmp_path: Path) -> None:
    finished, file, folder = (tmp_path / name for name in ("finished", "file", "folder"))
    with unfinished(finished):
        finished.write_text("all of it")
    folder.mkdir()
    with unfinished(file), unfinished(folder), unfinished(tmp_path / "never created"):
        file.write_text("half of it")
        (folder / "part").write_text("half of it")
        remove_unfinished()
        assert list(tmp_path.iterdir()) == [finished]
