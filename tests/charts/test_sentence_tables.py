"""Tables and texts about sentence vectors and padding."""

from msgspec.structs import replace

from bertviewer.charts.sentence_tables import (
    padding_line,
    padding_table,
    sentence_line,
    sentence_table,
)
from bertviewer.core.analysis.padding import PaddedAttention, PaddedState, Padding
from bertviewer.core.analysis.sentence_vectors import (
    PooledCosines,
    SentenceComparison,
    UnrelatedCosines,
)
from bertviewer.core.schema.activation_run import Token
from tests.charts.described import Golden, described

UNRELATED = UnrelatedCosines(0.5, 0.25, 0.75)
COMPARED = SentenceComparison(
    "one",
    "two",
    (
        PooledCosines("cls", "<s>", (0.9, 0.8), (UNRELATED, UNRELATED)),
        PooledCosines("mean", "mean of all tokens", (0.9, 0.7), (UNRELATED, UNRELATED), True),
        PooledCosines("pooled", "pooled", (None,), (None,)),
    ),
    tuple("abcdefghijkl"),
)
TOKENS = tuple(Token(n, str(n), 0) for n in range(5))
PADDING = Padding(
    TOKENS,
    3,
    (PaddedState(0.0, 0.0, 1e-5, 9.0, 8.0), PaddedState(1e-6, 0.5, 1e-5, 7.0, 6.5)),
    (PaddedAttention(0.0, 0.25),),
)


def test_tables_and_lines(golden: Golden) -> None:
    same = PaddedState(0.0, 0.0, 1e-5, 9.0, 8.0)
    found = {
        # Only a cosine above those of all unrelated sentences is bold.
        "sentences": sentence_table(COMPARED),
        "line about sentences": sentence_line(COMPARED),
        # The attention of a layer is in the row of the state after it.
        "padding": padding_table(PADDING),
        "line about padding": padding_line(PADDING),
        "line about a causal model": padding_line(replace(PADDING, states=(same,), is_causal=True)),
        "line about a mask that fails": padding_line(
            replace(PADDING, states=(replace(same, masked=0.3, unmasked=0.5),))
        ),
    }
    golden("charts/sentences.txt", described(found))
