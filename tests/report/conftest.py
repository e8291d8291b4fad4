"""The demo model with a run, and its report; the report of any other folder."""

from collections.abc import Callable
from datetime import date
from functools import partial

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


def subject_of(
    model: LoadedModel,
    sentence: Sentence | None,
    random: bool = False,
    *,
    is_checked: bool = True,
    other: Sentence | None = None,
) -> Subject:
    """What a report of a model and a sentence is about, looked at, and checked if wanted.

    ``other`` is the sentence of run A.
    """
    subject = Subject(
        model.architecture, load_report=model.load_report, origin=origin_of_model(model)
    )
    if sentence is None:
        return subject
    b = _recorded(model, sentence, random)
    if is_checked:
        b = replace(b, run=replace(b.run, check=check_run(model, b.kept)))
    a = None if other is None else _recorded(model, other, random)
    baseline = None if a is None else RunContext(model, a, no_progress)
    return replace(
        subject,
        architecture=model.architecture,
        run=b.run,
        baseline=None if a is None else a.run,
        details=analyse_run(RunContext(model, b, no_progress), baseline=baseline),
    )


def _recorded(model: LoadedModel, sentence: Sentence, random: bool) -> RecordedRun:
    cache = ActivationCache()
    run = run_sentence(model, sentence, random_weights=random, cache=cache)
    return RecordedRun(run, cache)


def report_of(
    name: str,
    text: str = "",
    pair: str | None = None,
    *,
    task: str = "base",
    random: bool = False,
    options: Options = OPTIONS,
    has_formulas: bool = True,
    is_checked: bool = True,
) -> Report:
    """The report of a model by its name, as a PDF that was read back."""
    model = open_model(parse_source(name, task))
    if has_formulas:
        model.with_formulas()
    sentence = Sentence(text, pair) if text else None
    return _set(subject_of(model, sentence, random, is_checked=is_checked), options)


def document_of(subject: Subject, options: Options = OPTIONS) -> ReportDocument:
    draft = draft_report(subject, options, DAY, COMMAND)
    return draft.with_drawings(dict(draw_pictures(draft.pictures, subject.architecture)))


def _set(subject: Subject, options: Options) -> Report:
    return Report.of(report_pdf(document_of(subject, options), options.paper))


@pytest.fixture(scope="package")
def demo(demo_source: ModelSource) -> Subject:
    model = open_model(demo_source)
    model.with_formulas()
    return subject_of(model, Sentence(TEXT))


@pytest.fixture(scope="package")
def document(demo: Subject, qapp: QApplication) -> ReportDocument:
    return document_of(demo)


@pytest.fixture(scope="package")
def report(document: ReportDocument) -> Report:
    return Report.of(report_pdf(document))


@pytest.fixture(scope="package")
def plain_report(demo: Subject, qapp: QApplication) -> Report:
    return _set(Subject(demo.architecture), OPTIONS)


@pytest.fixture
def opened_report(qapp: QApplication) -> Callable[..., Report]:
    """Makes the report of a model by its name."""
    return partial(report_of)
