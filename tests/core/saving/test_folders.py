"""A file with a folder beside it, written as one."""

import re
from pathlib import Path

import pytest

from bertviewer.core.saving.atomic_files import UMASK, SidecarFolder, check_folder, save_with_folder
from bertviewer.core.saving.model_files import IS_THE_MODELS
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.util.errors import UserError

KNOWN = re.compile(r"[a-z]\.(svg|pdf)")
SVG = re.compile(r"[a-z]\.svg")


def beside(**files: bytes) -> SidecarFolder:
    return SidecarFolder(
        "figures", {f"{name}.svg": text for name, text in files.items()}, KNOWN, SVG
    )


def texts(folder: Path) -> dict[str, str]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_text() for path in files}


def test_both_are_written_and_nothing_else(tmp_path: Path) -> None:
    save_with_folder(tmp_path / "a.md", b"text", beside(a=b"1", b=b"2"), ())
    assert texts(tmp_path) == {"a.md": "text", "figures/a.svg": "1", "figures/b.svg": "2"}
    assert (tmp_path / "figures").stat().st_mode & 0o777 == 0o777 & ~UMASK
    assert (tmp_path / "figures" / "a.svg").stat().st_mode & 0o777 == 0o666 & ~UMASK
    assert len(list(tmp_path.iterdir())) == 2


def test_what_is_no_longer_there_goes_and_the_others_stay(tmp_path: Path) -> None:
    save_with_folder(tmp_path / "a.md", b"old", beside(a=b"1", b=b"2"), ())
    (tmp_path / "figures" / "c.pdf").write_text("3")
    save_with_folder(tmp_path / "a.md", b"new", beside(b=b"4"), ())
    assert texts(tmp_path) == {"a.md": "new", "figures/b.svg": "4", "figures/c.pdf": "3"}


def test_a_folder_without_files_is_no_folder(tmp_path: Path) -> None:
    save_with_folder(tmp_path / "a.md", b"old", beside(a=b"1"), ())
    save_with_folder(tmp_path / "a.md", b"new", beside(), ())
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.md"]


def test_a_link_is_followed_for_both(tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.mkdir()
    (there / "a.md").write_text("old")
    link = tmp_path / "a.md"
    link.symlink_to(there / "a.md")
    save_with_folder(link, b"new", beside(a=b"1"), ())
    assert link.is_symlink()
    assert texts(there) == {"a.md": "new", "figures/a.svg": "1"}


def test_a_file_of_the_model_keeps_its_folder_too(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "README.md").write_text("mine")
    before = texts(tmp_path)
    with pytest.raises(UserError, match=IS_THE_MODELS):
        save_with_folder(
            tmp_path / "README.md", b"new", beside(a=b"1"), [parse_source(str(tmp_path))]
        )
    assert texts(tmp_path) == before
    assert not (tmp_path / "figures").exists()


@pytest.mark.parametrize("name", ["other.txt", "sub"])
def test_a_folder_of_somebodys_own_is_refused(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "figures"
    folder.mkdir()
    if name == "sub":
        (folder / name).mkdir()
    else:
        (folder / name).write_text("")
    with pytest.raises(UserError, match=f"figures: the folder contains another file, {name}"):
        check_folder(folder, KNOWN)


def test_a_file_in_the_folders_place_is_refused(tmp_path: Path) -> None:
    (tmp_path / "figures").write_text("a file")
    with pytest.raises(UserError, match=r"cannot write .*figures: Not a directory"):
        save_with_folder(tmp_path / "a.md", b"new", beside(a=b"1"), ())
    assert texts(tmp_path) == {"figures": "a file"}


def test_a_place_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="No such file or directory"):
        save_with_folder(tmp_path / "missing" / "a.md", b"new", beside(a=b"1"), ())
    assert list(tmp_path.iterdir()) == []
