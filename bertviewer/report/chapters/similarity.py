"""Chapters on cosine similarity: of the tokens of a run, and of two sentences."""

import numpy as np
from numpy.typing import NDArray

from bertviewer.charts.labels import names_of_states
from bertviewer.charts.token_charts import similarity_chart
from bertviewer.core.analysis.sentence_vectors import PooledCosines, UnrelatedCosines
from bertviewer.core.analysis.similarity import cosine_matrix
from bertviewer.core.util.numbers import count_text
from bertviewer.report.blocks import Block, Break, Column, Paragraph, Row, Section, See, Table
from bertviewer.report.pictures import ChapterDraft, Picture, Pictures
from bertviewer.report.subject import Subject
from bertviewer.report.tables import cosine_text

_MEANS, _COSINES, _SENTENCES = "table:cosines", "figure:cosines", "table:sentence-cosines"
_SIDE = 560


def similarity(subject: Subject) -> ChapterDraft | None:
    """Return the chapter on tokens; ``None`` without hidden states or with only one token."""
    run = subject.run
    if run is None or not run.hidden_states or len(run.tokens) < 2:
        return None
    names, last = names_of_states(run), len(run.hidden_states) - 1
    columns = (
        Column("Hidden state", share=1),
        Column("Mean", "decimal"),
        Column("Minimum", "decimal"),
        Column("Maximum", "decimal"),
    )
    rows = []
    for state, vectors in enumerate(run.hidden_states):
        cosines = _between_tokens(cosine_matrix(vectors))
        figures = (np.nan,) * 3
        if cosines.size:
            figures = (cosines.mean(), cosines.min(), cosines.max())
        rows.append(Row.of(names[state], *(cosine_text(float(f)) for f in figures)))
    pictures = Pictures()
    blocks: tuple[Block, ...] = (
        Paragraph.of(
            "The cosine of two tokens’ vectors is 1 if they point in the same direction. ",
            See(_MEANS),
            " summarises it over all pairs of distinct tokens; ",
            See(_COSINES),
            f" shows all pairs in {names[last]}.",
        ),
        Table(columns, tuple(rows), _MEANS, ("The cosines between distinct tokens.",)),
        pictures.figure(
            "cosines",
            Picture(similarity_chart(run, last), _SIDE, _SIDE),
            f"The cosine of each pair of tokens in {names[last]}.",
            "A heat map of tokens by tokens, coloured by cosine.",
            0.75,
        ),
        *subject.answers("similarity"),
    )
    return ChapterDraft(Section("similarity", "Token similarity", blocks), pictures)


def _between_tokens(cosines: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the finite cosines of distinct tokens."""
    values: NDArray[np.float64] = cosines[~np.eye(len(cosines), dtype=bool)]
    return values[np.isfinite(values)]


def vectors(subject: Subject) -> ChapterDraft | None:
    """Return the chapter on sentences; ``None`` unless there are two."""
    found = subject.details.sentences
    if found is None:
        return None
    columns = (
        Column("Vector", share=1),
        Column("Cosine", "decimal"),
        Column("Unrelated, mean", "decimal"),
        Column("Minimum", "decimal"),
        Column("Maximum", "decimal"),
    )
    blocks: tuple[Block, ...] = (
        Paragraph.of(found.first, Break(), found.second, look="quote"),
        Paragraph.of(
            "Each sentence is run on its own and reduced to one vector in several common ways. ",
            See(_SENTENCES),
            " compares the cosine of the two with those of ",
            count_text(len(found.unrelated), "1 unrelated sentence", "{0} unrelated sentences"),
            ": a cosine no higher than theirs is not evidence of similarity.",
        ),
        Table(
            columns,
            tuple(map(_pooling_row, found.poolings)),
            _SENTENCES,
            ("The cosine of the two sentences and of unrelated ones in the last hidden state.",),
        ),
        *subject.answers("sentence vectors"),
    )
    return ChapterDraft(Section("vectors", "Sentence vectors", blocks))


def _pooling_row(found: PooledCosines) -> Row:
    unrelated = found.last_unrelated or UnrelatedCosines(*(float("nan"),) * 3)
    figures = (found.last, unrelated.mean, unrelated.low, unrelated.high)
    return Row.of(found.label, *map(cosine_text, figures))
