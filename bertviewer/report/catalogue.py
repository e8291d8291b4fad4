"""The chapters of a report, in order. To add one, add a line here."""

from collections.abc import Callable, Collection
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.util.errors import UserError
from bertviewer.report.blocks import Numbering
from bertviewer.report.chapters.attention import attention
from bertviewer.report.chapters.checks import checks
from bertviewer.report.chapters.corpus import corpus
from bertviewer.report.chapters.costs import costs
from bertviewer.report.chapters.formulas import formulas
from bertviewer.report.chapters.lists import configuration, modules, tensors
from bertviewer.report.chapters.model import model
from bertviewer.report.chapters.models import models
from bertviewer.report.chapters.parameters import parameters
from bertviewer.report.chapters.predictions import predictions
from bertviewer.report.chapters.random_run import random_run
from bertviewer.report.chapters.runs import runs
from bertviewer.report.chapters.sentence import sentence
from bertviewer.report.chapters.similarity import similarity, vectors
from bertviewer.report.chapters.summary import summary
from bertviewer.report.chapters.values import values
from bertviewer.report.chapters.walkthrough import walkthrough
from bertviewer.report.document import SUMMARY
from bertviewer.report.pictures import ChapterDraft
from bertviewer.report.subject import Subject


class Chapter(Struct, frozen=True):
    """A chapter that can be chosen.

    Attributes:
        name: its name in ``--sections``.
        title: its title in the dialog.
        draft: returns its draft, or ``None`` if it does not apply to a subject.
        needs_run: whether it describes a run.
        reads_run: whether it describes the run too, if there is one.
        numbering: how it is numbered.
    """

    name: str
    title: str
    draft: Callable[[Subject], ChapterDraft | None]
    needs_run: bool = False
    reads_run: bool = False
    numbering: Numbering = "chapter"


REPRODUCIBILITY, BIBLIOGRAPHY, MODELS = "reproducibility", "bibliography", "models"

CHAPTERS = (
    Chapter(SUMMARY, "Summary", summary, reads_run=True, numbering="none"),
    Chapter("model", "The model", model),
    Chapter("parameters", "Parameters", parameters),
    Chapter("costs", "Computational cost and memory", costs),
    Chapter("walk", "The forward pass, step by step", walkthrough),
    Chapter("formulas", "What each part computes", formulas),
    Chapter("sentence", "The sentence", sentence, needs_run=True),
    Chapter("values", "Inside a layer", values, needs_run=True),
    Chapter("attention", "Attention", attention, needs_run=True),
    Chapter("similarity", "Token similarity", similarity, needs_run=True),
    Chapter("vectors", "Sentence vectors", vectors, needs_run=True),
    Chapter("predictions", "Predictions", predictions, needs_run=True),
    Chapter("runs", "Comparison of two runs", runs, needs_run=True),
    Chapter("checks", "Checks", checks, needs_run=True),
    Chapter("corpus", "Corpus statistics", corpus),
    Chapter(MODELS, "Comparison of two models", models),
    Chapter("configuration", "Configuration", configuration, numbering="appendix"),
    Chapter("modules", "Modules", modules, numbering="appendix"),
    Chapter("tensors", "All parameters", tensors, numbering="appendix"),
    # These two are drafted last: from the options, and from the citations of the other chapters.
    Chapter(REPRODUCIBILITY, "Reproducibility", lambda _: None, numbering="appendix"),
    Chapter(BIBLIOGRAPHY, "Bibliography", lambda _: None, numbering="none"),
)


def chosen_chapters(
    names: Collection[str] | None, run: ActivationRun | None = None
) -> tuple[Chapter, ...]:
    """Return the chapters of these names in the order of the report; all for ``None``.

    All chapters on a run with random weights are one page, and predictions that depend on random
    tensors are left out, unless they are chosen by name.

    Raises:
        UserError: there is no such chapter.
    """
    if names is None:
        is_random = run is not None and run.source.weights == "random"
        return _FOR_RANDOM_WEIGHTS if is_random else _DEFAULT
    known = [chapter.name for chapter in CHAPTERS]
    if unknown := [name for name in names if name not in known]:
        raise UserError(f"unknown section {', '.join(unknown)}: choose from {', '.join(known)}")
    return tuple(chapter for chapter in CHAPTERS if chapter.name in names)


_DEFAULT = tuple(
    replace(chapter, draft=partial(predictions, with_random=False))
    if chapter.name == "predictions"
    else chapter
    for chapter in CHAPTERS
)
_RANDOM_RUN = Chapter("sentence", "What this run shows", random_run)
_FOR_RANDOM_WEIGHTS = tuple(
    _RANDOM_RUN if chapter.name == _RANDOM_RUN.name else chapter
    for chapter in CHAPTERS
    if chapter.name == _RANDOM_RUN.name or not chapter.needs_run
)
