"""The report as a file: built, drawn, and written in its format."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from bertviewer.charts.theme import Theme
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.sources.model_source import ModelSource
from bertviewer.report.building import build_document
from bertviewer.report.choices import Choices
from bertviewer.report.formats.formats import ReportFormat
from bertviewer.report.formats.saving import save_report
from bertviewer.report.pictures import Picture
from bertviewer.report.subject import Subject

Draw = Callable[[Mapping[str, Picture], Architecture, Theme], dict[str, str]]


def write_report(
    path: Path,
    subject: Subject,
    form: ReportFormat,
    choices: Choices,
    models: Iterable[ModelSource],
    *,
    draw: Draw,
) -> None:
    """Write a report; what was there before stays as it was if that fails.

    No file of ``models`` is replaced: they are those that are open. ``draw`` draws the pictures.

    Raises:
        UserError: it cannot be written.
    """
    draft = build_document(subject, choices)
    drawings = draw(draft.pictures, subject.architecture, choices.theme)
    save_report(path, draft.with_pictures(drawings), form, choices, models)


def drawings_of(
    pictures: Mapping[str, Picture], architecture: Architecture, theme: Theme
) -> dict[str, str]:
    """Return the pictures as SVG; a ``QApplication`` must exist, and this must be its thread."""
    from bertviewer.report.drawing import draw_pictures

    return dict(draw_pictures(pictures, architecture, theme))
