"""The chapters of the report in their order: whoever adds one adds a line here."""

from collections.abc import Callable, Collection

from msgspec import Struct

from bertviewer.core.util.errors import UserError
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
from bertviewer.report.chapters.runs import runs
from bertviewer.report.chapters.sentence import sentence
from bertviewer.report.chapters.similarity import similarity
from bertviewer.report.chapters.values import values
from bertviewer.report.chapters.vectors import vectors
from bertviewer.report.chapters.walkthrough import walkthrough
from bertviewer.report.pictures import Drafted
from bertviewer.report.subject import Subject


class Chapter(Struct, frozen=True):
    """A chapter that can be asked for.

    Attributes:
        name: what ``--sections`` calls it.
        title: what a person reads where chapters are chosen.
        draft: gives it, or ``None`` where the subject has nothing of it.
        needs_run: whether it tells of a sentence.
    """

    name: str
    title: str
    draft: Callable[[Subject], Drafted | None]
    needs_run: bool = False


BIBLIOGRAPHY = "bibliography"


def _written_last(_subject: Subject) -> None:
    """Return nothing: what the other chapters cite is known when they are written."""


CHAPTERS = (
    Chapter("model", "The model", model),
    Chapter("parameters", "Parameters", parameters),
    Chapter("costs", "Computational cost and memory", costs),
    Chapter("walk", "The forward pass, step by step", walkthrough),
    Chapter("formulas", "What each part computes", formulas),
    Chapter("sentence", "The sentence", sentence, needs_run=True),
    Chapter("values", "Tensor excerpts", values, needs_run=True),
    Chapter("attention", "Attention", attention, needs_run=True),
    Chapter("similarity", "Token similarity", similarity, needs_run=True),
    Chapter("vectors", "Sentence vectors", vectors, needs_run=True),
    Chapter("predictions", "Predictions", predictions, needs_run=True),
    Chapter("runs", "Comparison of two runs", runs, needs_run=True),
    Chapter("checks", "Checks", checks, needs_run=True),
    Chapter("corpus", "Corpus statistics", corpus),
    Chapter("models", "Comparison of two models", models),
    Chapter("configuration", "Configuration", configuration),
    Chapter("modules", "Modules", modules),
    Chapter("tensors", "All parameters", tensors),
    Chapter(BIBLIOGRAPHY, "Bibliography", _written_last),
)


def chosen(names: Collection[str]) -> tuple[Chapter, ...]:
    """Return the chapters of these names, in the order of the report.

    Raises:
        UserError: there is no such chapter.
    """
    known = {chapter.name for chapter in CHAPTERS}
    if unknown := [name for name in names if name not in known]:
        raise UserError(
            f"unknown section {', '.join(unknown)}: choose from "
            f"{', '.join(c.name for c in CHAPTERS)}"
        )
    return tuple(chapter for chapter in CHAPTERS if chapter.name in names)
