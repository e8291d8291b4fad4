"""Files that are written whole or not at all."""

import errno
import os
from pathlib import Path

import pytest

from bertviewer.core.saving.atomic_files import check_writable, write_atomically
from bertviewer.core.util.errors import NOT_REGULAR, UserError


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


class TestCheckWritable:
    def test_a_new_file_in_a_folder_is_fine_and_not_made_yet(self, tmp_path: Path) -> None:
        check_writable(tmp_path / "report.pdf", ())
        assert names(tmp_path) == []

    def test_an_old_file_stays_as_it_is(self, tmp_path: Path) -> None:
        path = tmp_path / "report.pdf"
        path.write_bytes(b"old")
        check_writable(path, ())
        assert path.read_bytes() == b"old"
        assert names(tmp_path) == ["report.pdf"]

    def test_a_folder_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(UserError, match="it is a folder"):
            check_writable(tmp_path, ())

    def test_a_missing_folder_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(UserError) as caught:
            check_writable(tmp_path / "missing" / "report.pdf", ())
        assert str(caught.value).endswith(f"no such folder: {tmp_path / 'missing'}")

    def test_a_file_in_place_of_the_folder_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_bytes(b"")
        with pytest.raises(UserError, match="no such folder:"):
            check_writable(tmp_path / "file" / "report.pdf", ())

    @pytest.mark.skipif(os.name != "posix", reason="other systems have other limits")
    @pytest.mark.parametrize(
        "name",
        ["x" * 300, "注" * 90, "a\0b", "d/" * 3000 + "report.pdf", "file/report.pdf", "loop"],
    )
    def test_a_name_that_no_system_takes_is_told_before_the_work(
        self, tmp_path: Path, name: str
    ) -> None:
        (tmp_path / "file").write_bytes(b"")
        (tmp_path / "loop").symlink_to("loop")
        with pytest.raises(UserError, match="cannot write"):
            check_writable(tmp_path / name, ())
        assert names(tmp_path) == ["file", "loop"]

    def test_a_folder_that_takes_no_files_is_told(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        # Not by permissions: root may write everywhere.
        refuse(monkeypatch, "tempfile.NamedTemporaryFile", errno.EROFS)
        with pytest.raises(UserError, match=f"cannot write .*: {os.strerror(errno.EROFS)}"):
            check_writable(tmp_path / "report.pdf", ())


class TestWriteAtomically:
    def test_content(self, tmp_path: Path) -> None:
        path = tmp_path / "report.pdf"
        write_atomically(path, b"one")
        assert path.read_bytes() == b"one"
        write_atomically(path, b"")
        assert path.read_bytes() == b""
        assert names(tmp_path) == ["report.pdf"]

    @pytest.mark.parametrize("name", ["a b.pdf", "注意力.pdf", "-f", ".hidden"])
    def test_odd_names(self, tmp_path: Path, name: str) -> None:
        write_atomically(tmp_path / name, b"x")
        assert names(tmp_path) == [name]

    @pytest.mark.skipif(os.name != "posix", reason="Windows has no such permissions")
    @pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
    def test_the_usual_permissions(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, umask: int, mode: int
    ) -> None:
        monkeypatch.setattr("bertviewer.core.saving.atomic_files.UMASK", umask)
        write_atomically(tmp_path / "report.pdf", b"x")
        assert (tmp_path / "report.pdf").stat().st_mode & 0o777 == mode

    @pytest.mark.parametrize("step", ["os.fsync", "pathlib.Path.chmod", "pathlib.Path.replace"])
    def test_a_failure_leaves_the_old_file_and_nothing_else(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
    ) -> None:
        path = tmp_path / "report.pdf"
        path.write_bytes(b"old")
        refuse(monkeypatch, step, errno.ENOSPC)
        with pytest.raises(UserError) as caught:
            write_atomically(path, b"new")
        assert str(caught.value) == f"cannot write {path}: {os.strerror(errno.ENOSPC)}"
        assert path.read_bytes() == b"old"
        assert names(tmp_path) == ["report.pdf"]

    def test_a_missing_folder(self, tmp_path: Path) -> None:
        with pytest.raises(UserError, match="cannot write"):
            write_atomically(tmp_path / "missing" / "report.pdf", b"x")
        assert names(tmp_path) == []

    def test_a_folder_at_the_path_stays(self, tmp_path: Path) -> None:
        (tmp_path / "report.pdf" / "inside").mkdir(parents=True)
        with pytest.raises(UserError, match="cannot write"):
            write_atomically(tmp_path / "report.pdf", b"x")
        assert names(tmp_path) == ["report.pdf"]
        assert names(tmp_path / "report.pdf") == ["inside"]

    def test_a_name_that_no_system_takes(self, tmp_path: Path) -> None:
        for name in ("a\0b", "x" * 300):
            with pytest.raises(UserError, match="cannot write"):
                write_atomically(tmp_path / name, b"x")
        assert names(tmp_path) == []


def refuse(monkeypatch: pytest.MonkeyPatch, name: str, code: int) -> None:
    """Make a function fail as the system does when it cannot go on."""

    def fail(*_: object, **__: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(name, fail)


@pytest.mark.skipif(os.name != "posix", reason="made with POSIX's own kinds of files")
def test_a_link_is_followed_and_a_pipe_is_refused(tmp_path: Path) -> None:
    target, link, pipe = tmp_path / "target", tmp_path / "link", tmp_path / "pipe"
    target.write_bytes(b"old")
    link.symlink_to(target)
    write_atomically(link, b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    os.mkfifo(pipe)
    with pytest.raises(UserError, match=NOT_REGULAR):
        check_writable(pipe, ())
