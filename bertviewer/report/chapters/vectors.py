"""Two sentences as one vector each, and how alike they are beside unrelated ones."""

from bertviewer.core.analysis.sentence_vectors import PooledCosines, UnrelatedCosines
from bertviewer.core.util.numbers import count_text
from bertviewer.report.answers import answers
from bertviewer.report.blocks import Block, Break, Column, Paragraph, Row, Section, See, Table
from bertviewer.report.numbers import cosine_text
from bertviewer.report.pictures import Drafted
from bertviewer.report.subject import Subject

_COSINES = "table:sentence-cosines"


def vectors(subject: Subject) -> Drafted | None:
    """Return the chapter; ``None`` where there are no two sentences to compare."""
    found = subject.looks.sentences
    if found is None:
        return None
    columns = (
        Column("Vector", share=1),
        Column("Cosine", "decimal"),
        Column("Unrelated, mean", "decimal"),
        Column("Minimum", "decimal"),
        Column("Maximum", "decimal"),
    )
    intro = (
        "Each sentence is run on its own and reduced to one vector in several common ways. ",
        See(_COSINES),
        " compares the cosine of the two with those of ",
        count_text(len(found.unrelated), "1 unrelated sentence", "{0} unrelated sentences"),
        ": a cosine no higher than theirs is not evidence of similarity.",
    )
    table = Table(
        columns,
        tuple(map(_row, found.poolings)),
        _COSINES,
        ("The cosine of the two sentences and of unrelated ones in the last hidden state.",),
    )
    blocks: tuple[Block, ...] = (
        Paragraph.of(found.first, Break(), found.second, look="quote"),
        Paragraph(intro),
        table,
        *answers(subject, "sentence vectors"),
    )
    return Drafted(Section("vectors", "Sentence vectors", blocks))


def _row(found: PooledCosines) -> Row:
    cosine, unrelated = found.last, found.last_unrelated or UnrelatedCosines(*(float("nan"),) * 3)
    figures = (cosine, unrelated.mean, unrelated.low, unrelated.high)
    return Row.of(found.label, *(cosine_text(value) for value in figures))
