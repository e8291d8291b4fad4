"""Chapter on predictions: classes, or the most likely tokens, also after each layer."""

from collections.abc import Iterator

from bertviewer.charts.classification import scores_table
from bertviewer.charts.labels import visible
from bertviewer.charts.predictions import actual_summary, candidates_table, lens_table
from bertviewer.core.analysis.predictions import ClassScores, Predictions, classification
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.util.numbers import count_text
from bertviewer.report.blocks import Block, Paragraph, Section, See
from bertviewer.report.pictures import ChapterDraft
from bertviewer.report.subject import Subject
from bertviewer.report.tables import table_of

_CLASSES = "table:classes"
MAX_CLASSES = 40


def predictions(subject: Subject) -> ChapterDraft | None:
    """Return the chapter; ``None`` for a model without a prediction head."""
    run = subject.run
    if run is None:
        return None
    blocks: list[Block] = []
    scores = classification(run, subject.architecture)
    if scores is not None:
        blocks += _classes(run, scores)
    for found in subject.details.predictions:
        blocks += _at(run, found)
    if not blocks:
        return None
    blocks += subject.answers("predictions")
    return ChapterDraft(Section("predictions", "Predictions", tuple(blocks)))


def _classes(run: ActivationRun, scores: ClassScores) -> Iterator[Block]:
    table = scores_table(run, scores)
    yield Paragraph.of(See(_CLASSES), f" gives the head’s scores for the {scores.of}.")
    if scores.random_tensors:
        yield _random(scores.random_tensors)
    yield table_of(table, _CLASSES, ("The scores of the model’s head.",), MAX_CLASSES)


def _at(run: ActivationRun, found: Predictions) -> Iterator[Block]:
    token = visible(run.tokens[found.position].text)
    name = f"table:predicted-{found.position}"
    lens = f"table:lens-{found.position}"
    where = f"token {found.position} ({token})"
    actual = actual_summary(run, found)
    yield Paragraph.of(
        See(name), f" lists the most likely tokens at {where}. ", f"{actual}." if actual else ""
    )
    if found.random_tensors:
        yield _random(found.random_tensors)
    caption = (f"Predictions at {where}.",)
    yield table_of(candidates_table(run, found), name, caption)
    if found.no_layers:
        yield Paragraph.of(found.no_layers, look="note")
    elif found.layers:
        yield Paragraph.of(
            See(lens),
            " applies the same head to the hidden state after each layer, last layer first (the "
            "logit lens, nostalgebraist 2020).",
        )
        table = lens_table(run, found)
        yield table_of(
            table, lens, (f"The most likely tokens after each layer at {where}.",), is_wide=True
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
