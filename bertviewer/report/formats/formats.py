"""The file formats of a report. To add one, add a line to ``FORMATS``."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec import Struct, field

from bertviewer.charts.theme import GREY, LIGHT
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.text import printable_json
from bertviewer.report.document import ReportDocument
from bertviewer.report.options import Options


class ExportedFiles(Struct, frozen=True, eq=False):
    """The content of a report's file, and the files in the folder next to it, by name."""

    content: bytes
    files: Mapping[str, bytes] = field(default_factory=dict)


Write = Callable[[ReportDocument, Options, str], ExportedFiles]
"""Writes a document in a format; the last argument is the name of the folder of its pictures."""


class ReportFormat(Struct, frozen=True, eq=False):
    """A file format.

    Attributes:
        name: its name in ``--format``.
        title: its name in the dialog.
        suffixes: file name extensions, the default first.
        write: writes a document.
        pictures: extension of the pictures in the folder next to the file, "" for a single file.
        works: name of the bibliography's file in this folder, "" for none.
    """

    name: str
    title: str
    suffixes: tuple[str, ...]
    write: Write
    pictures: str = ""
    works: str = ""


def _pdf(document: ReportDocument, options: Options, _folder: str) -> ExportedFiles:
    from bertviewer.report.typesetting import report_pdf

    return ExportedFiles(report_pdf(document, options.paper, options.theme))


def _html(document: ReportDocument, options: Options, _folder: str) -> ExportedFiles:
    from bertviewer.report.formats.html import html_of

    return ExportedFiles(html_of(document, GREY if options.grey else LIGHT).encode())


def _markdown(document: ReportDocument, _options: Options, folder: str) -> ExportedFiles:
    from bertviewer.report.formats.markdown import markdown_of
    from bertviewer.report.formats.writer import picture_file

    pictures = {picture_file(name, ".svg"): svg.encode() for name, svg in document.pictures.items()}
    return ExportedFiles(markdown_of(document, folder).encode(), pictures)


def _latex(document: ReportDocument, options: Options, folder: str) -> ExportedFiles:
    from bertviewer.report.formats.bibtex import bibtex_of
    from bertviewer.report.formats.latex import latex_of
    from bertviewer.report.formats.writer import picture_file
    from bertviewer.report.typesetting import drawings_as_pdf

    text = latex_of(document, folder, options.paper, options.theme)
    files = {picture_file(name, ".pdf"): pdf for name, pdf in drawings_as_pdf(document.pictures)}
    if document.works:
        files[WORKS] = bibtex_of(document.works).encode()
    return ExportedFiles(text.encode(), files)


def _json(document: ReportDocument, _options: Options, _folder: str) -> ExportedFiles:
    # Unprintable characters are escaped, also lone surrogates, which no file can hold.
    text = json.dumps(
        document.to_json(), ensure_ascii=False, allow_nan=False, indent=1, sort_keys=True
    )
    lines = map(printable_json, text.split("\n"))
    return ExportedFiles(("\n".join(lines) + "\n").encode())


WORKS = "references.bib"
FORMATS = (
    ReportFormat("pdf", "PDF", (".pdf",), _pdf),
    ReportFormat("html", "Web page", (".html", ".htm"), _html),
    ReportFormat("markdown", "Markdown", (".md", ".markdown"), _markdown, ".svg"),
    ReportFormat("latex", "LaTeX", (".tex", ".latex"), _latex, ".pdf", WORKS),
    ReportFormat("json", "JSON", (".json",), _json),
)


def format_by_suffix(path: Path) -> ReportFormat | None:
    """Return the format of a file name's extension, ``None`` if it is of no format."""
    suffix = path.suffix.lower()
    return next((each for each in FORMATS if suffix in each.suffixes), None)


def format_by_name(name: str) -> ReportFormat:
    """Return the format of that name, PDF if there is none."""
    return next((each for each in FORMATS if each.name == name), FORMATS[0])


def format_of(path: Path, name: str = "") -> ReportFormat:
    """Return the format of a file: the one of that name, or else by its extension.

    Raises:
        UserError: the extension is of no format, or of another one than ``name``.
    """
    by_suffix = format_by_suffix(path)
    found = next((each for each in FORMATS if each.name == name), by_suffix)
    if found is None:
        suffixes = ", ".join(each.suffixes[0] for each in FORMATS)
        problem = (
            f"{path.suffix} is not a report format" if path.suffix else "the name has no extension"
        )
        raise UserError(f"cannot write {path}: {problem}; use one of {suffixes}")
    if by_suffix not in (None, found):
        raise UserError(f"cannot write {path} as {found.name}: its extension is {path.suffix}")
    return found
