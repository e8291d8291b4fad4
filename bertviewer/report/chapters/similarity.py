"""How alike the tokens' vectors are, in the first hidden state and in the last."""

import numpy as np
from numpy.typing import NDArray

from bertviewer.charts.naming import names_of_states
from bertviewer.charts.similarities import similarity_chart
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
        Column("Least", "decimal"),
        Column("Largest", "decimal"),
    )
    pictures = Pictures()
    blocks: tuple[Block, ...] = (
        Paragraph.of(
            "The cosine of two tokens' vectors is 1 where they point the same way. ",
            See(_MEANS),
            " has it for every two different tokens, ",
            See(_COSINES),
            f" all of them in {names[last]}.",
        ),
        Table(columns, tuple(rows), _MEANS, ("The cosines between different tokens.",)),
        pictures.figure(
            "cosines",
            Picture(similarity_chart(run, last), _SIDE, _SIDE),
            f"The cosine of every two tokens in {names[last]}.",
            "A grid of tokens by tokens, coloured by the cosine.",
            0.75,
        ),
        *answers(subject, "similarity"),
    )
    return Drafted(Section("similarity", "Similarity of tokens", blocks), pictures)


def _between(cosines: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the cosines of different tokens, as far as they are numbers."""
    values: NDArray[np.float64] = cosines[~np.eye(len(cosines), dtype=bool)]
    return values[np.isfinite(values)]
