"""Files, and folders next to them, are written whole or not at all."""

import errno
import os
import re
from pathlib import Path

import pytest

from bertviewer.core.saving.atomic_files import (
    UMASK,
    SidecarFolder,
    check_folder,
    check_writable,
    save_with_folder,
    write_atomically,
)
from bertviewer.core.saving.model_files import IS_THE_MODELS
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.util.errors import NOT_REGULAR, UserError

KNOWN = re.compile(r"[a-z]\.(svg|pdf)")
SVG = re.compile(r"[a-z]\.svg")
posix = pytest.mark.skipif(os.name != "posix", reason="POSIX's file names, modes and kinds")


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def texts(folder: Path) -> dict[str, str]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_text() for path in files}


def sidecar(**files: bytes) -> SidecarFolder:
    return SidecarFolder("figures", {f"{name}.svg": it for name, it in files.items()}, KNOWN, SVG)


def fail_at(monkeypatch: pytest.MonkeyPatch, name: str, code: int) -> None:
    """Make a function fail as the operating system does."""

    def fail(*_: object, **__: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(name, fail)


def test_checking_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "report.pdf"
    check_writable(path, ())
    assert names(tmp_path) == []
    path.write_bytes(b"old")
    check_writable(path, ())
    assert texts(tmp_path) == {"report.pdf": "old"}


@posix
@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("", "it is a folder"),
        ("missing/report.pdf", "no such folder: .*/missing$"),
        ("file/report.pdf", "no such folder: .*/file$"),
        ("pipe", NOT_REGULAR),
        ("loop", "cannot write"),
        ("x" * 300, "cannot write"),
        ("注" * 90, "cannot write"),
        ("a\0b", "cannot write"),
        ("d/" * 3000 + "report.pdf", "cannot write"),
    ],
)
def test_paths_that_cannot_be_written(tmp_path: Path, name: str, reason: str) -> None:
    (tmp_path / "file").write_bytes(b"")
    (tmp_path / "loop").symlink_to("loop")
    os.mkfifo(tmp_path / "pipe")
    before = names(tmp_path)
    with pytest.raises(UserError, match=reason):
        check_writable(tmp_path / name, ())
    if name != "pipe":
        with pytest.raises(UserError, match="cannot write"):
            write_atomically(tmp_path / name, b"x")
    assert names(tmp_path) == before


def test_a_read_only_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Not by permissions: root may write anywhere.
    fail_at(monkeypatch, "tempfile.NamedTemporaryFile", errno.EROFS)
    with pytest.raises(UserError, match=f"cannot write .*: {os.strerror(errno.EROFS)}"):
        check_writable(tmp_path / "report.pdf", ())


@pytest.mark.parametrize("name", ["a b.pdf", "注意力.pdf", "-f", ".hidden"])
def test_a_file_is_replaced(tmp_path: Path, name: str) -> None:
    for content in (b"one", b""):
        write_atomically(tmp_path / name, content)
        assert (tmp_path / name).read_bytes() == content
        assert names(tmp_path) == [name]


@posix
@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_permissions_follow_the_umask(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, umask: int, mode: int
) -> None:
    monkeypatch.setattr("bertviewer.core.saving.atomic_files.UMASK", umask)
    write_atomically(tmp_path / "report.pdf", b"x")
    assert (tmp_path / "report.pdf").stat().st_mode & 0o777 == mode


@pytest.mark.parametrize("step", ["os.fsync", "pathlib.Path.chmod", "pathlib.Path.replace"])
def test_a_failure_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    path = tmp_path / "report.pdf"
    path.write_bytes(b"old")
    fail_at(monkeypatch, step, errno.ENOSPC)
    with pytest.raises(UserError) as error:
        write_atomically(path, b"new")
    assert str(error.value) == f"cannot write {path}: {os.strerror(errno.ENOSPC)}"
    assert texts(tmp_path) == {"report.pdf": "old"}


def test_a_folder_is_not_replaced_by_a_file(tmp_path: Path) -> None:
    (tmp_path / "report.pdf" / "inside").mkdir(parents=True)
    with pytest.raises(UserError, match="cannot write"):
        write_atomically(tmp_path / "report.pdf", b"x")
    assert names(tmp_path) == ["report.pdf"]
    assert names(tmp_path / "report.pdf") == ["inside"]


@posix
@pytest.mark.parametrize("has_folder", [False, True])
def test_the_target_of_a_link_is_replaced(tmp_path: Path, has_folder: bool) -> None:
    target, link = tmp_path / "there" / "a.md", tmp_path / "a.md"
    target.parent.mkdir()
    target.write_text("old")
    link.symlink_to(target)
    if has_folder:
        save_with_folder(link, b"new", sidecar(a=b"1"), ())
    else:
        write_atomically(link, b"new")
    assert link.is_symlink()
    assert texts(target.parent) == {"a.md": "new"} | ({"figures/a.svg": "1"} if has_folder else {})


def test_a_file_and_its_folder(tmp_path: Path) -> None:
    path, figures = tmp_path / "a.md", tmp_path / "figures"
    save_with_folder(path, b"old", sidecar(a=b"1", b=b"2"), ())
    assert texts(tmp_path) == {"a.md": "old", "figures/a.svg": "1", "figures/b.svg": "2"}
    assert figures.stat().st_mode & 0o777 == 0o777 & ~UMASK
    assert (figures / "a.svg").stat().st_mode & 0o777 == 0o666 & ~UMASK
    # Old figures are removed; other known files stay.
    (figures / "c.pdf").write_text("3")
    save_with_folder(path, b"new", sidecar(b=b"4"), ())
    assert texts(tmp_path) == {"a.md": "new", "figures/b.svg": "4", "figures/c.pdf": "3"}
    (figures / "c.pdf").unlink()
    save_with_folder(path, b"new", sidecar(), ())
    assert names(tmp_path) == ["a.md"]


def test_a_file_of_the_model_and_its_folder_stay(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "README.md").write_text("mine")
    save_with_folder(tmp_path / "a.pdf", b"old", sidecar(b=b"2"), ())
    before = texts(tmp_path)
    model = parse_source(str(tmp_path))
    with pytest.raises(UserError, match=IS_THE_MODELS):
        save_with_folder(tmp_path / "README.md", b"new", sidecar(a=b"1"), [model])
    assert texts(tmp_path) == before
    assert names(tmp_path) == ["README.md", "a.pdf", "config.json", "figures"]


@pytest.mark.parametrize("is_folder", [True, False])
def test_a_folder_with_other_files_is_refused(is_folder: bool, tmp_path: Path) -> None:
    folder = tmp_path / "figures"
    folder.mkdir()
    (folder / "other").mkdir() if is_folder else (folder / "other").write_text("")
    with pytest.raises(UserError, match="figures: the folder contains another file, other"):
        check_folder(folder, KNOWN)


def test_places_where_no_folder_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "figures").write_text("a file")
    with pytest.raises(UserError, match=r"cannot write .*figures: Not a directory"):
        save_with_folder(tmp_path / "a.md", b"new", sidecar(a=b"1"), ())
    with pytest.raises(UserError, match="No such file or directory"):
        save_with_folder(tmp_path / "missing" / "a.md", b"new", sidecar(a=b"1"), ())
    assert texts(tmp_path) == {"figures": "a file"}
