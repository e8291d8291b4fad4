"""Saves a report: its file and the folder next to it, all of them or none."""

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
from bertviewer.report.document import ReportDocument
from bertviewer.report.formats.formats import WORKS, ReportFormat
from bertviewer.report.options import Options

_UNSAFE = re.compile(r"[^\w.+-]")
FILES = re.compile(rf"figure-[A-Za-z0-9._-]*\.(svg|pdf)|{re.escape(WORKS)}")
"""The names of files in the folder next to a report."""


def pictures_folder(path: Path) -> str:
    """Return the name of the folder next to a report: ``report-figures``.

    Characters that are special in LaTeX or in links are replaced.
    """
    return _UNSAFE.sub("-", f"{path.stem}-figures".encode("utf-8", "replace").decode())


def check_report(path: Path, form: ReportFormat, models: Iterable[ModelSource]) -> None:
    """Check that a report can be written in a format without replacing files of these models.

    Raises:
        UserError: the file or the folder of its pictures cannot be written.
    """
    check_writable(path, models)
    if form.pictures:
        check_folder(resolved(path).parent / pictures_folder(path), FILES)


def save_report(  # noqa: PLR0917
    path: Path,
    document: ReportDocument,
    form: ReportFormat,
    options: Options,
    models: Iterable[ModelSource],
    progress: Progress = no_progress,
) -> None:
    """Save a report; on failure existing files are not changed.

    Raises:
        UserError: it cannot be written, or the file belongs to one of the models.
        Cancelled: by ``progress``.
    """
    folder = pictures_folder(path)
    progress(0, 0, "Typesetting the report")
    exported = form.write(document, options, folder)
    # Typst cannot be stopped; its result is discarded here after a cancellation.
    progress(0, 0, "Writing the report")
    if not form.pictures:
        save(path, exported.content, models)
        return
    # A report in another format may have its pictures in the same folder.
    own = re.compile(f"figure-[A-Za-z0-9._-]*{re.escape(form.pictures)}|{re.escape(form.works)}")
    sidecar = SidecarFolder(folder, exported.files, FILES, own)
    save_with_folder(path, exported.content, sidecar, models)
