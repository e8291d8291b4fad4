"""What a report can be written as."""

from pathlib import Path

from bertviewer.core.frozen import frozen
from bertviewer.report.choices import Choices
from bertviewer.report.document import ReportDocument


@frozen
class Format:
    """A kind of file: its name, what a person reads of it, and how its files' names end."""

    name: str
    title: str
    suffix: str


FORMATS = (Format("pdf", "PDF", ".pdf"),)
"""All of them; the first where nothing was chosen."""


def find_format(name: str) -> Format:
    """Return the format of that name, the first if there is none."""
    return next((each for each in FORMATS if each.name == name), FORMATS[0])


def format_of(path: Path) -> Format | None:
    """Return the format that a file's ending stands for, ``None`` if it stands for none."""
    suffix = path.suffix.lower()
    return next((each for each in FORMATS if each.suffix == suffix), None)


def content_of(document: ReportDocument, choices: Choices, form: Format) -> bytes:
    """Return a report as a file's bytes.

    Raises:
        UserError: it cannot be set.
    """
    from bertviewer.report.typesetting import report_pdf

    assert form.name == "pdf"
    return report_pdf(document, choices.paper, choices.theme)
