"""The report as a PDF file."""

from collections.abc import Iterable
from pathlib import Path

from bertviewer.core.activations.activation_run import ActivationRun
from bertviewer.core.architecture.architecture import Architecture
from bertviewer.core.saving.files import save
from bertviewer.core.source.model_source import ModelSource
from bertviewer.plots.paper import windowless_application
from bertviewer.report.document import ReportDocument, build_document, draw_run
from bertviewer.report.typesetting import report_pdf


def write_document(path: Path, document: ReportDocument, models: Iterable[ModelSource]) -> None:
    """Typeset a document and write it; an older file stays as it was if that fails.

    No file of ``models`` is replaced: they are those that are open.

    Raises:
        UserError: the file cannot be written.
    """
    save(path, report_pdf(document.data, document.plots), models)


def write_report(
    path: Path,
    architecture: Architecture,
    run: ActivationRun | None,
    models: Iterable[ModelSource],
) -> None:
    """Write the report of a model from a process that has no window.

    Raises:
        UserError: the file cannot be written.
    """
    application = windowless_application()
    drawn = None if run is None else draw_run(architecture, run)
    write_document(path, build_document(architecture, drawn), models)
    application.processEvents()
