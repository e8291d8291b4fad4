"""A report and its pictures are saved together, or not at all."""

import re
from pathlib import Path

import pytest

from bertviewer.core.saving import atomic_files
from bertviewer.core.saving.atomic_files import UMASK
from bertviewer.core.util.errors import UserError
from bertviewer.report.blocks import Figure
from bertviewer.report.document import ReportDocument
from bertviewer.report.formats.formats import FORMATS, ReportFormat, format_of
from bertviewer.report.formats.saving import check_report, pictures_folder, save_report
from bertviewer.report.options import Options
from tests.report.formats.documents import PICTURE, WORKS, document_of

PLAIN = document_of(title="plain")
WITH_PICTURE = document_of(
    Figure("drawing", "picture", (), "A box"), title="with", pictures={"drawing": PICTURE}
)


def files_in(folder: Path) -> dict[str, bytes]:
    paths = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


def save(path: Path, document: ReportDocument) -> None:
    save_report(path, document, format_of(path), Options(), [])


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)
def test_pictures_are_in_the_folder_that_the_file_refers_to(
    form: ReportFormat, tmp_path: Path
) -> None:
    path = tmp_path / f"a report{form.suffixes[0]}"
    check_report(path, form, [])
    save(path, WITH_PICTURE)
    expected = {path.name}
    if form.pictures:
        expected.add(f"a-report-figures/figure-drawing{form.pictures}")
        assert b"a-report-figures/figure-drawing" in path.read_bytes()
    assert set(files_in(tmp_path)) == expected
    assert oct(path.stat().st_mode & 0o777) == oct(0o666 & ~UMASK)
    # A new report without pictures removes those of the old one.
    save(path, PLAIN)
    assert set(files_in(tmp_path)) == {path.name}


def test_the_bibliography_is_next_to_latex(tmp_path: Path) -> None:
    path = tmp_path / "report.tex"
    save(path, document_of(WORKS))
    (works,) = (content for name, content in files_in(tmp_path).items() if name.endswith(".bib"))
    assert "@article{VaswaniEtAl2017," in works.decode()
    assert "author = {A. Vaswani and N. Shazeer" in works.decode()
    save(path, PLAIN)
    assert set(files_in(tmp_path)) == {"report.tex"}


def test_formats_share_a_folder(tmp_path: Path) -> None:
    save(tmp_path / "report.md", WITH_PICTURE)
    save(tmp_path / "report.tex", WITH_PICTURE)
    svg, pdf = (f"report-figures/figure-drawing.{kind}" for kind in ("svg", "pdf"))
    assert set(files_in(tmp_path)) == {"report.md", "report.tex", svg, pdf}
    save(tmp_path / "report.tex", PLAIN)
    assert set(files_in(tmp_path)) == {"report.md", "report.tex", svg}


def test_a_folder_with_other_files_is_not_changed(tmp_path: Path) -> None:
    path = tmp_path / "report.md"
    (tmp_path / "report-figures").mkdir()
    (tmp_path / "report-figures" / "mine.svg").write_bytes(b"mine")
    message = re.escape("report-figures: the folder contains another file, mine.svg")
    with pytest.raises(UserError, match=message):
        save(path, WITH_PICTURE)
    with pytest.raises(UserError, match=message):
        check_report(path, format_of(path), [])
    assert files_in(tmp_path) == {"report-figures/mine.svg": b"mine"}


@pytest.mark.parametrize("step", ["os.fsync", "atomic_files.save", "Path.rename"])
@pytest.mark.parametrize("has_old", [True, False])
def test_a_failure_at_any_step_leaves_the_old_files(
    step: str, has_old: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "report.md"
    if has_old:
        save(path, WITH_PICTURE)
    before, entries = files_in(tmp_path), sorted(tmp_path.iterdir())
    rename = Path.rename

    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device") if step != "Path.rename" else KeyboardInterrupt

    def fail_for_the_new_folder(self: Path, target: Path) -> Path:
        if not target.name.endswith("-old") and not self.name.endswith("-old"):
            fail()
        return rename(self, target)

    if step == "os.fsync":
        monkeypatch.setattr("os.fsync", fail)
    elif step == "Path.rename":
        monkeypatch.setattr(Path, "rename", fail_for_the_new_folder)
    else:
        monkeypatch.setattr(atomic_files, "save", fail)
    new = document_of(
        Figure("drawing", "picture", (), "Another"), title="new", pictures={"drawing": PICTURE}
    )
    with pytest.raises((UserError, OSError, KeyboardInterrupt)):
        save(path, new)
    assert files_in(tmp_path) == before
    assert sorted(tmp_path.iterdir()) == entries


@pytest.mark.parametrize(
    ("name", "folder"),
    [
        ("report.md", "report-figures"),
        ("a b#50%.tex", "a-b-50--figures"),
        ("注意.v2.tex", "注意.v2-figures"),
        ("\udcff.md", "--figures"),
    ],
)
def test_folder_names_are_safe_in_latex_and_links(name: str, folder: str) -> None:
    assert pictures_folder(Path(name)) == folder
