"""The tokens of A beside those of B: their norms, and how alike their vectors are."""

from collections.abc import Sequence

from msgspec import Struct

from bertviewer.charts.comparison import grid_difference, shared_levels
from bertviewer.charts.labels import MAX_TOKEN, names_of_states, shortened, visible
from bertviewer.charts.token_charts import norms_chart, similarity_chart
from bertviewer.core.analysis.similarity import token_pair_path
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.report.blocks import Block, Column, Paragraph, Row, Section, See, Table
from bertviewer.report.numbers import cosine_text
from bertviewer.report.pictures import Picture, Pictures

_NORMS_A, _NORMS_B = "figure:runs-norms-a", "figure:runs-norms-b"
_NORMS, _COSINES, _SAME = "figure:runs-norms", "figure:runs-cosines", "table:runs-same"
_SIDE = 560
MOST_TOKENS = 40
"""Tokens whose vectors are compared in a table."""


class BothRuns(Struct, frozen=True, eq=False):
    """Run A, run B, and which of A's tokens is which of B's."""

    a: ActivationRun
    b: ActivationRun
    pairs: Sequence[tuple[int, int]]


def norms(two: BothRuns, pictures: Pictures) -> Section | None:
    """Return the section; ``None`` where a run kept no norms."""
    if not two.a.token_norms or not two.b.token_norms:
        return None
    of_b, of_a = norms_chart(two.b), norms_chart(two.a)
    level_b, level_a = shared_levels(of_b, of_a)
    alt = "A heat map of hidden states by tokens, coloured by norm."
    blocks: list[Block] = [
        Paragraph.of(
            See(_NORMS_A),
            " and ",
            See(_NORMS_B),
            " show the Euclidean norm of each token’s vector on the same colour scale",
            *(("; ", See(_NORMS), " shows the difference B − A") if two.pairs else ()),
            ".",
        ),
        pictures.figure("runs-norms-a", level_a, "The norm of each token’s vector in A.", alt),
        pictures.figure("runs-norms-b", level_b, "The norm of each token’s vector in B.", alt),
    ]
    if two.pairs:
        less = grid_difference(of_b, of_a, two.pairs)
        caption = "The norms in B minus those in A; tokens without a partner in A are left blank."
        blocks.append(pictures.figure("runs-norms", less, caption, alt))
    return Section("runs-norms", "Token norms of A and B", tuple(blocks))


def similarity(two: BothRuns, pictures: Pictures) -> Section | None:
    """Compare the vectors of the same tokens, and how alike tokens are among themselves.

    ``None`` stands for runs without states, of other sizes, or without a token in common.
    """
    found = tuple(
        (other, mine, path)
        for mine, other in two.pairs[:MOST_TOKENS]
        if (path := token_pair_path(two.a, mine, other, two.b))
    )
    if not found or len(two.a.hidden_states) != len(two.b.hidden_states):
        return None
    names, last = names_of_states(two.b), len(two.b.hidden_states) - 1
    shown = tuple(dict.fromkeys((0, last // 2, last)))
    rows = tuple(
        Row.of(
            f"{place} {shortened(visible(two.b.tokens[place].text), MAX_TOKEN)}",
            str(partner),
            *(cosine_text(path[state]) for state in shown),
        )
        for place, partner, path in found
    )
    columns = (
        Column("Token of B", share=1),
        Column("Index in A", "right"),
        *(Column(names[state], "decimal") for state in shown),
    )
    b, a = similarity_chart(two.b, last), similarity_chart(two.a, last)
    difference = grid_difference(b, a, two.pairs, two.pairs)
    blocks: tuple[Block, ...] = (
        Paragraph.of(
            See(_SAME),
            " gives the cosine between the vectors of the same token in the two runs: 1 means "
            "that the context makes no difference. ",
            See(_COSINES),
            f" shows the difference B − A of the cosine of each pair of tokens in {names[last]}.",
        ),
        Table(
            columns, rows, _SAME, ("The cosine between the vectors of the same token in A and B.",)
        ),
        pictures.figure(
            "runs-cosines",
            Picture(difference, _SIDE, _SIDE),
            f"The cosine of each pair of tokens in {names[last]}, B − A.",
            "A heat map of tokens by tokens, coloured by the difference of the cosines.",
            0.75,
        ),
    )
    return Section("runs-similarity", "Similarity of A and B", blocks)
