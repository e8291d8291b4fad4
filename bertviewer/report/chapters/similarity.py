"""How alike the tokens' vectors are, in the first hidden state and in the last."""

import numpy as np
from numpy.typing import NDArray

from bertviewer.charts.labels import names_of_states
from bertviewer.charts.token_charts import similarity_chart
from bertviewer.core.analysis.similarity import cosine_matrix
from bertviewer.report.answers import answers
from bertviewer.report.blocks import Block, Column, Paragraph, Row, Section, See, Table
from bertviewer.report.numbers import cosine_text
from bertviewer.report.pictures import Drafted, Picture, Pictures
from bertviewer.report.subject import Subject

_MEANS, _COSINES = "table:cosines", "figure:cosines"
_SIDE = 560


def similarity(subject: Subject) -> Drafted | None:
    """Return the chapter; ``None`` where the run kept no hidden states, or has one token."""
    run = subject.run
    if run is None or not run.hidden_states or len(run.tokens) < 2:
        return None
    names, last = names_of_states(run), len(run.hidden_states) - 1
    rows = []
    for state, vectors in enumerate(run.hidden_states):
        others = _between(cosine_matrix(vectors))
        figures = (others.mean(), others.min(), others.max()) if len(others) else (np.nan,) * 3
        rows.append(Row.of(names[state], *(cosine_text(float(f)) for f in figures)))
    columns = (
        Column("Hidden state", share=1),
        Column("Mean", "decimal"),
        Column("Minimum", "decimal"),
        Column("Maximum", "decimal"),
    )
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
        *answers(subject, "similarity"),
    )
    return Drafted(Section("similarity", "Token similarity", blocks), pictures)


def _between(cosines: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the cosines of different tokens, as far as they are numbers."""
    values: NDArray[np.float64] = cosines[~np.eye(len(cosines), dtype=bool)]
    return values[np.isfinite(values)]
