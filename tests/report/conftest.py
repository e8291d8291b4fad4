"""Models with runs, shared by the tests of reports, and reports of them."""

from datetime import date
from pathlib import Path

import pytest
from msgspec.structs import replace
from PySide6.QtWidgets import QApplication

from bertviewer.core.checks.check import check_run
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.loading.opening import open_model
from bertviewer.core.replay.recorded_run import RecordedRun
from bertviewer.core.runs.activation_cache import ActivationCache
from bertviewer.core.runs.running import run_sentence
from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.sources.model_source import ModelSource
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.util.progress import no_progress
from bertviewer.report.analysis import analyse_run, origin_of_model
from bertviewer.report.document import ReportDocument
from bertviewer.report.draft import draft_report
from bertviewer.report.drawing import draw_pictures
from bertviewer.report.options import Options
from bertviewer.report.run_details import RunContext
from bertviewer.report.subject import Subject
from bertviewer.report.typesetting import report_pdf
from tests.report.reading import Report

TEXT = "this is a 12212121 test sentence"
OPTIONS = Options(author="A. Student")
DAY, COMMAND = date(2026, 1, 31), "bertviewer report demo"


def recorded(model: LoadedModel, sentence: Sentence, *, random: bool = False) -> RecordedRun:
    """Run a sentence and keep what is needed to replay it."""
    cache = ActivationCache()
    run = run_sentence(model, sentence, random_weights=random, cache=cache)
    return RecordedRun(run, cache)


def subject_of(
    model: LoadedModel,
    sentence: Sentence,
    baseline: Sentence | None = None,
    *,
    random: bool = False,
    is_checked: bool = False,
) -> Subject:
    """Return the analysed data of a report."""
    b = recorded(model, sentence, random=random)
    if is_checked:
        b = replace(b, run=replace(b.run, check=check_run(model, b.kept)))
    a = None if baseline is None else recorded(model, baseline, random=random)
    context = None if a is None else RunContext(model, a, no_progress)
    return Subject(
        model.architecture,
        run=b.run,
        baseline=None if a is None else a.run,
        details=analyse_run(RunContext(model, b, no_progress), baseline=context),
        load_report=model.load_report,
        origin=origin_of_model(model),
    )


def document_of(subject: Subject, options: Options = OPTIONS) -> ReportDocument:
    draft = draft_report(subject, options, DAY, COMMAND)
    return draft.with_drawings(dict(draw_pictures(draft.pictures, subject.architecture)))


@pytest.fixture(scope="package")
def demo_model(demo_source: ModelSource) -> LoadedModel:
    """Return the demo model with its formulas."""
    model = open_model(demo_source)
    model.with_formulas()
    return model


@pytest.fixture(scope="package")
def demo(demo_model: LoadedModel) -> Subject:
    """Return the demo with a run of one sentence that was checked."""
    return subject_of(demo_model, Sentence(TEXT), is_checked=True)


@pytest.fixture(scope="package")
def demo_pair(demo_model: LoadedModel) -> Subject:
    """Return the demo with two runs."""
    b, a = Sentence("the bank of the river"), Sentence("the bank raised the rate")
    return subject_of(demo_model, b, a)


@pytest.fixture(scope="package")
def masked(tiny_bert_folder: Path) -> Subject:
    """Return a small masked language model, whose head is random, with two runs."""
    model = open_model(parse_source(str(tiny_bert_folder), "masked-lm"))
    return subject_of(model, Sentence("the [MASK] sat"), Sentence("the [MASK] is"))


@pytest.fixture(scope="package")
def document(demo: Subject, qapp: QApplication) -> ReportDocument:
    return document_of(demo)


@pytest.fixture(scope="package")
def report(document: ReportDocument) -> Report:
    return Report.of(report_pdf(document))
