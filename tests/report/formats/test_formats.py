"""Which format a file gets, and that each format writes reproducible files."""

import hashlib
import os
import sys
from pathlib import Path

import pytest

from bertviewer.core.util.errors import UserError
from bertviewer.report.document import ReportDocument
from bertviewer.report.formats.formats import FORMATS, WORKS, format_of
from bertviewer.report.options import Options
from tests.report.formats.conftest import FOLDER
from tests.report.formats.documents import full_document
from tests.tools.subprocesses import output_of

STARTS = {
    "pdf": b"%PDF",
    "html": b"<!DOCTYPE",
    "markdown": b"# bert",
    "latex": b"\\document",
    "json": b"{",
}


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
def test_the_name_or_else_the_extension_determines_the_format(
    file: str, name: str, expected: str
) -> None:
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
def test_other_files_are_refused(file: str, name: str, message: str) -> None:
    with pytest.raises(UserError) as error:
        format_of(Path(file), name)
    assert str(error.value) == message


def digests() -> list[str]:
    """Return the name, file and SHA-256 of all files in all formats."""
    found = []
    for form in FORMATS:
        written = form.write(full_document(), Options(), FOLDER)
        for name, content in (("", written.content), *written.files.items()):
            found.append(f"{form.name} {name} {hashlib.sha256(content).hexdigest()}")
    return found


def test_another_process_writes_the_same_bytes(tmp_path: Path) -> None:
    """Hashes of strings, and with them the order of sets, are random in each process."""
    root = Path(__file__).parents[3]
    seed = "0" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(root)}
    code = f"from {__name__} import digests; print(*digests(), sep='\\n')"
    assert output_of([sys.executable, "-c", code], tmp_path, environment).splitlines() == digests()


def test_contents_pictures_and_greyscale(document: ReportDocument) -> None:
    assert [form.name for form in FORMATS] == list(STARTS)
    for form in FORMATS:
        written = form.write(document, Options(), FOLDER)
        assert written.content.startswith(STARTS[form.name])
        pictures = [name for name in written.files if name != WORKS]
        assert len(pictures) == (2 if form.pictures else 0)
        assert all(name.endswith(form.pictures) for name in pictures)
        grey = form.write(document, Options(grey=True), FOLDER).content
        assert (grey != written.content) == (form.name in ("pdf", "html", "latex"))
