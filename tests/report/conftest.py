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
from bertviewer.core.runs.activation_cache import ActivationCache
from bertviewer.core.runs.running import run_sentence
from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.sources.model_source import ModelSource
from bertviewer.core.sources.parsing import parse_source
from bertviewer.report.building import build_document
from bertviewer.report.choices import Choices
from bertviewer.report.document import ReportDocument
from bertviewer.report.drawing import draw_pictures
from bertviewer.report.looking import looked_at, origin_of_model
from bertviewer.report.looking_beside import OtherRun
from bertviewer.report.subject import Subject
from bertviewer.report.typesetting import report_pdf
from tests.report.reading import Report

TEXT = "this is a 12212121 test sentence"
CHOICES = Choices(date=date(2026, 1, 31), author="A. Student", command="bertviewer report demo")


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
    subject = Subject(model.architecture, keys=model.load_report, origin=origin_of_model(model))
    if sentence is None:
        return subject
    kept = ActivationCache()
    run = run_sentence(model, sentence, random_weights=random, cache=kept)
    if is_checked:
        run = replace(run, check=check_run(model, kept))
    a = None
    if other is not None:
        kept_a = ActivationCache()
        a = OtherRun(run_sentence(model, other, random_weights=random, cache=kept_a), model, kept_a)
    looks = looked_at(model, run, kept, other=a)
    return replace(
        subject,
        architecture=model.architecture,
        run=run,
        other=None if a is None else a.run,
        looks=looks,
    )


def report_of(
    name: str,
    text: str = "",
    pair: str | None = None,
    *,
    task: str = "base",
    random: bool = False,
    choices: Choices = CHOICES,
    has_formulas: bool = True,
    is_checked: bool = True,
) -> Report:
    """The report of a model by its name, as a PDF that was read back."""
    model = open_model(parse_source(name, task))
    if has_formulas:
        model.with_formulas()
    sentence = Sentence(text, pair) if text else None
    return _set(subject_of(model, sentence, random, is_checked=is_checked), choices)


def document_of(subject: Subject, choices: Choices = CHOICES) -> ReportDocument:
    draft = build_document(subject, choices)
    return draft.with_pictures(dict(draw_pictures(draft.pictures, subject.architecture)))


def _set(subject: Subject, choices: Choices) -> Report:
    return Report.of(report_pdf(document_of(subject, choices), choices.paper))


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
    return _set(Subject(demo.architecture), CHOICES)


@pytest.fixture
def opened_report(qapp: QApplication) -> Callable[..., Report]:
    """Makes the report of a model by its name."""
    return partial(report_of)
