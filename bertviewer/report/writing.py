"""The report as a file."""

from collections.abc import Iterable
from pathlib import Path

from bertviewer.core.saving.files import save
from bertviewer.core.source.model_source import ModelSource
from bertviewer.plots.paper import windowless_application
from bertviewer.report.building import build_document
from bertviewer.report.choices import Choices
from bertviewer.report.document import ReportDocument
from bertviewer.report.drawing import draw_pictures
from bertviewer.report.subject import Subject
from bertviewer.report.typesetting import report_pdf


def write_document(
    path: Path, document: ReportDocument, choices: Choices, models: Iterable[ModelSource]
) -> None:
    """Typeset a document and write it; an older file stays as it was if that fails.

    No file of ``models`` is replaced: they are those that are open.

    Raises:
        UserError: the file cannot be written.
    """
    save(path, report_pdf(document, choices.paper, choices.theme), models)


def write_report(
    path: Path, subject: Subject, choices: Choices, models: Iterable[ModelSource]
) -> None:
    """Write a report from a process that has no window.

    Raises:
        UserError: the file cannot be written.
    """
    application = windowless_application()
    draft = build_document(subject, choices)
    drawings = dict(draw_pictures(draft.pictures, subject.architecture, choices.theme))
    write_document(path, draft.with_pictures(drawings), choices, models)
    application.processEvents()
