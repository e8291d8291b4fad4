"""The formats of a report: whoever adds one adds a line here."""

from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from bertviewer.charts.theme import GREY, LIGHT
from bertviewer.core.util.errors import UserError
from bertviewer.report.choices import Choices
from bertviewer.report.document import ReportDocument
from bertviewer.report.formats.written import Written

Write = Callable[[ReportDocument, Choices, str], Written]
"""What makes a format's files; the last argument is the name of the folder of its pictures."""


class ReportFormat(Struct, frozen=True, eq=False):
    """A format that a report can be written in.

    Attributes:
        name: as ``--format`` takes it.
        title: what a person reads where one is chosen.
        suffixes: the endings of its files, its own first.
        write: makes the files.
        pictures: the ending of the pictures in a folder beside the file; empty if it is one file.
    """

    name: str
    title: str
    suffixes: tuple[str, ...]
    write: Write
    pictures: str = ""


def _pdf(document: ReportDocument, choices: Choices, _folder: str) -> Written:
    from bertviewer.report.typesetting import report_pdf

    return Written(report_pdf(document, choices.paper, choices.theme))


def _html(document: ReportDocument, choices: Choices, _folder: str) -> Written:
    from bertviewer.report.formats.html import html_of

    return Written(html_of(document, GREY if choices.is_grey else LIGHT).encode())


def _latex(document: ReportDocument, choices: Choices, folder: str) -> Written:
    from bertviewer.report.formats.latex import latex_of
    from bertviewer.report.formats.pictures import pdf_files

    text = latex_of(document, folder, choices.paper, choices.theme)
    return Written(text.encode(), pdf_files(document.pictures))


def _markdown(document: ReportDocument, _choices: Choices, folder: str) -> Written:
    from bertviewer.report.formats.markdown import markdown_of
    from bertviewer.report.formats.pictures import svg_files

    return Written(markdown_of(document, folder).encode(), svg_files(document.pictures))


def _json(document: ReportDocument, _choices: Choices, _folder: str) -> Written:
    from bertviewer.report.formats.json import json_of

    return Written(json_of(document).encode())


FORMATS = (
    ReportFormat("pdf", "PDF", (".pdf",), _pdf),
    ReportFormat("html", "Web page", (".html", ".htm"), _html),
    ReportFormat("markdown", "Markdown", (".md", ".markdown"), _markdown, ".svg"),
    ReportFormat("latex", "LaTeX", (".tex", ".latex"), _latex, ".pdf"),
    ReportFormat("json", "JSON", (".json",), _json),
)


def format_of(path: Path, name: str | None = None) -> ReportFormat:
    """Return the format that a file is to have: by its name if it is said, else by its ending.

    Raises:
        UserError: no format is said and the ending is of none, or it is of another one.
    """
    suffix = path.suffix.lower()
    ends_as = next((known for known in FORMATS if suffix in known.suffixes), None)
    asked = next((known for known in FORMATS if known.name == name), ends_as)
    if asked is None:
        endings = ", ".join(known.suffixes[0] for known in FORMATS)
        ending = f"{path.suffix} is not a report format" if suffix else "the name has no extension"
        raise UserError(f"cannot write {path}: {ending}; use one of {endings}")
    if ends_as not in (None, asked):
        raise UserError(f"cannot write {path} as {asked.name}: its extension is {path.suffix}")
    return asked
