"""The report as a file, from a process that has no window."""

from collections.abc import Iterable
from pathlib import Path

from bertviewer.core.source.model_source import ModelSource
from bertviewer.plots.paper import windowless_application
from bertviewer.report.building import build_document
from bertviewer.report.choices import Choices
from bertviewer.report.drawing import draw_pictures
from bertviewer.report.formats.formats import ReportFormat
from bertviewer.report.formats.saving import save_report
from bertviewer.report.subject import Subject


def write_report(
    path: Path,
    subject: Subject,
    form: ReportFormat,
    choices: Choices,
    models: Iterable[ModelSource],
) -> None:
    """Draw and write a report; what was there before stays as it was if that fails.

    No file of ``models`` is replaced: they are those that are open.

    Raises:
        UserError: it cannot be written.
    """
    application = windowless_application()
    draft = build_document(subject, choices)
    drawings = dict(draw_pictures(draft.pictures, subject.architecture, choices.theme))
    save_report(path, draft.with_pictures(drawings), form, choices, models)
    application.processEvents()
