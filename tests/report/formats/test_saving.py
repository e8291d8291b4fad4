"""Files of a report: all of them, or what was there before."""

import os
import re
from collections.abc import Iterable
from pathlib import Path

import pytest

from bertviewer.core.saving import atomic_files
from bertviewer.core.saving.atomic_files import UMASK
from bertviewer.core.sources.model_source import ModelSource
from bertviewer.core.util.errors import UserError
from bertviewer.report.document import ReportDocument
from bertviewer.report.formats.formats import FORMATS, ReportFormat, format_of
from bertviewer.report.formats.saving import PICTURES, check_report, pictures_folder, save_report
from bertviewer.report.formats.writer import picture_file
from bertviewer.report.options import Options
from tests.report.formats.documents import BLOCKS, PICTURE, document_of

SMALL = document_of(title="small")
OTHER = document_of(BLOCKS[7], title="other", pictures={"drawing": PICTURE})


def written(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def save(path: Path, document: ReportDocument) -> None:
    save_report(path, document, format_of(path), Options(), [])


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)
def test_files_stand_where_they_are_looked_for(form: ReportFormat, tmp_path: Path) -> None:
    path = tmp_path / f"a report{form.suffixes[0]}"
    check_report(path, form, [])
    save(path, OTHER)
    expected = {path.name}
    if form.pictures:
        expected.add(f"a-report-figures/figure-drawing{form.pictures}")
        assert b"a-report-figures/figure-drawing" in path.read_bytes()
    assert set(written(tmp_path)) == expected
    assert oct(path.stat().st_mode & 0o777) == oct(0o666 & ~UMASK)


def test_a_new_report_takes_the_old_ones_place(tmp_path: Path) -> None:
    path = tmp_path / "report.md"
    save(path, OTHER)
    save(path, SMALL)
    assert b"# small" in path.read_bytes()
    assert set(written(tmp_path)) == {"report.md"}


def test_formats_share_a_folder(tmp_path: Path) -> None:
    save(tmp_path / "report.md", OTHER)
    save(tmp_path / "report.tex", OTHER)
    pictures = {"report-figures/figure-drawing.svg", "report-figures/figure-drawing.pdf"}
    assert set(written(tmp_path)) == {"report.md", "report.tex", *pictures}
    save(tmp_path / "report.tex", SMALL)
    assert set(written(tmp_path)) == {
        "report.md",
        "report.tex",
        "report-figures/figure-drawing.svg",
    }


def test_a_folder_of_somebodys_own_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "report.md"
    (tmp_path / "report-figures").mkdir()
    (tmp_path / "report-figures" / "mine.svg").write_bytes(b"mine")
    before = written(tmp_path)
    message = "report-figures: the folder contains another file, mine.svg"
    with pytest.raises(UserError, match=re.escape(message)):
        save(path, OTHER)
    with pytest.raises(UserError, match=re.escape(message)):
        check_report(path, format_of(path), [])
    assert written(tmp_path) == before


@pytest.mark.parametrize("name", ["report.md", "report.tex"])
@pytest.mark.parametrize("step", ["fsync", "save", "rename"])
@pytest.mark.parametrize("failure", [KeyboardInterrupt(), OSError(28, "No space left on device")])
def test_a_failure_at_any_step_leaves_what_was_there(
    name: str,
    step: str,
    failure: BaseException,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = tmp_path / name
    save(path, OTHER)
    before = written(tmp_path)
    entries = sorted(tmp_path.iterdir())

    def fail(*_: object, **__: object) -> None:
        raise failure

    if step == "fsync":
        monkeypatch.setattr(os, "fsync", fail)
    elif step == "save":
        monkeypatch.setattr(atomic_files, "save", fail)
    else:
        rename = Path.rename

        def renamed(self: Path, target: Path) -> Path:
            # The old folder has moved away when the new one is to come.
            if not target.name.endswith("-old") and not self.name.endswith("-old"):
                raise failure
            return rename(self, target)

        monkeypatch.setattr(Path, "rename", renamed)
    with pytest.raises((UserError, type(failure))):
        save(path, document_of(BLOCKS[7], title="new", pictures={"drawing": PICTURE}))
    monkeypatch.undo()
    assert written(tmp_path) == before
    assert sorted(tmp_path.iterdir()) == entries


def test_without_an_old_one_nothing_stays_of_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(path: Path, _content: bytes, _models: Iterable[ModelSource]) -> None:
        raise UserError(f"cannot write {path}: full")

    monkeypatch.setattr(atomic_files, "save", fail)
    with pytest.raises(UserError, match="full"):
        save(tmp_path / "report.md", OTHER)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "folder"),
    [
        ("report.md", "report-figures"),
        ("a b#50%.tex", "a-b-50--figures"),
        ("注意.v2.tex", "注意.v2-figures"),
        ("\udcff.md", "--figures"),
    ],
)
def test_folders_have_names_that_latex_and_links_can_hold(name: str, folder: str) -> None:
    assert pictures_folder(Path(name)) == folder


def test_pictures_of_two_names_are_two_files() -> None:
    names = ["a.b", "a-b", "a_b", "a:b", "a/b", "../a", "heads-encoder.layer.0.self-0", "注"]
    files = [picture_file(name, ".svg") for name in names]
    assert len(set(files)) == len(names)
    assert all(PICTURES.fullmatch(file) for file in files)
    assert files[6] == "figure-heads-encoder.layer.0.self-0.svg"
