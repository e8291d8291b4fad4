"""Chapter on predictions: classes, or the most likely tokens, also after each layer."""

from collections.abc import Iterator

from bertviewer.charts.classification import best_line, scores_table
from bertviewer.charts.labels import visible
from bertviewer.charts.predictions import actual_summary, candidates_table, lens_table
from bertviewer.core.analysis.predictions import (
    ClassScores,
    Predictions,
    classification,
    predicts_next,
)
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.util.numbers import count_text
from bertviewer.report.blocks import Block, Code, Paragraph, Section, See, Span
from bertviewer.report.pictures import ChapterDraft
from bertviewer.report.subject import Subject
from bertviewer.report.tables import table_of

_CLASSES = "table:classes"
MAX_CLASSES = 40


def predictions(subject: Subject, *, with_random: bool = True) -> ChapterDraft | None:
    """Return the chapter; ``None`` for a model without a prediction head.

    Without ``with_random``, a sentence replaces scores that depend on random tensors.
    """
    run = subject.run
    if run is None:
        return None
    scores = classification(run, subject.architecture)
    found = subject.details.predictions
    if scores is None and not found:
        return None
    random = max(
        (() if scores is None else scores.random_tensors, *(p.random_tensors for p in found)),
        key=len,
    )
    if random and not with_random:
        blocks: list[Block] = [_omitted(random)]
    else:
        blocks = [] if scores is None else [*_classes(run, scores)]
        is_next = predicts_next(subject.architecture)
        for each in found:
            blocks += _at(run, each, "after" if is_next else "at")
        blocks += subject.answers("predictions")
    return ChapterDraft(Section("predictions", "Predictions", tuple(blocks)))


def _classes(run: ActivationRun, scores: ClassScores) -> Iterator[Block]:
    table = scores_table(run, scores)
    has_table = len(table.rows) > 1
    best = best_line(run, scores)
    words: list[Span] = [f"Prediction: {best.rstrip('.')}. "] if best else []
    if has_table:
        words += [See(_CLASSES), f" gives the head’s scores for the {scores.of}."]
    yield Paragraph(tuple(words))
    if scores.random_tensors:
        yield _random(scores.random_tensors)
    if has_table:
        caption = "The scores of the model’s head."
        if len(table.rows) > MAX_CLASSES:
            caption = f"The first {MAX_CLASSES} of {len(table.rows):,} scores of the model’s head."
        yield table_of(table, _CLASSES, (caption,), MAX_CLASSES)


def _at(run: ActivationRun, found: Predictions, place: str) -> Iterator[Block]:
    token = visible(run.tokens[found.position].text)
    name = f"table:predicted-{found.position}"
    lens = f"table:lens-{found.position}"
    where = f"{place} token {found.position} ({token})"
    actual = actual_summary(run, found)
    yield Paragraph.of(
        See(name), f" lists the most likely tokens {where}. ", f"{actual}." if actual else ""
    )
    if found.random_tensors:
        yield _random(found.random_tensors)
    yield table_of(candidates_table(run, found), name, (f"The most likely tokens {where}.",))
    if found.no_layers:
        yield Paragraph.of(found.no_layers, look="note")
    elif found.layers:
        yield Paragraph.of(
            See(lens),
            " applies the same head to the hidden state after each layer, last layer first (the "
            "logit lens, nostalgebraist 2020).",
        )
        caption = (f"The most likely tokens {where}, after each layer.",)
        yield table_of(lens_table(run, found), lens, caption, is_wide=True)


def _omitted(tensors: tuple[str, ...]) -> Paragraph:
    return Paragraph.of(
        count_text(
            len(tensors),
            "The predictions depend on 1 tensor that is not in the checkpoint and was initialised "
            "randomly. They are meaningless and therefore omitted; ",
            "The predictions depend on {0} tensors that are not in the checkpoint and were "
            "initialised randomly. They are meaningless and therefore omitted; ",
        ),
        Code("--sections predictions"),
        " includes them.",
    )


def _random(tensors: tuple[str, ...]) -> Paragraph:
    return Paragraph.of(
        count_text(
            len(tensors),
            "The scores depend on 1 random tensor: they are meaningless.",
            "The scores depend on {0} random tensors: they are meaningless.",
        ),
        look="warning",
    )
