"""Which format a file gets, and that each of them can be written."""

from pathlib import Path

import pytest

from bertviewer.core.util.errors import UserError
from bertviewer.report.document import ReportDocument
from bertviewer.report.formats.formats import FORMATS, ReportFormat, format_of
from bertviewer.report.options import Options
from tests.report.formats.conftest import FOLDER

NAMES = ["pdf", "html", "markdown", "latex", "json"]


def test_names_and_endings_are_of_one_format_each() -> None:
    assert [form.name for form in FORMATS] == NAMES
    endings = [suffix for form in FORMATS for suffix in form.suffixes]
    assert len(endings) == len(set(endings))


@pytest.mark.parametrize(
    ("file", "name", "expected"),
    [
        ("a.pdf", "", "pdf"),
        ("a.HTML", "", "html"),
        ("a.htm", "", "html"),
        ("b.a.md", "", "markdown"),
        ("a.tex", "", "latex"),
        ("a.json", "json", "json"),
        ("a", "latex", "latex"),
        ("a.txt", "markdown", "markdown"),
    ],
)
def test_a_file_has_a_format(file: str, name: str, expected: str) -> None:
    assert format_of(Path(file), name).name == expected


@pytest.mark.parametrize(
    ("file", "name", "message"),
    [
        ("a.doc", "", "cannot write a.doc: .doc is not a report format; "
         "use one of .pdf, .html, .md, .tex, .json"),
        ("a", "", "cannot write a: the name has no extension; "
         "use one of .pdf, .html, .md, .tex, .json"),
        ("a.html", "latex", "cannot write a.html as latex: its extension is .html"),
    ],
)  # fmt: skip
def test_a_file_that_has_none_is_refused(file: str, name: str, message: str) -> None:
    with pytest.raises(UserError) as error:
        format_of(Path(file), name)
    assert str(error.value) == message


@pytest.mark.parametrize("form", FORMATS, ids=NAMES)
def test_every_format_writes_the_same_bytes_again(
    form: ReportFormat, document: ReportDocument
) -> None:
    written = form.write(document, Options(), FOLDER)
    again = form.write(document, Options(), FOLDER)
    assert written.content == again.content
    assert written.pictures == again.pictures
    assert len(written.pictures) == (2 if form.pictures else 0)
    assert all(name.endswith(form.pictures) for name in written.pictures)
    start = {"pdf": b"%PDF", "html": b"<!DOCTYPE", "markdown": b"# bert", "latex": b"\\document"}
    assert written.content.startswith(start.get(form.name, b"{"))


def test_grey_is_for_all_that_have_colours(document: ReportDocument) -> None:
    for form in FORMATS:
        grey = form.write(document, Options(grey=True), FOLDER).content
        usual = form.write(document, Options(), FOLDER).content
        assert (grey != usual) == (form.name in ("pdf", "html", "latex"))
