"""Writes a report's files: all of them, or none."""

import re
from collections.abc import Iterable
from pathlib import Path

from bertviewer.core.saving.atomic_files import (
    SidecarFolder,
    check_folder,
    check_writable,
    resolved,
    save,
    save_with_folder,
)
from bertviewer.core.sources.model_source import ModelSource
from bertviewer.core.util.progress import Progress, no_progress
from bertviewer.report.choices import Choices
from bertviewer.report.document import ReportDocument
from bertviewer.report.formats.formats import ReportFormat
from bertviewer.report.formats.pictures import FILES, files_ending

_UNSAFE = re.compile(r"[^\w.+-]")


def pictures_folder(path: Path) -> str:
    """Return the name of the folder beside a report: ``report-figures``.

    Letters that LaTeX or a link would read otherwise are left out of it.
    """
    return _UNSAFE.sub("-", f"{path.stem}-figures".encode("utf-8", "replace").decode())


def check_report(path: Path, form: ReportFormat, models: Iterable[ModelSource]) -> None:
    """Return if a report can be written in a format while these models are open.

    Raises:
        UserError: the file or the folder beside it cannot be written.
    """
    check_writable(path, models)
    if form.pictures:
        check_folder(resolved(path).parent / pictures_folder(path), FILES)


def save_report(  # noqa: PLR0917
    path: Path,
    document: ReportDocument,
    form: ReportFormat,
    choices: Choices,
    models: Iterable[ModelSource],
    progress: Progress = no_progress,
) -> None:
    """Write a report; what was there before stays as it was if that fails.

    Raises:
        UserError: it cannot be written, or is a file of one of the models.
        Cancelled: by ``progress``.
    """
    folder = pictures_folder(path)
    progress(0, 0, "Typesetting the report")
    written = form.write(document, choices, folder)
    # Typst cannot be stopped: what it gave after all is let go here.
    progress(0, 0, "Writing the report")
    if not form.pictures:
        save(path, written.content, models)
        return
    # A report in another format may have its pictures in the same folder.
    beside = SidecarFolder(folder, written.pictures, FILES, files_ending(re.escape(form.pictures)))
    save_with_folder(path, written.content, beside, models)
