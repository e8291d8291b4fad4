"""The demo model with a run, and its report; the report of any other folder."""

from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication

from bertviewer.core.activations.activation_run import ActivationRun, Sentence
from bertviewer.core.architecture.architecture import Architecture
from bertviewer.core.loading.opening import open_model
from bertviewer.core.run.running import run_sentence
from bertviewer.core.source.model_source import ModelSource
from bertviewer.core.source.parsing import parse_source
from bertviewer.report.document import ReportDocument, build_document, draw_run
from bertviewer.report.typesetting import report_pdf
from tests.report.reading import Report

TEXT = "this is a 12212121 test sentence"


def opened(folder: Path, task: str = "base", random: bool = False) -> ReportDocument:
    model = open_model(parse_source(str(folder), task))
    run = run_sentence(model, Sentence("the cat"), random_weights=random)
    return build_document(
        model.architecture, None if run is None else draw_run(model.architecture, run)
    )


@pytest.fixture(scope="package")
def demo(demo_source: ModelSource) -> tuple[Architecture, ActivationRun]:
    model = open_model(demo_source)
    run = run_sentence(model, Sentence(TEXT))
    return model.with_formulas(), run


@pytest.fixture(scope="package")
def document(demo: tuple[Architecture, ActivationRun], qapp: QApplication) -> ReportDocument:
    return build_document(demo[0], draw_run(*demo))


@pytest.fixture(scope="package")
def report(document: ReportDocument) -> Report:
    return Report.of(report_pdf(document.data, document.plots))


@pytest.fixture(scope="package")
def plain_report(demo: tuple[Architecture, ActivationRun], qapp: QApplication) -> Report:
    plain = build_document(demo[0])
    return Report.of(report_pdf(plain.data, plain.plots))
